//! `crawler forget` on a running crawl: it goes over the socket, and counts at once.

use super::*;

#[test]
fn a_running_crawl_forgets_a_page_at_once_and_its_archive_stays_whole() {
    let site = site("");
    let crawl = &site.crawl;
    let child = listening(crawl, crawl.start(&[]));
    let get = |url: &str| command(crawl.dir.path(), &["get", "--dir", "crawl", url]).output().unwrap();
    let list = || command(crawl.dir.path(), &["list", "--dir", "crawl", "--status", "200"]).output().unwrap().stdout;
    until("no page is stored", || !list().is_empty());
    let listed = text(&list());
    let url = listed.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    assert_eq!(get(&url).status.code(), Some(0));
    let forget = |words: &[&str]| {
        let output = command(crawl.dir.path(), &[&["forget", "--dir", "crawl"], words].concat()).output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = forget(&[&url, "--reason", "it was asked for"]);
    assert!(code == Some(0) && said.contains("1 entry taken down"), "{said}");
    let (code, said) = forget(&[&url]);
    assert!(code == Some(0) && said.contains("nothing has changed"), "{said}");
    let (code, said) = forget(&[&url, "--now"]);
    assert!(code == Some(2) && said.contains("needs a stopped crawl"), "{said}");
    let output = get(&url);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("it was asked for"), "{}", text(&output.stderr));
    done(crawl, &["stop", "--wait"]);
    wait(child).expect(11, &[]);
    let (code, said) = forget(&[&url, "--now"]);
    assert!(code == Some(0) && said.contains("1 pages removed") || said.contains("0 pages removed"), "{said}");
    let verified = command(crawl.dir.path(), &["verify", "--dir", "crawl"]).output().unwrap();
    assert!(text(&verified.stdout).contains("no damage"), "{}", text(&verified.stdout));
}
