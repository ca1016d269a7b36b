//! Tables of sites: read, written, refused, applied.

use super::*;

const TABLES: &str = r##"[[site]]
host = ["a.example", "b.example"]
delay_min = "5s"
pages_per_host = "unlimited"
headers = { "X-Api" = "2" }
priority = 7

[[site]]
prefix = "https://c.example/x/"
max_depth = 2
priority = "high"
[site.recrawl]
max = "24h"

[[site]]
host = "d.example"
cookies = "session"
headers = { Authorization = "Key ${KEY}" }
auth = { user = "me", password_file = "/p" }
[[site.login]]
url = "https://d.example/in"
form = "#in"
fields = { u = "me", p = "${P}" }
success = { cookie = "sid", status = 302 }
lost = { status = 403 }
[[site.login]]
url = "https://d.example/api"
json = { k = "${P}" }
success = { selector = "a.out", redirect = "/home" }
"##;

#[test]
fn tables_are_read_and_written_back_the_same_in_toml_and_json() {
    let (config, origins) = Config::parse_with_origins(TABLES, "my.toml").unwrap();
    let [first, second, third] = &config.site[..] else { panic!("{:?}", config.site) };
    assert_eq!((first.host.len(), first.delay_min), (2, Some(Duration::from_secs(5))));
    assert_eq!((first.pages_per_host, first.max_depth), (Some(None), None));
    assert_eq!(first.headers.as_ref().unwrap().0["X-Api"], "2");
    assert_eq!((first.priority, second.priority), (Some(Priority::Rank(7)), Some(Priority::High)));
    assert_eq!(second.recrawl.unwrap().max, Some(Duration::from_secs(86_400)));
    assert_eq!(third.auth.as_ref().unwrap().password(), "${file:/p}");
    assert_eq!((third.login.as_ref().unwrap().0.len(), third.has_secrets()), (2, true));
    assert_eq!(Config::parse(&config.to_toml(), "written.toml").unwrap(), config, "{}", config.to_toml());
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config, "{json}");
    assert_eq!(origins.of("site.0.delay_min").to_string(), "my.toml:3");
    assert_eq!(origins.of("site.1.max_depth").to_string(), "my.toml:10");
    assert_eq!(origins.of("site.1").to_string(), "my.toml:8");
}

#[test]
fn what_cannot_be_is_refused_with_its_line_and_what_to_write() {
    for (table, said) in [
        ("[site]\nhost = \"a\"\n", "write [[site]]"),
        ("[[sites]]\nhost = \"a\"\n", "did you mean [site]?"),
        ("[[site]]\ndelay_min = \"1s\"\n", "site.host: say which URLs it holds for"),
        (
            "[[site]]\nhost = \"a\"\ndelay_mn = \"1s\"\n",
            "my.toml:3: unknown key site.delay_mn; did you mean site.delay_min?",
        ),
        ("[[site]]\nhost = \"a\"\ndelay_min = 1\n", "my.toml:3: site.delay_min: expected a duration"),
        (
            "[[site]]\nhost = \"a\"\ndelay_min = \"1h\"\n",
            "my.toml:3: site.delay_min: 3600s is more than politeness.delay_max",
        ),
        (
            "[[site]]\nhost = \"a\"\ntimeout_total = \"1s\"\n",
            "my.toml:1: fetch.timeout_connect: is longer than fetch.timeout_total",
        ),
        (
            "[[site]]\nprefix = \"http://a/\"\ndelay_min = \"2s\"\n",
            "my.toml:3: site.delay_min: is a setting of whole hosts",
        ),
        ("[[site]]\nprefix = \"http://b:81/x\"\ndelay_min = \"2s\"\n", "[[site]] of its own, with host = \"b\""),
        (
            "[[site]]\nhost = \"a\"\n[[site.login]]\nurl = \"http://a:81/in\"\nfields = { u = \"me\" }\n\
             success = { cookie = \"s\" }\n",
            "of a host or domain only https on its usual port hears secrets: write prefix = \"http://a:81/\"",
        ),
        (
            "[[site]]\ndomain = \"a\"\n[[site.login]]\nurl = \"http://b.a/in\"\nfields = { u = \"me\" }\n\
             success = { cookie = \"s\" }\n",
            "write prefix = \"http://b.a/\"",
        ),
        ("[[site]]\nhost = \"http://a/\"\n", "my.toml:2: site.host: must be names"),
        ("[[site]]\ndomain = \"A.example\"\n", "my.toml:2: site.domain: must be names in lower case"),
        ("[[site]]\nprefix = \"a.example/x\"\n", "my.toml:2: site.prefix: must be the start of URLs"),
        ("[[site]]\nprefix = \"https://a.example\"\n", "my.toml:2: site.prefix: must have a / behind the host"),
        ("[[site]]\npattern = \"(\"\n", "my.toml:2: site.pattern: \"(\" is not a regular expression"),
        ("[[site]]\nhost = \"a\"\nheaders = { Host = \"x\" }\n", "my.toml:3: site.headers: Host cannot be set here"),
        ("[[site]]\nhost = \"a\"\nheaders = { X = \"a\\nb\" }\n", "printable"),
        (
            "[[site]]\nhost = \"a\"\nauth = { user = \"me\", password = \"plain\" }\n",
            "site.auth: password: write ${NAME}",
        ),
        ("[[site]]\nhost = \"a\"\nauth = { user = \"me\", bearer = \"${T}\" }\n", "user and password, or bearer alone"),
        ("[[site]]\nhost = \"a\"\nauth = { passwort = \"${T}\" }\n", "expected a table with user and password"),
        ("[[site]]\nhost = \"a\"\nheaders = { Authorization = \"Key 1\" }\n", "Authorization cannot be set here"),
        ("[[site]]\nhost = \"a\"\nheaders = { X = \"${1}\" }\n", "site.headers: X: ${1} is no variable"),
        ("[[site]]\npattern = \"a\"\nheaders = { X = \"${ONE}\" }\n", "site.pattern: finds URLs of any host"),
        (
            "[[site]]\nhost = \"a\"\n[[site.login]]\nurl = \"https://a/in\"\nfields = { u = \"me\" }\n",
            "success: write how",
        ),
        (
            "[[site]]\nhost = \"a\"\n[[site.login]]\nurl = \"https://a/in\"\nsuccess = { cookie = \"s\" }\n",
            "write fields =",
        ),
        ("[[site]]\nhost = \"a\"\ncookies = \"all\"\n", "site.cookies: expected \"off\" or \"session\""),
        ("[[site]]\nhost = \"a\"\npriority = \"first\"\n", "my.toml:3: site.priority: expected \"high\""),
        ("[[site]]\nhost = \"a\"\n[site.recrawl]\nmin = \"1s\"\n", "my.toml:3: site.recrawl.min: 1s is too short"),
    ] {
        let error = Config::parse(table, "my.toml").unwrap_err().to_string();
        assert!(error.contains(said), "{table}: {error}");
    }
}

#[test]
fn of_several_tables_the_first_counts_that_has_a_setting_and_its_value_takes_its_place() {
    let text = "[scope]\ninclude = [\"all\"]\n[recrawl]\ngain = \"9h\"\n\
                [[site]]\nhost = \"a\"\ninclude = [\"own\"]\nrender = \"always\"\n\
                [[site]]\nhost = \"a\"\ninclude = [\"other\"]\nmax_body = \"2MiB\"\nrecrawl = { max = \"48h\" }\n";
    let config = Config::parse(text, "my.toml").unwrap();
    let there = config.at(&Site::merged(&config.site.iter().collect::<Vec<_>>()));
    assert_eq!(
        (there.scope.include, there.render.mode),
        (vec!["own".to_owned(), "all".to_owned()], RenderMode::Always)
    );
    assert_eq!((there.fetch.max_body, there.recrawl.max), (Bytes::mib(2), Duration::from_secs(48 * 3_600)));
    assert_eq!((there.recrawl.gain, there.site.len()), (Duration::from_secs(9 * 3_600), 0));
}

#[test]
fn every_key_changes_a_setting_that_there_is_or_is_asked_for_in_the_table() {
    let keys = Config::keys();
    for key in Site::KEYS {
        let sets = |name: &String| key.sets(name);
        assert_eq!(keys.iter().any(sets), key.place != Place::Table, "{}", key.name);
    }
    let sites: Vec<&str> = Site::KEYS.iter().filter(|key| key.sets("render.mode")).map(|key| key.name).collect();
    assert_eq!(sites, ["render"]);
}

#[test]
fn the_documentation_has_each_key_with_its_section_and_the_urls_that_it_can_be_given_to() {
    let text = include_str!("../../docs/SITES.md");
    let section = text.split("\n## ").find(|section| section.starts_with("What a table can say")).unwrap();
    let rows: Vec<Vec<&str>> = section.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for SiteKey { name, reach, .. } in Site::KEYS {
        let names = |cell: &str| cell.contains(&format!("`{name}`")) || cell.contains(&format!("`[[site.{name}]]`"));
        let of_key: Vec<&Vec<&str>> = rows.iter().filter(|row| row.len() == 5 && names(row[1])).collect();
        let [row] = &of_key[..] else { panic!("{name} is in {} rows", of_key.len()) };
        let of_section = Site::KEYS.iter().find(|key| key.name == *name).unwrap().section();
        assert!(of_section.is_none_or(|of| row[2].contains(&format!("`[{of}]`"))), "{name}: {row:?}");
        assert_eq!(row[3], if *reach == Reach::Hosts { "whole hosts" } else { "any URLs" }, "{name}");
    }
}
