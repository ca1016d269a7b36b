//! The rows of RFC 9309 and of what other crawlers got wrong; and our matcher checked against the one of
//! `texting_robots`.

use std::time::Duration;

use texting_robots::Robot;

use super::{CRAWL_DELAY_MAX, RobotsRules, whole_lines};

fn rules(file: &str) -> RobotsRules {
    RobotsRules::parse("ourbot", file.as_bytes())
}

fn for_all(lines: &str) -> RobotsRules {
    rules(&format!("User-agent: *\n{lines}"))
}

#[test]
fn r1_the_longest_match_decides_and_allow_wins_a_tie() {
    let found = for_all("Disallow: /\nAllow: /p");
    assert!(found.allows("/p") && found.allows("/page") && !found.allows("/") && !found.allows("/P"));
    for lines in ["Allow: /a\nDisallow: /a", "Disallow: /a\nAllow: /a"] {
        assert!(for_all(lines).allows("/a/b"), "{lines}");
    }
    let found = for_all("Disallow: /a*b\nAllow: /a");
    assert!(!found.allows("/axb") && found.allows("/ax"));
    assert!(!for_all("Disallow: /x").allows("/x") && for_all("Disallow: /x").allows("/a/x"));
}

#[test]
fn r1_robots_txt_itself_is_always_allowed() {
    let found = for_all("Disallow: /");
    assert!(found.allows("/robots.txt") && found.allows("http://h:81/robots.txt"));
    assert!(!found.allows("/robots.txt.bak") && !found.allows("/a/robots.txt") && !found.allows("http://h"));
}

#[test]
fn r2_groups_of_the_same_token_are_merged() {
    let found =
        rules("User-agent: ourbot\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: OurBot\nDisallow: /b");
    assert!(!found.allows("/a") && !found.allows("/b") && found.allows("/x"));
    let found = rules("User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: *\nDisallow: /b");
    assert!(!found.allows("/a") && !found.allows("/b") && found.allows("/x"));
}

#[test]
fn r2_a_named_group_inherits_nothing_and_no_group_allows_all() {
    let found = rules("User-agent: *\nDisallow: /a\n\nUser-agent: ourbot\nDisallow: /b");
    assert!(found.allows("/a") && !found.allows("/b"));
    assert!(!rules("User-agent: ourbot\n\nUser-agent: *\nDisallow: /").allows("/a"), "one group of two names");
    assert!(rules("User-agent: *\nDisallow: /\nUser-agent: ourbot\nDisallow:").allows("/a"));
    assert!(rules("User-agent: x\nDisallow: /").allows("/a"));
    assert!(rules("").allows("/a"));
}

#[test]
fn r2_rules_before_any_group_are_ignored() {
    assert!(rules("Disallow: /\nCrawl-delay: 9\nUser-agent: *\nDisallow: /a").allows("/b"));
    assert_eq!(rules("Disallow: /\nCrawl-delay: 9\nUser-agent: *\nDisallow: /a").crawl_delay(), None);
    assert!(rules("Disallow: /").allows("/b"));
}

#[test]
fn r3_other_lines_do_not_end_a_group() {
    for between in ["Sitemap: http://h/s.xml", "Crawl-delay: 3", "", "   ", "# x", "Host: h", "nonsense"] {
        let found = rules(&format!("User-agent: ourbot\n{between}\nDisallow: /a\n{between}\nDisallow: /b"));
        assert!(!found.allows("/a") && !found.allows("/b"), "{between}");
        for names in [["*", "Googlebot"], ["Googlebot", "*"]] {
            let file = format!("User-agent: {}\n{between}\nUser-agent: {}\nDisallow: /a", names[0], names[1]);
            assert!(!rules(&file).allows("/a"), "{file}");
            assert!(!RobotsRules::parse("googlebot", file.as_bytes()).allows("/a"), "{file}");
        }
    }
}

#[test]
fn r4_a_longer_name_is_another_robot() {
    for name in ["ourbot-legacy", "ourbot2", "ourbot_x", "ourbo", "notourbot", "5emeRue", ""] {
        assert!(rules(&format!("User-agent: {name}\nDisallow: /")).allows("/a"), "{name}");
    }
    for name in ["ourbot/1.0", "OURBOT", "ourbot (x)", "ourbot # x", "  ourbot  "] {
        assert!(!rules(&format!("User-agent: {name}\nDisallow: /")).allows("/a"), "{name}");
    }
}

#[test]
fn r4_a_name_that_is_no_token_opens_a_group_that_is_discarded() {
    let found = rules("User-agent: ourbot\nDisallow: /a\nUser-agent: 5emeRue\nDisallow: /b");
    assert!(!found.allows("/a") && found.allows("/b"));
}

#[test]
fn r5_percent_encoding_is_normalised_on_both_sides() {
    for (pattern, url) in [
        ("/a/%62%61%7A", "/a/baz"),
        ("/a/baz", "/a/%62%61%7a"),
        ("/ツ", "/%E3%83%84"),
        ("/%e3%83%84", "/ツ"),
        ("/a?b=%7Ec", "/a?b=~c"),
        ("/%2A", "/%2a"),
        ("/%2A", "/*"),
        ("/a%24", "/a$b"),
        ("/a|b", "/a%7Cb"),
        ("/100%", "/100%25"),
        ("/a$b", "/a$b"),
        ("/*%2F*", "/x%2fy"),
    ] {
        assert!(!for_all(&format!("Disallow: {pattern}")).allows(url), "{pattern} {url}");
    }
    for (pattern, url) in [("/%2A", "/x"), ("/a%24", "/a"), ("/*%2F*", "/x/y"), ("/%2F", "//"), ("/a%3Fb", "/a?b")] {
        assert!(for_all(&format!("Disallow: {pattern}")).allows(url), "{pattern} {url}");
    }
}

#[test]
fn r6_marks_line_ends_and_broken_bytes_are_no_obstacle() {
    for end in ["\n", "\r", "\r\n", "\n\n"] {
        let file = ["\u{feff}User-agent: ourbot", "Disallow: /a", "Disallow: /b"].join(end);
        assert!(!rules(&file).allows("/a") && !rules(&file).allows("/b"), "{end:?}");
    }
    let file = b"User-agent: *\nDisallow: /\xff\xfe\n\xc3\x28: \xff\nDisallow: /a\0Disallow: /b";
    let found = RobotsRules::parse("ourbot", file);
    assert!(!found.allows("/a") && !found.allows("/b") && !found.allows("/%FF%FEx") && found.allows("/c"));
}

#[test]
fn r7_half_a_megabyte_of_rules_is_obeyed_to_its_end() {
    let mut file = "User-agent: *\n".to_owned();
    while file.len() < 500 * 1024 - 40 {
        file.push_str(&format!("Disallow: /private/{}/\n", file.len()));
    }
    file.push_str("Disallow: /last");
    let found = rules(&file);
    assert!(!found.allows("/last") && found.allows("/other"));
    let long = format!("User-agent: *\nDisallow: /{}\nDisallow: /b", "a".repeat(400_000));
    assert!(!rules(&long).allows("/b"));
}

#[test]
fn r12_stars_without_end_take_no_time() {
    let url = format!("/{}", "a".repeat(60_000));
    for pattern in [
        format!("/{}/", "*".repeat(10_000)),
        format!("/{}b$", "a*".repeat(10_000)),
        format!("/{}b", "*a".repeat(10_000)),
    ] {
        assert!(for_all(&format!("Disallow: {pattern}")).allows(&url));
    }
    assert!(!for_all("Disallow: /***a***a***$").allows(&url));
}

#[test]
fn r13_a_line_of_one_space_is_no_obstacle() {
    let found = rules("User-agent: *\nDisallow: /a\n \nSitemap: http://h/s.xml");
    assert_eq!(found.sitemaps(), ["http://h/s.xml"]);
    assert!(!found.allows("/a"));
}

#[test]
fn r14_an_end_mark_belongs_to_the_whole_pattern() {
    let found = for_all("Disallow: /fish*$");
    assert!(found.allows("/shark/fish") && !found.allows("/fish") && !found.allows("/fish/x"));
    let found = for_all("Disallow: /*.php$");
    assert!(
        !found.allows("/a.php") && !found.allows("/a.php.php") && found.allows("/a.php?x") && found.allows("/a.php5")
    );
    let found = for_all("Disallow: /a$");
    assert!(!found.allows("/a") && found.allows("/ab"));
    assert!(!for_all("Disallow: *$").allows("/x") && !for_all("Disallow: *").allows("/x"));
    let found = for_all("Disallow: /a*b*ab$");
    assert!(found.allows("/ab") && found.allows("/abb") && !found.allows("/abab"));
}

#[test]
fn r15_delays_are_read_or_ignored_but_never_shortened() {
    let delay = |line: &str| for_all(line).crawl_delay();
    assert_eq!(delay("Crawl-delay: 4.2"), Some(Duration::from_millis(4200)));
    assert_eq!(delay("crawl-DELAY : 10 # x"), Some(Duration::from_secs(10)));
    for garbage in ["x", "-5", "NaN", "", "1,5", "5s", "\u{0665}"] {
        assert_eq!(delay(&format!("Crawl-delay: {garbage}")), None, "{garbage}");
    }
    for huge in ["1e30", "1e60", "inf", "99999999999999999999"] {
        assert_eq!(delay(&format!("Crawl-delay: {huge}")), Some(CRAWL_DELAY_MAX), "{huge}");
    }
    assert_eq!(delay("Crawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3"), Some(Duration::from_secs(7)));
    assert_eq!(delay("Request-rate: 1/30"), Some(Duration::from_secs(30)));
    assert_eq!(delay("Request-rate: 2/5m 0600-0845"), Some(Duration::from_secs(150)));
    assert_eq!(delay("Request-rate: 1/10\nCrawl-delay: 4"), Some(Duration::from_secs(10)));
    for garbage in ["0/5", "1/", "/5", "1", "1/x", "a/b", "-1/5"] {
        assert_eq!(delay(&format!("Request-rate: {garbage}")), None, "{garbage}");
    }
}

#[test]
fn r15_a_named_group_never_takes_the_delay_of_all() {
    let file = "User-agent: *\nCrawl-delay: 9\nDisallow: /a\nUser-agent: ourbot\nDisallow: /b";
    assert_eq!(rules(file).crawl_delay(), None);
    assert_eq!(RobotsRules::parse("x", file.as_bytes()).crawl_delay(), Some(Duration::from_secs(9)));
    let file = "User-agent: bingbot\nCrawl-delay: 9\nUser-agent: *\nDisallow: /a";
    assert_eq!(rules(file).crawl_delay(), None, "the delay stands before our name");
    assert!(!rules(file).allows("/a"));
}

#[test]
fn sitemaps_concern_all_agents_wherever_they_stand() {
    let found = rules(
        "Sitemap: http://h/1.xml\nUser-agent: x\nSITE-MAP: /2.xml # x\nDisallow: /\nSitemap:\nsitemap http://h/3",
    );
    assert_eq!(found.sitemaps(), ["http://h/1.xml", "/2.xml", "http://h/3"]);
    assert!(rules(&"Sitemap: /s\n".repeat(50_000)).sitemaps().len() <= 1000);
}

#[test]
fn misspelt_fields_and_missing_colons_are_understood() {
    let found = rules("useragent ourbot\ndissallow /a\nDisalow: /b\nDisallow /c:d\nDisallow: e");
    for url in ["/a", "/b", "/c:d", "/e"] {
        assert!(!found.allows(url), "{url}");
    }
    assert!(found.allows("/c") && found.allows("/"));
}

#[test]
fn an_absolute_url_is_judged_by_its_path_and_query() {
    let found = for_all("Disallow: /a?b\nDisallow: /c\nDisallow: /?q");
    for (url, allowed) in [
        ("http://h:81/a?b=1", false),
        ("https://h/a", true),
        ("http://h/c#/x", false),
        ("http://h?q", false),
        ("http://h", true),
        ("/x?u=http://h/c", true),
        ("", true),
    ] {
        assert_eq!(found.allows(url), allowed, "{url}");
    }
}

#[test]
fn compiled_rules_come_back_from_their_bytes() {
    for found in [
        RobotsRules::allow_all(),
        for_all("Disallow: /"),
        for_all("Crawl-delay: 0\nDisallow: /a\nAllow: /a/*$\nSitemap: http://h/ü"),
        for_all("License: http://h/ü\nLicense: https://h/l"),
        for_all("Content-Signal: ai-train=no\nDisallow: /a\nLicense: https://h/l"),
    ] {
        let mut bytes = Vec::new();
        found.encode(&mut bytes);
        assert_eq!(RobotsRules::decode(&bytes), Some(found.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(RobotsRules::decode(&bytes[..cut]), None);
        }
        bytes.push(0);
        assert_eq!(RobotsRules::decode(&bytes), None);
        let mut short = Vec::new();
        found.encode_rules(&mut short);
        let without = RobotsRules { sitemaps: Vec::new(), ..found };
        assert_eq!(RobotsRules::decode(&short), Some(without));
    }
}

#[test]
fn no_bytes_make_parser_or_decoder_panic() {
    let file = b"User-agent: *\nDisallow: /a*b$\nAllow: /%41\nCrawl-delay: 4.2\nRequest-rate: 1/5m\n\
                 Sitemap: http://h/\nLicense: http://h/l\n";
    for seed in 0..3_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut mutated = file.to_vec();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..mutated.len());
            mutated[at] = random.u8(..);
        }
        let found = RobotsRules::parse("ourbot", &mutated);
        found.allows(&String::from_utf8_lossy(&mutated));
        let mut bytes = Vec::new();
        found.encode(&mut bytes);
        assert_eq!(RobotsRules::decode(&bytes), Some(found), "seed {seed}");
        let at = random.usize(..bytes.len());
        bytes[at] = random.u8(..);
        if let Some(found) = RobotsRules::decode(&bytes) {
            found.allows("/abc");
        }
    }
}

/// A file of which both must think the same. Left out are the known differences:
/// - escapes of unreserved characters, and escaped `*` and `$` (it compares escapes as they are);
/// - a `$` before the end of a pattern (it takes it for the end);
/// - `Disallow:` without a path (it takes it for `Allow: /`), and paths without `/` (it never matches them);
/// - rules before any group (it takes them for its own where there is no group at all);
/// - names with a version (it compares the whole line), and delays (it takes the first, and those before any group);
/// - groups that are separated by a delay alone (it begins a new one);
/// - `/` and its escape behind a `?` (to it they are never the same).
fn generated_file(random: &mut fastrand::Rng) -> String {
    const PIECES: [&str; 9] = ["/", "a", "b", "ab", "*", "c", "?", "=", "%2F"];
    let mut file = String::new();
    for _ in 0..random.usize(1..4) {
        for _ in 0..random.usize(1..3) {
            file.push_str(&format!("User-agent: {}\n", ["*", "ourbot", "other", "OurBot"][random.usize(..4)]));
        }
        for _ in 0..random.usize(1..6) {
            file.push_str(["Allow: /", "Disallow: /", "Disallow: /", "disallow:/"][random.usize(..4)]);
            let pattern: String = (0..random.usize(..6)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
            file.push_str(&pattern);
            file.push_str(["", "", "", "$", " # x", "\n", "\r"][random.usize(..7)]);
            file.push('\n');
        }
    }
    file
}

#[test]
fn generated_files_mean_the_same_to_texting_robots() {
    const PIECES: [&str; 7] = ["/", "a", "b", "c", "?", "=", "%2F"];
    for seed in 0..3_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let file = generated_file(&mut random);
        let (ours, theirs) = (rules(&file), Robot::new("ourbot", file.as_bytes()).unwrap());
        for _ in 0..12 {
            let path: String = (0..random.usize(..8)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
            if path.split_once('?').is_some_and(|(_, query)| query.contains(['/', '%'])) {
                continue;
            }
            let url = format!("http://h/{path}");
            assert_eq!(ours.allows(&url), theirs.allowed(&url), "seed {seed}: {url}\n{file}");
        }
    }
}

#[test]
fn the_known_differences_to_texting_robots_are_still_there() {
    for (file, url) in [
        ("User-agent: *\nDisallow: /%62", "/b"),
        ("User-agent: *\nDisallow: /%2A", "/*"),
        ("User-agent: *\nDisallow: /a$b", "/a$b"),
        ("User-agent: *\nDisallow:\nDisallow: /", "/a"),
        ("User-agent: *\nDisallow: a", "/a"),
        ("Disallow: /a", "/a"),
        ("User-agent: ourbot/1.0\nDisallow: /a", "/a"),
        ("User-agent: ourbot\nCrawl-delay: 1\nUser-agent: x\nDisallow: /a", "/a"),
    ] {
        let theirs = Robot::new("ourbot", file.as_bytes()).unwrap().allowed(url);
        assert_ne!(rules(file).allows(url), theirs, "{file}");
    }
}

#[test]
fn a_file_that_ends_early_is_read_up_to_its_last_whole_line() {
    let body = b"User-agent: *\nDisallow: /a\r\nDisallow: /b";
    let read = |is_cut, bytes_max| {
        let lines = whole_lines(body, None, is_cut, bytes_max).unwrap();
        (String::from_utf8(lines.text.into_owned()).unwrap(), lines.is_whole)
    };
    let cut = "User-agent: *\nDisallow: /a\r".to_owned();
    assert_eq!(read(false, 100), (String::from_utf8(body.to_vec()).unwrap(), true));
    assert_eq!(read(true, 100), (cut.clone(), true));
    assert_eq!(read(false, body.len() - 1), (cut, false));
    assert_eq!(read(false, 5), (String::new(), false));
}

#[test]
fn a_file_that_cannot_be_decoded_has_no_lines() {
    use std::io::Write;
    let file = b"User-agent: *\nDisallow: /a\n";
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&file.repeat(40)).unwrap();
    let gzip = encoder.finish().unwrap();
    let damaged = [&gzip[..gzip.len() - 8], &[0; 8]].concat();
    let text = |body: &[u8], coding: Option<&str>, is_cut: bool| {
        whole_lines(body, coding, is_cut, 10_000).map(|lines| lines.text.into_owned())
    };
    for coding in
        ["gzip", "x-gzip", "br", "deflate", "zstd", "gzip, aws-chunked", "br,gzip", "gzip,gzip,gzip,gzip,gzip"]
    {
        assert_eq!(text(file, Some(coding), false), None, "{coding} over a plain body");
        assert_eq!(text(&gzip[..gzip.len() / 2], Some(coding), false), None, "{coding} over half a body");
        assert_eq!(text(file, Some(coding), true), None, "{coding} over a plain body that was cut");
    }
    assert_eq!(text(&damaged, Some("gzip"), false), None, "a wrong checksum");
    assert_eq!(text(&damaged, None, false), None, "a damaged file");
    // a name that is no coding means none, if what came is text
    for word in ["aws-chunked", "utf-8", "text/plain", "rot13"] {
        assert_eq!(text(file, Some(word), false).unwrap(), file, "{word}");
        assert_eq!(text(b"\x00\x01\x02", Some(word), false), None, "{word} over what is no text");
    }
    assert_eq!(text(&gzip, Some("compress"), false).unwrap(), file.repeat(40), "gzip by another name");
    assert_eq!(text(&gzip, None, false).unwrap(), file.repeat(40), "a gzipped file");
    assert_eq!(text(b"", Some("gzip"), false).unwrap(), b"", "an empty file has no coding");
    let cut = text(&gzip[..gzip.len() - 9], Some("gzip"), true).unwrap();
    assert!(cut.starts_with(b"User-agent: *\nDisallow: /a\n"), "what was cut at a limit is read up to it");
}
