//! Sites that let nobody in just so: a login by form, a lost session, a cookie wall, a name with a password, a token;
//! and an origin that must never learn any of it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, Ended, RUSH, wait};

const PASSWORD: &str = "pa55-of-the-form";
const BASIC: &str = "pa55-of-basic";
const TOKEN: &str = "t0ken-of-the-api";
const KEY: &str = "key-in-a-header";
const FROM_FILE: &str = "c00kie-of-a-file";

/// The memory of the form's site: sessions that are open, tokens that were given out, pages shown.
#[derive(Default)]
struct Members {
    /// True if anyone who is not in sees the form at once, instead of being sent to its page.
    shows_form: bool,
    open: HashSet<String>,
    tokens: HashSet<String>,
    given: usize,
    shown: usize,
}

impl Members {
    /// The site with the form. The first session ends behind three pages.
    fn answer(&mut self, asked: &Asked) -> Answer {
        let is_in = asked.cookie("sid").is_some_and(|sid| self.open.contains(sid));
        match (asked.method.as_str(), asked.path.as_str()) {
            (_, "/robots.txt") => Answer::text("User-agent: *\nDisallow: /admin\nCrawl-delay: 0.02\n"),
            (_, "/login" | "/login?from=link" | "/login?next=1") => {
                self.given += 1;
                let token = format!("csrf-{}", self.given);
                self.tokens.insert(token.clone());
                Answer::page(format!(
                    "<form action=/search><input name=q></form><form method=post action='/session?x=1'>\
                     <input type=hidden name=csrf value={token}><input name=user><input type=password name=pass>"
                ))
                .with("set-cookie", format!("pre={token}; Path=/"))
            }
            ("POST", "/session?x=1") => {
                let body = asked.body.as_str();
                let token = body.split('&').find_map(|pair| pair.strip_prefix("csrf=")).unwrap_or_default();
                let is_right = body.contains("user=me") && body.contains(&format!("pass={PASSWORD}"));
                // the token counts once, and with the cookie that came with it
                let is_fresh = self.tokens.remove(token) && asked.cookie("pre") == Some(token);
                // as servers look at it that want to know their own form
                let home = format!("http://{}", asked.field("host").unwrap());
                let is_own =
                    asked.field("origin") == Some(&home) && asked.field("referer") == Some(&format!("{home}/login"));
                if !is_right || !is_fresh || !is_own {
                    return Answer::page("<p class=error>wrong</p>");
                }
                let sid = format!("s3ssion-{}", self.given);
                self.open.insert(sid.clone());
                Answer::redirect("/welcome").with("set-cookie", format!("sid={sid}; Path=/; HttpOnly"))
            }
            (_, "/") => {
                Answer::page("<a href=/members/1>in</a><a href=/admin>no</a><a href='/login?from=link'>login</a>")
            }
            _ if !is_in && self.shows_form => Answer::page("<form method=post><input type=password name=pass></form>"),
            _ if !is_in => Answer::redirect("/login?next=1"),
            (_, "/welcome") => Answer::page("<a class=logout href=/out>out</a>"),
            (_, path) => {
                self.shown += 1;
                if self.shown == 3 {
                    self.open.clear();
                }
                let number: u32 = path.trim_start_matches("/members/").parse().unwrap();
                let next = if number < 6 { format!("<a href=/members/{}>next</a>", number + 1) } else { String::new() };
                Answer::page(format!("<title>member {number}</title><a class=logout href=/admin>out</a>{next}"))
            }
        }
    }
}

/// A wall that wants its cookie back, by its own page.
fn wall(asked: &Asked) -> Answer {
    match asked.path.as_str() {
        "/robots.txt" => Answer::status(404),
        "/check" => Answer::redirect("/").with("set-cookie", "passed=yes; Path=/"),
        "/self" if asked.cookie("once").is_none() => Answer::redirect("/self").with("set-cookie", "once=1; Path=/self"),
        "/" if asked.cookie("passed").is_none() => Answer::redirect("/check"),
        "/" => Answer::page("<a href=/inside>in</a><a href=/self>self</a>"),
        path => Answer::page(format!("<title>wall {path}</title>")),
    }
}

/// A site by name and password that redirects to the curious one, and an API with pages.
fn named(asked: &Asked, curious: &str) -> Answer {
    let pair = "Basic bWU6cGE1NS1vZi1iYXNpYw==";
    match asked.path.as_str() {
        "/robots.txt" => Answer::status(404),
        path if path.starts_with("/api/") => {
            if asked.field("authorization") != Some(&format!("Bearer {TOKEN}")) || asked.field("x-key") != Some(KEY) {
                return Answer::status(401);
            }
            let page: u32 = path.trim_start_matches("/api/items?page=").parse().unwrap();
            let json = Answer { fields: vec![], ..Answer::text(format!("{{\"page\": {page}}}")) };
            let json = json.with("content-type", "application/json");
            if page < 3 { json.with("link", format!("</api/items?page={}>; rel=next", page + 1)) } else { json }
        }
        _ if asked.field("authorization") != Some(pair) => Answer::status(401).with("www-authenticate", "Basic"),
        "/" => Answer::page("<a href=/away>away</a><a href=/file>file</a>"),
        "/away" => Answer::redirect(curious),
        "/file" if asked.cookie("letin") == Some(FROM_FILE) => Answer::page("<title>by the cookie of a file</title>"),
        _ => Answer::status(403),
    }
}

fn start(shows_form: bool) -> Hosts {
    let members = Mutex::new(Members { shows_form, ..Members::default() });
    Hosts::start(4, move |asked| match asked.host {
        1 => members.lock().unwrap().answer(asked),
        2 => wall(asked),
        3 => named(asked, &format!("http://127.0.0.4:{}/", asked.field("host").unwrap().split_once(':').unwrap().1)),
        _ => Answer::page("<title>curious</title>"),
    })
}

fn config(hosts: &Hosts, dir: &Path, shows_form: bool) -> String {
    let lost = if shows_form { "lost = { selector = \"form [name=pass]\" }\n" } else { "" };
    let at = |host| hosts.url(host, "/");
    let (form, wall, basic) = (at(1), at(2), at(3));
    let files = dir.display();
    format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}\n\
         [[site]]\nprefix = \"{form}\"\n[[site.login]]\nurl = \"{form}login\"\n\
         fields = {{ user = \"me\", pass = \"${{FORM_PASSWORD}}\" }}\nsuccess = {{ selector = \"a.logout\" }}\n{lost}\
         [[site]]\nprefix = \"{wall}\"\ncookies = \"session\"\n\
         [[site]]\nprefix = \"{basic}api/\"\nauth = {{ bearer = \"${{API_TOKEN}}\" }}\n\
         headers = {{ X-Key = \"${{file:{files}/key}}\" }}\n\
         [[site]]\nprefix = \"{basic}\"\nauth = {{ user = \"me\", password_file = \"{files}/password\" }}\n\
         cookies_file = \"{files}/cookies.txt\"\n"
    )
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

struct Run {
    hosts: Hosts,
    crawl: Crawl,
}

impl Run {
    fn new(shows_form: bool, more: &str) -> Run {
        let hosts = start(shows_form);
        let seeds = [1, 2, 3].map(|host| hosts.url(host, "/") + "\n").concat() + &hosts.url(3, "/api/items?page=1\n");
        let crawl = Crawl::new(&seeds, "");
        let config = config(&hosts, crawl.dir.path(), shows_form) + more;
        fs::write(crawl.path("crawler.toml"), format!("[scope]\nmode = \"any\"\nfavicon = false\n{config}")).unwrap();
        private(&crawl.path("key"), KEY);
        private(&crawl.path("password"), &format!("{BASIC}\n"));
        private(&crawl.path("cookies.txt"), &format!("127.0.0.3\tFALSE\t/\tFALSE\t0\tletin\t{FROM_FILE}\n"));
        Run { hosts, crawl }
    }

    /// Runs to the end, the secrets of the environment at hand.
    fn run(&self, options: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]).args(options);
        command.env("FORM_PASSWORD", PASSWORD).env("API_TOKEN", TOKEN).current_dir(self.crawl.dir.path());
        wait(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Returns what a command about the crawl prints. It needs no secret.
    fn said(&self, command: &[&str]) -> String {
        let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = process.args(command).current_dir(self.crawl.dir.path()).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Every file of the crawl directory, value files unpacked.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut dirs = vec![self.crawl.path("crawl")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    dirs.push(entry);
                    continue;
                }
                let bytes = fs::read(&entry).unwrap();
                let name = entry.display().to_string();
                if bytes.starts_with(&[0x1f, 0x8b]) {
                    let mut plain = Vec::new();
                    let read = std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&*bytes), &mut plain);
                    assert!(read.is_ok() || !plain.is_empty(), "{name}");
                    files.push((format!("{name} unpacked"), plain));
                }
                files.push((name, bytes));
            }
        }
        files
    }
}

/// All that nobody may find anywhere.
fn secrets() -> Vec<String> {
    let plain = [PASSWORD, BASIC, TOKEN, KEY, FROM_FILE, "s3ssion-"].map(str::to_owned);
    plain.into_iter().chain(["bWU6cGE1NS1vZi1iYXNpYw".to_owned()]).collect()
}

fn find(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|window| window == secret.as_bytes())
}

#[test]
fn sites_let_the_crawl_in_and_no_secret_gets_out() {
    let run = Run::new(true, "");
    let ended = run.run(&["--verbose"]);
    ended.expect(0, &["complete", "logged in at", "has ended; it is repeated"]);
    let stored = run.crawl.stored();
    let port = run.hosts.port;
    for (host, path) in [
        (1, "/members/1"),
        (1, "/members/3"),
        (1, "/members/4"),
        (1, "/members/6"),
        (2, "/"),
        (2, "/inside"),
        (2, "/self"),
        (3, "/"),
        (3, "/file"),
        (3, "/api/items?page=1"),
        (3, "/api/items?page=3"),
    ] {
        let url = format!("http://127.0.0.{host}:{port}{path}");
        assert_eq!(stored.get(&url), Some(&200), "{url}: {stored:#?}\n{}", ended.said);
    }
    // as often as the session was lost, and never where robots.txt forbids
    let asked = run.hosts.asked_of(1);
    let posts = asked.iter().filter(|asked| asked.method == "POST").count();
    assert_eq!(posts, 2, "{asked:#?}");
    assert!(!run.hosts.paths_of(1).iter().any(|path| path == "/admin"));
    // its lines in the log are no robots.txt, which would change the rules
    let report = run.said(&["report", "hosts", "--json", "--dir", "crawl"]);
    let rows = report.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let row = rows.into_iter().find(|row| row["host"] == "127.0.0.1").unwrap();
    assert_eq!((row["crawl_delay"].as_f64(), row["violations"].as_u64()), (Some(0.02), Some(0)), "{report}");
    // the login is nowhere in the archive
    assert!(!stored.keys().any(|url| url.ends_with("/login") || url.contains("/session")), "{stored:#?}");
    // who may know what
    let curious = run.hosts.asked_of(4);
    assert!(curious.iter().any(|asked| asked.path == "/"), "it was asked");
    for secret in secrets() {
        let heard: Vec<_> = curious.iter().filter(|asked| asked.text().contains(&secret)).collect();
        assert!(heard.is_empty(), "{secret}: {heard:?}");
        for (host, own) in [(1, [PASSWORD, "s3ssion-"]), (2, ["", ""]), (3, [BASIC, TOKEN])] {
            let is_own = own.contains(&&*secret) || host == 3 && !own.is_empty();
            let heard = run.hosts.asked_of(host).iter().any(|asked| asked.text().contains(&secret));
            assert!(is_own && host != 2 || !heard, "{secret} at {host}");
        }
        assert!(!ended.said.contains(&secret), "{secret} in what was said");
        for (name, bytes) in run.files() {
            assert!(!find(&bytes, &secret), "{secret} in {name}");
        }
        let url = run.hosts.url(3, "/");
        for command in [
            &["config", "--config", "crawler.toml"][..],
            &["config", "--config", "crawler.toml", "--for", &url],
            &["explain", "--dir", "crawl", &url],
            &["get", "--warc", "--dir", "crawl", &url],
        ] {
            let said = run.said(command);
            assert!(!said.contains(&secret), "{secret}: {command:?}: {said}");
        }
    }
    let request = run.said(&["get", "--warc", "--dir", "crawl", &run.hosts.url(3, "/")]);
    assert!(request.contains("authorization: [redacted]"), "{request}");
    let api = run.said(&["get", "--warc", "--dir", "crawl", &run.hosts.url(3, "/api/items?page=2")]);
    assert!(api.contains("x-key: [redacted]") && api.contains("authorization: [redacted]"), "{api}");
}

#[test]
fn the_archive_can_keep_what_was_sent() {
    let run = Run::new(false, "[container]\nredact_secrets = false\n");
    run.run(&[]).expect(0, &["complete"]);
    let request = run.said(&["get", "--warc", "--dir", "crawl", &run.hosts.url(3, "/")]);
    assert!(request.contains("authorization: Basic bWU6"), "{request}");
    assert!(request.contains(&format!("cookie: letin={FROM_FILE}")), "{request}");
}

#[test]
fn a_login_is_tried_by_command_and_its_failures_are_said() {
    let run = Run::new(false, "");
    let page = run.hosts.url(1, "/members/1");
    let test = |password: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
        process.args(["login", "test", &page, "--config", "crawler.toml"]).current_dir(run.crawl.dir.path());
        let output = process.env("FORM_PASSWORD", password).env("API_TOKEN", TOKEN).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, said) = test(PASSWORD);
    assert_eq!(code, Some(0), "{said}");
    for line in
        ["robots.txt   200", "login        200", "/session?x=1", "login        302", "page         200", "logged in"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    let (code, said) = test("wr0ng");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not logged in: ") && said.contains("without the sign of success"), "{said}");
    assert!(!said.contains("wr0ng") && !said.contains("page  "), "{said}");
    let elsewhere = run.said(&["login", "test", &run.hosts.url(2, "/"), "--config", "crawler.toml"]);
    assert!(elsewhere.contains("no [[site.login]] of crawler.toml holds for"), "{elsewhere}");
    let settings = fs::read_to_string(run.crawl.path("crawler.toml")).unwrap();
    let start = run.hosts.url(1, "/");
    let unheard = settings.replace(&format!("prefix = \"{start}\""), "host = \"127.0.0.1\"");
    assert_ne!(unheard, settings);
    fs::write(run.crawl.path("unheard.toml"), unheard).unwrap();
    let refused = run.said(&["login", "test", &page, "--config", "unheard.toml"]);
    assert!(refused.contains(&format!("write prefix = \"{start}\"")), "{refused}");
    let unset = run.said(&["login", "test", &page, "--config", "crawler.toml"]);
    assert!(unset.contains("the variable FORM_PASSWORD is not set"), "{unset}");
    assert!(unset.contains("[[site]] 1: login.fields.pass"), "{unset}");
}

#[test]
fn a_table_whose_secrets_may_not_go_to_its_urls_says_so_once() {
    let run = Run::new(false, "");
    let start = run.hosts.url(3, "/");
    let settings = fs::read_to_string(run.crawl.path("crawler.toml")).unwrap();
    let (table, by_host) = (format!("prefix = \"{start}\"\nauth"), "host = \"127.0.0.3\"\nauth");
    assert!(settings.contains(&table), "{settings}");
    fs::write(run.crawl.path("crawler.toml"), settings.replace(&table, by_host)).unwrap();
    fs::write(run.crawl.path("seeds.txt"), format!("{start}\n{start}late\n")).unwrap();
    let said = run.run(&[]).said;
    let why = format!(
        "auth and cookies_file are not sent there: of a host or domain only https on its usual port hears \
                       secrets; write prefix = \"{start}\""
    );
    assert_eq!(said.matches(&format!("[[site]] 4: {why}")).count(), 1, "{said}");
    let explained = run.said(&["explain", &start, "--dir", "crawl"]);
    assert!(explained.contains(&why), "{explained}");
    assert!(run.hosts.asked_of(3).iter().all(|asked| asked.field("authorization").is_none()));
}

#[test]
fn a_crawl_that_is_resumed_has_its_cookies_and_logs_in_again() {
    let run = Run::new(false, "");
    run.run(&[]).expect(0, &["complete"]);
    let posts = || run.hosts.asked_of(1).iter().filter(|asked| asked.method == "POST").count();
    assert_eq!(posts(), 2);
    let late = [run.hosts.url(1, "/members/7"), run.hosts.url(2, "/late"), run.hosts.url(4, "/late")];
    fs::write(run.crawl.path("seeds.txt"), late.join("\n")).unwrap();
    run.run(&[]).expect(0, &["complete", "logged in at"]);
    assert_eq!(posts(), 3, "cookies of a login are not kept");
    let asked = run.hosts.asked();
    let late = |host| asked.iter().find(|asked| asked.host == host && asked.path == "/late").unwrap();
    assert_eq!(late(2).cookie("passed"), Some("yes"), "those of a wall are: {:?}", late(2));
    assert_eq!(late(4).field("cookie"), None, "and go nowhere else");
    assert_eq!(run.crawl.stored()[&run.hosts.url(1, "/members/7")], 200);
}

#[test]
fn a_login_is_a_message_of_json_and_a_401_asks_for_another() {
    // each session is for two pages
    let left = Mutex::new((0, String::new()));
    let hosts = Hosts::start(1, move |asked| {
        let mut left = left.lock().unwrap();
        match asked.path.as_str() {
            "/robots.txt" => Answer::status(404),
            "/api/login" => {
                let sent: serde_json::Value = serde_json::from_str(&asked.body).unwrap_or_default();
                let is_json = asked.field("content-type") == Some("application/json");
                if asked.method != "POST" || !is_json || sent["user"] != "me" || sent["key"] != PASSWORD {
                    return Answer::status(403);
                }
                *left = (2, format!("{}x", left.1));
                Answer::text("{}").with("set-cookie", format!("jsid={}; Path=/", left.1))
            }
            _ if left.0 == 0 || asked.cookie("jsid") != Some(&left.1) => Answer::status(401),
            path => {
                left.0 -= 1;
                let links: String = (1..=5).map(|number| format!("<a href=/p/{number}>{number}</a>")).collect();
                Answer::page(if path == "/" { links } else { format!("<title>{path}</title>") })
            }
        }
    });
    let home = hosts.url(1, "/");
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}\n[[site]]\nprefix = \"{home}\"\n[[site.login]]\n\
         url = \"{home}api/login\"\njson = {{ user = \"me\", key = \"${{KEY}}\" }}\n\
         success = {{ cookie = \"jsid\", status = 200 }}\n"
    );
    let crawl = Crawl::new(&home, &config);
    let run = |key: &str, dir: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", dir, "--max-time", "60s"]);
        command.env("KEY", key).current_dir(crawl.dir.path());
        wait(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    run(PASSWORD, "crawl").expect(0, &["complete", "logged in at"]);
    let stored = crawl.stored();
    assert_eq!((stored.len(), stored.values().all(|&status| status == 200)), (6, true), "{stored:?}");
    assert_eq!(hosts.paths_of(1).iter().filter(|path| *path == "/api/login").count(), 3);
}

/// A site with four pages behind a login that answers 503 as often as `away` says, and a page that is open to all.
struct Away {
    hosts: Hosts,
    crawl: Crawl,
    away: Arc<AtomicU32>,
}

impl Away {
    /// The next `times` tries are answered with 503, and `fields`. One try is all that `fetch.retries` permits.
    fn new(times: u32, fields: &'static [(&'static str, &'static str)]) -> Away {
        let away = Arc::new(AtomicU32::new(times));
        let left = away.clone();
        let hosts = Hosts::start(2, move |asked| match asked.path.as_str() {
            "/robots.txt" => Answer::status(404),
            "/open" => Answer::page("<title>open to all</title>"),
            "/login" if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() => {
                fields.iter().fold(Answer::status(503), |answer, (name, value)| answer.with(name, *value))
            }
            "/login" => Answer::text("{}").with("set-cookie", "sid=in; Path=/"),
            _ if asked.cookie("sid") != Some("in") => Answer::status(401),
            "/in/" => Answer::page((1..=3).map(|page| format!("<a href=/in/{page}>{page}</a>")).collect::<String>()),
            path => Answer::page(format!("<title>{path}</title>")),
        });
        let (login, site) = (hosts.url(1, "/login"), hosts.url(1, "/in/"));
        let config = format!(
            "[network]\nallow = [\"127.0.0.0/8\"]\n[fetch]\nretries = 0\n[politeness]\n{RUSH}give_up = \"1s\"\n\
             linger = \"1s\"\n[[site]]\nprefix = \"{site}\"\n[[site.login]]\nurl = \"{login}\"\n\
             json = {{ user = \"me\" }}\nsuccess = {{ cookie = \"sid\", status = 200 }}\n"
        );
        let crawl = Crawl::new(&format!("{site}\n{}", hosts.url(1, "/open")), &config);
        Away { hosts, crawl, away }
    }

    /// Returns how many pages behind the login the archive has, and how many that need none.
    fn stored(&self) -> (usize, usize) {
        let good = self.crawl.stored().into_iter().filter(|(_, status)| *status == 200);
        let is_behind = |(url, _): &(String, u16)| url.starts_with(&self.hosts.url(1, "/in/"));
        let (behind, open): (Vec<_>, Vec<_>) = good.partition(is_behind);
        (behind.len(), open.len())
    }

    /// No page was given up because of the login.
    fn assert_none_is_skipped(&self) {
        let skipped = fs::read_to_string(self.crawl.path("crawl/logs/skipped.jsonl")).unwrap_or_default();
        assert!(!skipped.contains("login"), "{skipped}");
    }
}

#[test]
fn a_login_that_answers_again_after_more_tries_than_a_page_has_lets_the_crawl_in() {
    let site = Away::new(1, &[("retry-after", "16")]);
    site.crawl.run(&[]).expect(0, &["complete", "answered 503; tried again in 16s", "logged in at"]);
    assert_eq!(site.stored(), (4, 1));
    site.assert_none_is_skipped();
}

#[test]
fn a_login_that_is_away_for_good_costs_its_own_pages_only_and_the_next_start_asks_again() {
    let site = Away::new(u32::MAX, &[]);
    let ended = site.crawl.run(&[]);
    ended.expect(0, &["the crawl may end without its pages, which stay queued", "its login cannot be reached"]);
    assert_eq!(site.stored(), (0, 1), "the host goes on with what needs no login");
    site.assert_none_is_skipped();
    site.away.store(0, Relaxed);
    site.crawl.run(&[]).expect(0, &["complete", "logged in at"]);
    assert_eq!(site.stored(), (4, 1));
}
