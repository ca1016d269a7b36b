//! Retention with the real binary: what `compact` and `forget` take out of an archive, and what the crawl does then.

use super::*;

/// Editions 1 to 3 of two pages, each crawled by itself.
fn three_editions() -> Place {
    let place = Place::new(&["/page", "/dated"]);
    for edition in 1..=3 {
        place.site.lock().unwrap().edition = edition;
        place.crawl(if edition == 1 { &[] } else { &["--force"] });
    }
    place
}

fn refused(place: &Place, args: &[&str], code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(args).current_dir(place.dir.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

fn requests_of(place: &Place, path: &str) -> usize {
    let start = format!("GET {path} ");
    place.site.lock().unwrap().requests.iter().filter(|head| head.starts_with(&start)).count()
}

#[test]
fn old_versions_are_compacted_away_and_every_command_reads_the_rest() {
    let place = three_editions();
    let versions = || place.text(&["list", "--all", "--prefix", &place.url("/page"), "--json"]).lines().count();
    let before = versions();
    assert!(before >= 2, "{before}");
    let would = place.text(&["compact", "--dry-run", "--keep", "1", "--dir", "crawl"]);
    assert!(would.contains("pages would go"), "{would}");
    assert_eq!(versions(), before, "a dry run changes nothing");
    assert!(place.text(&["compact", "--quiet"]).starts_with("0 pages removed"), "the default keeps everything");
    let was = place.text(&["compact", "--keep", "1"]);
    assert!(was.contains("freed") && !was.starts_with("0 pages"), "{was}");
    assert_eq!(versions(), 1);
    assert!(place.text(&["get", &place.url("/page")]).contains("edition 3 of /page"));
    assert!(place.text(&["verify"]).contains("no damage"));
    // the index is rebuilt with what was removed, and the crawl goes on
    assert!(place.text(&["verify", "--rebuild"]).contains("no damage"));
    place.site.lock().unwrap().edition = 4;
    place.crawl(&["--force"]);
    assert_eq!(versions(), 2);
    assert!(place.text(&["verify"]).contains("no damage"));
    assert!(refused(&place, &["compact", "--keep", "0"], 2).contains("250"));
    assert!(refused(&place, &["compact", "--keep", "some"], 2).contains("90d"));
}

#[test]
fn a_forgotten_page_is_gone_for_good_and_is_not_fetched_until_that_is_taken_back() {
    let place = three_editions();
    let url = place.url("/page");
    let said = place.text(&["forget", &url, "--reason", "case 12", "--now", "--dir", "crawl"]);
    assert!(said.contains("1 of 1 entries taken down\n") && said.contains("pages removed"), "{said}");
    let why = refused(&place, &["get", &url], 1);
    assert!(why.contains("forgotten on") && why.contains("case 12"), "{why}");
    assert!(!place.text(&["list", "--all"]).contains("/page"));
    assert!(!place.text(&["export", "urls"]).contains("/page"));
    assert!(place.text(&["explain", &url]).contains("crawler forget"));
    for record in records(&place.dir.path().join("crawl/pages")) {
        assert!(!record.block.windows(8).any(|part| part == b"of /page"), "{record:?}");
    }
    assert!(place.text(&["verify"]).contains("no damage"));
    let before = requests_of(&place, "/page");
    place.crawl(&["--force"]);
    assert_eq!(requests_of(&place, "/page"), before, "it is not fetched");
    assert_eq!(requests_of(&place, "/dated"), 4, "others are");
    place.text(&["forget", "--undo", &url]);
    place.crawl(&["--force"]);
    assert_eq!(requests_of(&place, "/page"), before + 1);
    assert!(place.text(&["get", &url]).contains("edition 3 of /page"));
    let acts = place.text(&["forget", "--list"]);
    assert_eq!(acts.lines().count(), 2, "{acts}");
    assert!(acts.contains("case 12") && acts.contains("\"undo\":true"), "{acts}");
}

#[test]
fn with_a_url_go_all_spellings_of_the_page_and_what_stands_beside_it_is_named() {
    let place = Place::new(&["/page?utm_source=a", "/moved", "/%7Euser"]);
    place.site.lock().unwrap().edition = 1;
    place.crawl(&[]);
    // the page that a redirect leads to stays
    let said = place.text(&["forget", &place.url("/moved")]);
    let target = place.url("/page?utm_source=a");
    assert!(said.contains(&format!("not taken down, where it redirects to: {target}\n")), "{said}");
    assert!(place.text(&["list", "--all"]).contains("/page?utm_source=a"));
    // nobody knows in which spelling the crawl has met it
    let said = place.text(&["forget", &place.url("/page"), "--now"]);
    assert!(said.contains(&format!("also taken down, the same page: {target}\n")), "{said}");
    assert!(said.contains("2 of 2 entries taken down"), "{said}");
    let said = place.text(&["forget", &place.url("/~user"), "--now"]);
    assert!(said.contains(&format!("the same page: {}", place.url("/%7Euser"))), "{said}");
    assert_eq!(place.text(&["list", "--all", "--prefix", &place.url("/p")]), "");
    assert!(refused(&place, &["get", &target], 1).contains("forgotten on"));
    for record in records(&place.dir.path().join("crawl/pages")) {
        assert!(!record.block.windows(8).any(|part| part == b"of /page"), "{record:?}");
    }
    let before = requests_of(&place, "/page?utm_source=a");
    place.crawl(&["--force"]);
    assert_eq!(requests_of(&place, "/page?utm_source=a"), before, "it is not fetched");
    // taken back as it was taken down
    let said = place.text(&["forget", "--undo", &place.url("/page")]);
    assert!(said.contains(&format!("also taken back, the same page: {target}\n")), "{said}");
    place.crawl(&["--force"]);
    assert_eq!(requests_of(&place, "/page?utm_source=a"), before + 1);
    assert!(place.text(&["verify"]).contains("no damage"));
}

#[test]
fn a_prefix_is_forgotten_as_a_whole_and_must_not_reach_into_other_hosts() {
    let place = three_editions();
    assert!(refused(&place, &["forget", "--prefix", "http://127.0.0.1"], 2).contains("behind the host"));
    place.text(&["forget", "--prefix", &place.url("/")]);
    assert_eq!(place.text(&["list", "--all"]), "");
    place.text(&["compact"]);
    assert!(place.text(&["verify"]).contains("no damage"));
}
