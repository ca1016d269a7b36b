//! The configuration as people meet it: the file that ships, and what is said of mistakes.

use std::time::Duration;

use super::*;
use crate::outcome::{Failure, Reason};

fn refusal(text: &str) -> String {
    Config::parse(text, "my.toml").unwrap_err().to_string()
}

#[test]
fn the_file_that_ships_says_the_defaults_of_the_code() {
    let shipped = Config::parse(include_str!("../../config/default.toml"), "default.toml").unwrap();
    assert_eq!(shipped, Config::default());
}

#[test]
fn every_key_of_the_code_is_in_the_file_that_ships() {
    let text = include_str!("../../config/default.toml");
    let table = DeTable::parse(text).unwrap();
    let mut written = Vec::new();
    for (section, content) in table.get_ref() {
        for (key, _) in content.get_ref().as_table().unwrap() {
            written.push(format!("{}.{}", section.get_ref(), key.get_ref()));
        }
    }
    let mut known = Config::keys();
    assert!(known.len() > 55, "{}", known.len());
    written.sort();
    known.sort();
    assert_eq!(written, known);
}

#[test]
fn the_defaults_keep_their_own_limits() {
    Config::default().check().unwrap();
    assert_eq!(Config::load(None).unwrap(), Config::default());
}

#[test]
fn an_unknown_key_is_named_with_file_line_and_the_nearest_key() {
    let text = "[crawl]\nmax_pages = 5\n\n[politeness]\ndelay_mim = \"1s\"\n";
    assert_eq!(refusal(text), "my.toml:5: unknown key politeness.delay_mim; did you mean politeness.delay_min?");
    assert_eq!(
        refusal("[fetch]\nmax_pages = 1"),
        "my.toml:2: unknown key fetch.max_pages; did you mean crawl.max_pages?"
    );
    assert_eq!(refusal("max_page = 1"), "my.toml:1: unknown key max_page; did you mean crawl.max_pages?");
    assert_eq!(refusal("[politenes]\n"), "my.toml:1: unknown section [politenes]; did you mean [politeness]?");
    assert!(refusal("[fetch]\nhat_colour_of_bot = 1").contains("crawler config lists them all"));
    assert_eq!(refusal("drum = 5"), "my.toml:1: drum is a section: write [drum] and its keys below");
}

#[test]
fn a_wrong_type_is_named_with_what_was_found_and_an_example() {
    let said = refusal("[politeness]\ndelay_min = 5\n");
    assert!(said.starts_with("my.toml:2: politeness.delay_min: expected a duration"), "{said}");
    assert!(said.contains("found the number 5; write for example: delay_min = \"10s\""), "{said}");
    let said = refusal("[fetch]\nworkers = \"many\"");
    assert!(said.contains("expected \"auto\" or a whole number, found the string \"many\""), "{said}");
    let said = refusal("[scope]\nmode = \"universe\"");
    assert!(said.contains("\"domain\", \"host\", \"prefix\" or \"any\""), "{said}");
    for (text, key) in [
        ("[fetch]\nretries = 300", "fetch.retries"),
        ("[fetch]\nretries = -1", "fetch.retries"),
        ("[fetch]\nmax_body = \"16 parsecs\"", "fetch.max_body"),
        ("[fetch]\nhttp2 = \"yes\"", "fetch.http2"),
        ("[scope]\ninclude = \"x\"", "scope.include"),
        ("[scope]\ninclude = [1]", "scope.include"),
        ("[crawl]\nmax_pages = \"none\"", "crawl.max_pages"),
        ("[crawl]\ncontact = {}", "crawl.contact"),
    ] {
        let said = refusal(text);
        assert!(said.starts_with(&format!("my.toml:2: {key}: expected ")), "{said}");
    }
}

#[test]
fn text_that_is_no_toml_is_refused_with_its_line() {
    assert!(refusal("[crawl]\n\nmax_pages 5\n").starts_with("my.toml:3: "), "{}", refusal("[crawl]\n\nmax_pages 5\n"));
    assert!(refusal("[crawl]\nmax_pages = 1\nmax_pages = 2").starts_with("my.toml:3: "));
}

#[test]
fn a_file_that_is_not_there_or_not_text_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let said = Config::load(Some(&dir.path().join("none.toml"))).unwrap_err().to_string();
    assert!(said.contains("none.toml"), "{said}");
    let binary = dir.path().join("binary.toml");
    fs::write(&binary, b"[crawl]\n\xff\xfe = 1").unwrap();
    let said = Config::load(Some(&binary)).unwrap_err().to_string();
    assert!(said.ends_with("binary.toml:2: not UTF-8 text"), "{said}");
}

#[test]
fn limits_that_no_crawl_can_run_with_are_refused_at_their_line() {
    for (text, key) in [
        ("[fetch]\nworkers = 0", "fetch.workers"),
        ("[politeness]\ndelay_min = \"1m\"", "politeness.delay_min"),
        ("[politeness]\nconnections_per_host = 0", "politeness.connections_per_host"),
        ("[politeness]\ndelay_factor = -1", "politeness.delay_factor"),
        ("[politeness]\ndelay_factor = nan", "politeness.delay_factor"),
        ("[politeness]\nrequests_per_second = 0", "politeness.requests_per_second"),
        ("[scope]\ninclude = [\"(\"]", "scope.include"),
        ("[scope]\nexclude = [\"a{1000}{1000}{1000}\"]", "scope.exclude"),
        ("[network]\nallow = [\"10.0.0.0/33\"]", "network.allow"),
        ("[network]\nallow = [\"localhost\"]", "network.allow"),
        ("[dns]\nnameservers = [\"dns.example\"]", "dns.nameservers"),
        ("[dns]\nnameservers = [\"https://dns.example/q\"]", "dns.nameservers"),
        ("[dns]\nhosts = { \"a.example\" = \"127.0.0.1\" }", "dns.hosts"),
        ("[dns]\nttl_min = \"48h\"", "dns.ttl_min"),
        ("[drum]\nbuckets = 60", "drum.buckets"),
        ("[drum]\nbuckets = 0", "drum.buckets"),
        ("[drum]\nmerge_memory = \"1KiB\"", "drum.merge_memory"),
        ("[drum]\nmerge_share = 0", "drum.merge_share"),
        ("[drum]\nmerge_bandwidth = \"1KiB\"", "drum.merge_bandwidth"),
        ("[seen]\nbloom_fpr = 1.0", "seen.bloom_fpr"),
        ("[crawl]\nmax_pages = 0", "crawl.max_pages"),
        ("[crawl]\nuser_agent = \"7bot\"", "crawl.user_agent"),
        ("[crawl]\nuser_agent = \"bot\\r\\nX: 1\"", "crawl.user_agent"),
        ("[crawl]\ncontact = \"me)\\u001b\"", "crawl.contact"),
        ("[fetch]\nproxy = \"not a url\"", "fetch.proxy"),
        ("[fetch]\nproxy = \"ftp://127.0.0.1:1\"", "fetch.proxy"),
        ("[[site]]\nproxy = \"socks9://127.0.0.1:1\"\nhost = \"a.example\"", "site.proxy"),
        ("[[site]]\nproxy = \"none\"\nprefix = \"http://a.example/\"", "site.proxy"),
        ("[fetch]\ntimeout_connect = \"10m\"", "fetch.timeout_connect"),
        ("[robots]\nmax_bytes = \"1KiB\"", "robots.max_bytes"),
        ("[report]\nmetrics = \"localhost\"", "report.metrics"),
        ("[report]\nconsole = \"9151\"", "report.console"),
        ("[report]\nlog_bytes = \"1KiB\"", "report.log_bytes"),
    ] {
        let said = refusal(text);
        assert!(said.starts_with(&format!("my.toml:2: {key}: ")), "{text} -> {said}");
    }
    assert!(refusal("[report]\nmetrics = \"localhost\"").contains("127.0.0.1:0"));
}

#[test]
fn settings_with_units_and_unlimited_ones_are_read() {
    let text = "\u{feff}[crawl]\r\nmax_pages = 1_000\nmax_bytes = \"10GiB\"\nmax_time = \"1h30m\"\n\
                max_depth = \"unlimited\"\n\
                [politeness]\ndelay_min = \"0s\"\ndelay_factor = 0\ndelay_per_ip = \"0s\"\nrequests_per_second = 0.5\n\
                [network]\nallow = [\"127.0.0.0/8\", \"::1\"]\n[fetch]\nrate_min = 64\nproxy = \
                \"http://127.0.0.1:3128\"\n";
    let config = Config::parse(text, "my.toml").unwrap();
    assert_eq!(config.crawl.max_pages, Some(1_000));
    assert_eq!(config.crawl.max_bytes, Some(Bytes::gib(10)));
    assert_eq!(config.crawl.max_time, Some(Duration::from_secs(5_400)));
    assert_eq!(config.crawl.max_depth, None);
    assert_eq!(config.politeness.delay_min, Duration::ZERO);
    assert_eq!(config.politeness.delay_factor, 0.0);
    assert_eq!(config.politeness.requests_per_second, Some(0.5));
    assert_eq!(config.network.allow.len(), 2);
    assert_eq!(config.fetch.rate_min, Bytes(64));
    assert_eq!(config.fetch.proxy, "http://127.0.0.1:3128");
}

#[test]
fn what_is_written_down_has_no_password_of_the_proxy() {
    let text = "[fetch]\nproxy = \"http://me:sesame@127.0.0.1:3128\"\n[politeness]\ncrawl_delay_beyond = \"skip\"\n\
                [[site]]\nhost = \"a.example\"\nproxy = \"socks5h://me:sesame@[::1]\"\n[[site]]\n\
                host = \"b.example\"\nproxy = \"none\"\n";
    let config = Config::parse(text, "my.toml").unwrap();
    let written = config.without_secrets();
    let of_sites: Vec<_> = written.site.iter().map(|site| site.proxy.as_ref().unwrap().expose()).collect();
    assert_eq!(of_sites, ["socks5h://[::1]", "none"]);
    assert_eq!(Config::parse(&config.to_toml(), "my.toml").unwrap(), written, "so are settings that are written down");
    assert!(!written.to_toml().contains("sesame") && !written.site[0].line(0).contains("sesame"));
    assert_eq!(written.fetch.proxy, "http://127.0.0.1:3128");
    assert_eq!(written.politeness, config.politeness);
    let config = Config::parse("[fetch]\nproxy = \"http://127.0.0.1:3128\"", "my.toml").unwrap();
    assert_eq!(config.without_secrets(), config);
}

#[test]
fn the_user_agent_carries_name_version_and_contact() {
    let mut config = Config::default();
    assert_eq!(config.user_agent(), format!("crawler/{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(config.agent_token(), "crawler");
    config.crawl.user_agent = "My-Bot_x/2.1 beta".to_owned();
    config.crawl.contact = "https://example.com/bot".to_owned();
    assert_eq!(config.user_agent(), "My-Bot_x/2.1 beta (+https://example.com/bot)");
    assert_eq!(config.agent_token(), "My-Bot_x");
}

#[test]
fn no_text_makes_the_parser_panic() {
    let base = include_str!("../../config/default.toml");
    let mut random = fastrand::Rng::with_seed(20_261);
    for round in 0..300 {
        let mut bytes = base.as_bytes().to_vec();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(b' '..=b'~');
        }
        let text = String::from_utf8(bytes).unwrap();
        // A change inside of a comment is fine; anything else must come back as an error with a line.
        if let Err(e) = Config::parse(&text, "my.toml") {
            assert!(e.to_string().starts_with("my.toml"), "round {round}: {e}");
        }
    }
}

#[test]
fn which_versions_stay_is_a_word_a_number_or_an_age() {
    use crate::container::Keep;
    let keep = |value: &str| Config::parse(&format!("[container]\nkeep = {value}\n"), "x").map(|c| c.container.keep);
    let age = |hours: u64| Keep::Age(Duration::from_secs(hours * 3_600));
    for (value, expected) in
        [("\"all\"", Keep::All), ("3", Keep::Versions(3)), ("\"90d\"", age(90 * 24)), ("\"36h\"", age(36))]
    {
        assert_eq!(keep(value).unwrap(), expected);
        let config = Config { container: Container { keep: expected, ..Container::default() }, ..Config::default() };
        let written = config.entries().into_iter().find(|(key, _)| key == "container.keep").unwrap().1;
        assert_eq!(keep(&written).unwrap(), expected, "{written}");
    }
    for wrong in ["0", "251", "\"some\"", "\"10m\"", "true"] {
        assert!(keep(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_setting_that_a_reason_or_a_failure_names_is_a_key() {
    let keys = Config::keys();
    let of_reasons = Reason::ALL.iter().filter_map(|reason| reason.setting());
    for setting in of_reasons.chain(Failure::ALL.iter().filter_map(|failure| failure.setting())) {
        assert!(keys.iter().any(|key| key == setting), "{setting}");
    }
}

#[test]
fn sinks_are_tables_with_names_and_stand_in_what_is_written() {
    let text = "[sink.search]\nkind = \"opensearch\"\nurl = \"https://me:sesame@search.example:9200\"\n\
                dead_letters = \"/var/x\"\n\n[sink.table]\nkind = \"sqlite\"\npath = \"documents.db\"\n";
    let config = Config::parse(text, "x").unwrap();
    assert_eq!(config.sink.keys().collect::<Vec<_>>(), ["search", "table"]);
    let (bare, keys) = (config.without_secrets(), config.keys_with_secrets());
    assert!(keys.contains("sink.search.url") && !bare.to_toml().contains("sesame"), "{}", bare.to_toml());
    assert_eq!(Config::parse(&bare.to_toml(), "x").unwrap(), bare);
    let copy: Config = serde_json::from_slice(&serde_json::to_vec(&bare).unwrap()).unwrap();
    assert_eq!(copy, bare);
    for (text, problem) in [
        ("sink = 1", "write [sink.NAME]"),
        ("[sink]\nkind = \"solr\"", "write [sink.NAME]"),
        ("[sink.a]\nkind = \"solr\"", "x:1: sink.a: missing field `url`"),
        ("[sink.a]\nkind = \"solr\"\nurl = \"u\"\nurls = \"v\"", "x:4: sink.a: unknown field `urls`"),
        ("[sink.a]\nkind = \"solr\"\nurl = \"u\"\nbatch = 0", "x:1: sink.a"),
        ("[sink.\"a/b\"]\nkind = \"solr\"\nurl = \"u\"", "letters, digits"),
        (
            "[cluster]\nregistry = [\"http://10.0.0.1:2379\"]\nname = \"n\"\nstore = \"file:///mnt/c\"\n\
          [sink.a]\nkind = \"solr\"\nurl = \"u\"",
            "many machines",
        ),
        ("[feed]\ndeletions_max = 1.5", "share from 0 to 1"),
    ] {
        let error = Config::parse(text, "x").unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}
