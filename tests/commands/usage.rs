//! Every message of a usage error that other tests do not meet on their way, by the real binary; and that no limit of a
//! setting and no option of a command is left out.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// The message of a run that must end as a usage error, and prints nothing else.
#[track_caller]
fn refused(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(args).current_dir(dir).env_remove("RUST_LOG").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    said
}

/// A setting that breaks a limit, and what is said of it.
const LIMITS: &[(&str, &str, &str)] = &[
    ("crawl.user_agent", "\"my\\nbot\"", "write at most 200 printable ASCII characters"),
    ("crawl.user_agent", "\"1bot\"", "must start with a name of letters, - and _"),
    ("crawl.contact", "\"(me)\"", "write a URL or an e-mail address, such as"),
    ("feed.deletions_max", "1.5", "write a share from 0 to 1"),
    ("feed.near_duplicates", "0.4", "write a share from 0.5 to 1, or 0 for none"),
    ("identity.signature_agent", "\"http://bot.example\"", "must be the https origin that serves the key directory"),
    ("identity.signature_agent", "\"https://bot.example/keys\"", "in lower case and without a path"),
    ("identity.signature_agent", "\"https://Bot.example\"", "in lower case and without a path"),
    ("identity.key_file", "\"key.pem\"", "signs nothing that anyone can check: set identity.signature_agent too"),
    ("identity.expires", "\"5s\"", "must be from \"10s\" to \"24h\""),
    ("identity.expires", "\"25h\"", "must be from \"10s\" to \"24h\""),
    ("identity.components", "[\"@method\"]", "must have \"@authority\" or \"@target-uri\", and nothing twice"),
    ("identity.components", "[\"@authority\", \"@authority\"]", "and nothing twice"),
    ("identity.from", "\"bot\"", "must be a mailbox, such as \"bot@example.org\""),
    ("crawl.max_pages", "0", "0 would fetch nothing; leave the key out or write \"unlimited\""),
    ("crawl.max_bytes", "0", "0 would fetch nothing"),
    ("crawl.max_time", "\"0s\"", "0 would fetch nothing"),
    ("crawl.checkpoint_interval", "\"1ms\"", "1ms is too short; write at least \"1s\""),
    ("crawl.memory", "\"1MiB\"", "must be at least \"256MiB\""),
    ("crawl.shards", "0", "must be from 1 to 256"),
    ("crawl.shards", "257", "must be from 1 to 256"),
    ("budget.pages_per_host", "0", "0 would fetch nothing"),
    ("budget.pages_per_domain", "0", "0 would fetch nothing"),
    ("budget.round_pages_min", "0", "must be at least 1"),
    ("budget.round_pages_max", "5", "5 is less than budget.round_pages_min, 10"),
    ("budget.round_top_domains", "0", "must be at least 1"),
    ("budget.bytes_per_host", "0", "0 would fetch nothing"),
    ("scope.include", "[\"(\"]", "\"(\" is not a regular expression"),
    ("scope.exclude", "[\"[\"]", "\"[\" is not a regular expression"),
    ("scope.requisite_hops", "0", "must be from 1 to 10"),
    ("scope.requisite_hops", "11", "must be from 1 to 10"),
    ("scope.max_url_length", "15", "must be from 16 to 65000 bytes"),
    ("scope.max_links_per_page", "0", "0 would follow no link; use crawl.max_depth = 0"),
    ("scope.max_path_segments", "0", "must be at least 1"),
    ("scope.max_repeated_segments", "0", "must be at least 1"),
    ("scope.max_pages_per_text", "0", "must be at least 1, or \"unlimited\"; 0 would follow no link"),
    ("scope.max_redirects", "31", "must be at most 30"),
    ("scope.strip_query_params", "[\"a=b\"]", "must be names of parameters, without & and ="),
    ("scope.lazy_attributes", "[\"a b\"]", "must be names of attributes, without blanks, quotes and ="),
    ("politeness.delay_min", "\"10h\"", "is more than politeness.delay_max"),
    ("politeness.delay_factor", "-1.0", "must be from 0 to 1000"),
    ("politeness.connections_per_host", "0", "must be from 1 to 64; 1 is polite"),
    ("politeness.requests_per_second", "0.0", "must be from 0.001 to 1000000, or \"unlimited\""),
    ("politeness.bytes_per_second", "5", "must be at least \"1KiB\", or \"unlimited\""),
    ("fetch.workers", "0", "must be from 1 to 10000"),
    ("fetch.slow_workers", "10001", "must be at most 10000"),
    ("fetch.slow_after", "\"1ms\"", "write at least \"100ms\""),
    ("fetch.timeout_connect", "\"1ms\"", "write at least \"100ms\""),
    ("fetch.timeout_connect", "\"9h\"", "is longer than fetch.timeout_total"),
    ("fetch.timeout_head", "\"1ms\"", "write at least \"100ms\""),
    ("fetch.timeout_total", "\"1ms\"", "write at least \"100ms\""),
    ("fetch.max_body", "\"2GiB\"", "must be from \"1KiB\" to \"1GiB\""),
    ("fetch.spool_max", "\"1MiB\"", "must be at least fetch.max_body"),
    ("fetch.retries", "21", "must be at most 20"),
    ("fetch.accept_language", "\"d\\ne\"", "write languages, such as"),
    ("fetch.headers", "{ Host = \"x\" }", "Host cannot be set here"),
    ("fetch.headers", "{ X = \"${NAME}\" }", "refers to a secret, which not every server may hear"),
    ("fetch.proxy", "\"ftp://127.0.0.1\"", "write \"http://HOST:PORT\""),
    ("documents.readers", "0", "must be from 1 to 256"),
    ("documents.memory", "\"1MiB\"", "must be at least \"64MiB\""),
    ("documents.time", "\"100ms\"", "write at least \"1s\""),
    ("render.pages", "0", "must be from 1 to 256"),
    ("render.deadline", "\"1ms\"", "write at least \"1s\""),
    ("render.memory", "\"1MiB\"", "must be at least \"64MiB\""),
    ("render.pages_per_browser", "0", "must be at least 1"),
    ("render.max_requests", "0", "must be from 1 to 100000"),
    ("render.connections_per_host", "0", "must be at least 1"),
    ("render.scroll", "10001", "must be at most 10000"),
    ("render.cache", "\"17GiB\"", "must be at most \"16GiB\""),
    ("robots.max_bytes", "\"1KiB\"", "must be at least \"500KiB\" (RFC 9309)"),
    ("robots.max_bytes", "\"65MiB\"", "must be at most \"64MiB\""),
    ("robots.max_sitemaps", "0", "must be from 1 to 1000; robots.sitemaps = false reads none"),
    ("robots.cache", "\"1s\"", "write at least \"1m\""),
    ("dns.nameservers", "[\"dns.example\"]", "\"dns.example\" is not an address; write \"9.9.9.9\""),
    ("dns.nameservers", "[\"tls://dns.example\"]", "\"dns.example\" is not an address; write"),
    ("dns.hosts", "{ \"a.example\" = \"10.0.0.1\" }", "add \"10.0.0.1\" to network.allow"),
    ("dns.timeout", "\"1ms\"", "write at least \"100ms\""),
    ("dns.ttl_min", "\"1000d\"", "is more than dns.ttl_max"),
    ("network.allow", "[\"10.0.0.0/33\"]", "\"10.0.0.0/33\" is not a CIDR range; write \"127.0.0.0/8\""),
    ("drum.buckets", "3", "3 is not a power of two from 1 to 4096"),
    ("drum.ram_per_bucket", "1", "must be from \"4KiB\" to \"64MiB\""),
    ("drum.merge_threshold", "1", "must be at least drum.ram_per_bucket"),
    ("drum.merge_memory", "1", "must be from \"1MiB\" to \"16GiB\""),
    ("drum.merge_share", "0.0", "must be from 0.01 to 1.0"),
    ("drum.merge_bandwidth", "1", "must be at least \"1MiB\", or \"unlimited\""),
    ("seen.lru_entries", "0", "must be at least 1"),
    ("seen.lru_entries", "268435457", "must be at most 268435456"),
    ("seen.bloom_memory", "1", "must be at least \"64KiB\""),
    ("seen.bloom_fpr", "0.0", "must be from 0.000001 to 0.5"),
    ("frontier.memory", "1", "must be at least \"8MiB\""),
    ("frontier.active_hosts", "0", "must be from 1 to 1048576"),
    ("container.segment_bytes", "1", "must be from \"1MiB\" to \"64GiB\""),
    ("container.digest_memory", "\"65GiB\"", "must be at most \"64GiB\""),
    ("container.slot_memory", "1", "must be from \"64KiB\" to \"64GiB\""),
    ("container.keep", "0", "must be \"all\", from 1 to 250 versions, or an age of at least \"1h\""),
    ("cluster.store", "\"ftp://x/\"", "write \"off\", or where checkpoints are shipped to"),
    ("cluster.store", "\"file://relative\"", "write \"off\", or where checkpoints are shipped to"),
    ("cluster.store", "\"s3://ID:KEY@bucket\"", "credentials come from the environment"),
    ("cluster.commit_interval", "\"1ms\"", "write at least \"1s\""),
    ("cluster.behind_max", "\"1ms\"", "write at least \"1s\""),
    ("cluster.lease", "\"1s\"", "write at least \"2s\""),
    ("cluster.registry", "[\"10.0.0.1\"]", "write members of etcd, such as"),
    ("cluster.registry", "[\"http://root:x@10.0.0.1:1\"]", "without user, password and query"),
    ("cluster.name", "\"a b\"", "must be at most 100 letters, digits, -, _ and ."),
    ("cluster.weight", "10001", "must be at most 10000"),
    ("cluster.bytes_per_second", "\"1KiB\"", "must be at least 64KiB"),
    ("politeness.hours", "\"25:00-06:00\"", ""),
    ("recrawl.min", "\"1s\"", "1s is too short; write at least \"1m\""),
    ("recrawl.min", "\"90d\"", "is more than recrawl.max"),
    ("recrawl.interval", "\"1s\"", "write at least \"1m\""),
    ("recrawl.gain", "\"1ms\"", "write at least \"1s\""),
    ("recrawl.share", "0.0", "must be from 0.01 to 1.0"),
    ("recrawl.sitemap_min", "\"1s\"", "write at least \"1m\""),
    ("recrawl.sitemap_min", "\"48h\"", "is more than recrawl.sitemap_max"),
    ("recrawl.patterns", "[{ include = \"(\" }]", "\"(\" is not a regular expression"),
    ("recrawl.patterns", "[{ include = \"a\", max = \"5m\" }]", "\"a\": its min is more than its max; write both"),
    ("recrawl.patterns", "[{ include = \"a\", interval = \"1s\" }]", "write at least \"1m\""),
    ("recrawl.patterns", "[{ include = \"a\", gain = \"1ms\" }]", "write at least \"1s\""),
    ("kinds.rules", "[{ kind = \"spam\", name = \"x\", signals = [{ weight = 10, status = [403] }] }]", "spam"),
    ("report.interval", "\"1ms\"", "write at least \"100ms\""),
    ("report.log_bytes", "1", "must be at least \"64KiB\", or \"unlimited\""),
    ("report.metrics", "\"localhost:80\"", "is not an address; write \"127.0.0.1:9150\""),
    ("site.host", "\"http://a/\"", "must be names in lower case"),
    ("site.domain", "\"A.example\"", "must be names in lower case"),
    ("site.prefix", "\"a.example/\"", "must be the start of URLs"),
    ("site.pattern", "\"(\"", "is not a regular expression"),
    ("report.console", "\"9151\"", "is not an address; write \"127.0.0.1:9151\""),
];

#[test]
fn every_limit_of_a_setting_is_told_with_its_line_and_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    for (key, value, words) in LIMITS {
        let (section, name) = key.split_once('.').unwrap();
        let table = if section == "site" { "[[site]]".to_owned() } else { format!("[{section}]") };
        fs::write(dir.path().join("my.toml"), format!("# mine\n{table}\n{name} = {value}\n")).unwrap();
        let said = refused(dir.path(), &["config", "--config", "my.toml"]);
        assert!(said.starts_with(&format!("crawler: my.toml:3: {key}: ")) && said.contains(words), "{words}: {said}");
    }
    let checks = include_str!("../../src/config/check.rs");
    let words = checks.split('"').filter(|word| word.split('.').count() == 2 && !word.contains([' ', '/', ':']));
    let is_name = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let checked: BTreeSet<&str> = words.filter(|word| word.split('.').all(is_name)).collect();
    assert!(checked.len() > 40, "{checked:?}");
    for key in checked {
        assert!(LIMITS.iter().any(|(limited, ..)| *limited == key), "no test breaks the limit of {key}");
    }
}

#[test]
fn a_configuration_that_is_none_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    for (text, words) in [
        (&b"[crawl]\n[politness]\n"[..], "my.toml:2: unknown section [politness]; did you mean [politeness]?"),
        (b"[weather]\n", "my.toml:1: unknown section [weather]; crawler config lists them all"),
        (b"max_pages = 5\n", "my.toml:1: "),
        (b"[fetch]\nhat_colour = 1\n", "my.toml:2: unknown key fetch.hat_colour; crawler config lists them all"),
        (b"[crawl]\nmax_time = 5\n", "my.toml:2: crawl.max_time: expected a duration"),
        (b"[crawl]\nmax_time = 5\n", "write for example: max_time = "),
        (b"[crawl]\nmax_pages = 1\nmax_pages = 2\n", "my.toml:3: "),
        (b"[crawl]\n# \xff\n", "my.toml:2: not UTF-8 text"),
        (b"[crawl\n", "my.toml:1: "),
    ] {
        fs::write(dir.path().join("my.toml"), text).unwrap();
        let said = refused(dir.path(), &["config", "--config", "my.toml"]);
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let said = refused(dir.path(), &["config", "--config", "."]);
    assert!(said.contains("cannot read the configuration ."), "{said}");
}

/// A place with one seed and settings of `fetch`.
fn with_fetch(settings: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("seeds.txt"), "http://127.0.0.1:9/\n").unwrap();
    fs::write(dir.path().join("my.toml"), format!("[fetch]\n{settings}\n")).unwrap();
    dir
}

#[test]
fn a_file_of_certificates_that_has_none_is_told() {
    let dir = with_fetch("ca_file = \"roots.pem\"");
    let crawl = ["--seeds", "seeds.txt", "--config", "my.toml"];
    let said = refused(dir.path(), &crawl);
    assert!(said.contains("fetch.ca_file: roots.pem: ") && said.contains("-----BEGIN CERTIFICATE-----"), "{said}");
    fs::write(dir.path().join("roots.pem"), "nothing\n").unwrap();
    assert!(refused(dir.path(), &crawl).contains("no certificate in it"));
    let fake = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(dir.path().join("roots.pem"), fake).unwrap();
    assert!(refused(dir.path(), &crawl).contains("fetch.ca_file holds a certificate that cannot be a root"));
    fs::write(dir.path().join("roots.pem"), fake.repeat(10_001)).unwrap();
    assert!(refused(dir.path(), &crawl).contains("too many certificates"));
}

#[test]
fn seeds_that_are_none_or_too_many_are_told_and_make_no_crawl() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mail.txt"), "\nmailto:me@example.com\n").unwrap();
    let said = refused(dir.path(), &["--seeds", "mail.txt"]);
    assert!(said.contains("mail.txt:2: ") && said.contains("mailto:me@example.com"), "{said}");
    assert!(said.contains("mail.txt: no URL in it; write one URL per line"), "{said}");
    // a file with a hole takes no room
    File::create(dir.path().join("all.txt")).unwrap().set_len((1 << 30) + 1).unwrap();
    for args in [&["--seeds", "all.txt"][..], &["plan", "all.txt"]] {
        assert!(refused(dir.path(), args).contains("all.txt is longer than 1 GiB: split it"), "{args:?}");
    }
    fs::create_dir(dir.path().join("crawl")).unwrap();
    fs::write(dir.path().join("crawl/LOCK"), "1\n").unwrap();
    let said = refused(dir.path(), &["ctl", "add-seeds", "--file", "all.txt"]);
    assert!(said.contains("all.txt is longer than 1 GiB: split it"), "{said}");
    // that is all that there is of this crawl
    let said = refused(dir.path(), &["explain", "https://example.com/"]);
    assert!(said.contains("the crawl has just begun, and nothing is known yet"), "{said}");
    let said = refused(dir.path(), &["canonical", "--dir", "crawl", "https://example.com/"]);
    assert!(said.contains("the crawl has just begun, and nothing is known yet"), "{said}");
    File::create(dir.path().join("fields.toml")).unwrap().set_len((1 << 20) + 1).unwrap();
    let said = refused(dir.path(), &["extract", "--fields", "fields.toml"]);
    assert!(said.contains("fields.toml is longer than 1 MiB: this is not a file of fields"), "{said}");
}

#[test]
fn mistakes_in_words_of_the_command_line_are_told() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["robots", "-", "--agent", "007", "/"][..], "--agent 007: a name has only letters, - and _"),
        (&["robots", "-", "/"], "--agent <NAME>"),
        (&["explain", "example.com"], "example.com"),
        (&["plan", "-", "--page-bytes", "0"], "write a size such as 30KiB"),
        (&["config", "--max-pages", "0"], "--max-pages"),
        (&["config", "--max-depth", "70000"], "--max-depth"),
        (&["simulate", "--hosts", "0"], "hosts"),
        (&["simulate", "--redirects", "0.9", "--not-found", "0.9"], "more than 1: lower one"),
        (&["ctl"], "pause"),
        (&["ctl", "restart"], "restart"),
        (&["ctl", "add-seeds"], "<URL>"),
        (&["verify", "--rebuild=yes"], "--rebuild"),
        (&["completions", "basic"], "bash, elvish, fish, powershell, zsh"),
    ] {
        let said = refused(dir.path(), args);
        assert!(said.contains(words), "{args:?}: {words:?} is not in\n{said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
