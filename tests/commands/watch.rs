//! Watches: people are told that a value of a page has changed, by the mail program of the system and by a webhook.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::changing::Pages;
use crate::posted::{field, server};
use crate::site::{Ended, wait_for};
use crate::tools::{Tool, has};

/// Keeps each mail, and the words with which it was called.
const SENDMAIL: &str = "#!/bin/sh\ncat > \"mail.$(ls mail.* 2>/dev/null | wc -l)\"\necho \"$@\" >> words\n";
/// Time after which a visit confirms.
const CONFIRM: Duration = Duration::from_millis(50);

fn shop(price: &str) -> String {
    let text = "A page of a shop, with a text that is long enough for a page that people read.";
    format!("<title>Shop</title><main><p>{text}</p><p class=price>{price}</p></main>")
}

/// A site with prices, watched by tables of the settings.
struct Watched {
    pages: Pages,
}

impl Watched {
    fn new(tables: &str) -> Watched {
        let pages = Pages::new(&[("/a", &shop("9.99")), ("/b", &shop("5 EUR")), ("/other", &shop("1"))]);
        let watched = Watched { pages };
        let sendmail = watched.dir().join("sendmail");
        fs::write(&sendmail, SENDMAIL).unwrap();
        fs::set_permissions(sendmail, Permissions::from_mode(0o700)).unwrap();
        watched.set(tables);
        watched
    }

    fn dir(&self) -> &Path {
        self.pages.crawl.dir.path()
    }

    fn set(&self, tables: &str) {
        let config = fs::read_to_string(self.dir().join("crawler.toml")).unwrap();
        let kept = config.split("[watch.").next().unwrap();
        fs::write(self.dir().join("crawler.toml"), format!("{kept}{tables}")).unwrap();
    }

    fn visit(&self) -> Ended {
        let ended = self.pages.crawl.run(&["--force"]);
        ended.expect(0, &["finish"]);
        ended
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(words).current_dir(self.dir()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    }

    /// The mails, in their order.
    fn mails(&self) -> Vec<String> {
        let mail = |number: usize| fs::read_to_string(self.dir().join(format!("mail.{number}"))).ok();
        (0..).map_while(mail).collect()
    }
}

const MAIL: &str = "mail = [\"me@example.org\", \"you@example.org\"]\nfrom = \"crawler@example.org\"\n\
                    sendmail = \"./sendmail\"\n";

#[test]
fn a_price_that_changes_is_told_once_by_mail_and_by_a_webhook() {
    let answers = &["503 Busy\r\nRetry-After: 1", "204 No Content", "204 No Content", "204 No Content"];
    let (url, server) = server(answers);
    let price = format!(
        "[watch.prices]\nurls = \"/[ab]$\"\nfield = {{ css = \".price\", type = \"number\" }}\nnew = true\n\
         confirm = \"0s\"\nwebhook = \"${{file:hook}}\"\n{MAIL}"
    );
    let watched = Watched::new(&price);
    let hook = watched.dir().join("hook");
    fs::write(&hook, url).unwrap();
    fs::set_permissions(hook, Permissions::from_mode(0o600)).unwrap();
    watched.visit();
    watched.visit();
    assert_eq!(watched.mails(), [""; 0]);

    // a page of which another part changes, one that changes and is watched, one that is not watched
    watched.pages.put("/a", &(shop("EUR 9,99") + "<p>more"));
    watched.pages.put("/b", &shop("4.50 EUR"));
    watched.pages.put("/other", &shop("2"));
    let said = watched.visit().said;
    assert!(said.contains("sink watch.prices: not delivered") && said.contains("503"), "{said}");
    watched.visit();
    let mails = watched.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    let block = format!("{}\n  was: 5\n  now: 4.5\n", watched.pages.url("/b"));
    assert!(mails[0].contains("Subject: prices: 1 change\n") && mails[0].contains(&block), "{}", mails[0]);
    let words = fs::read_to_string(watched.dir().join("words")).unwrap();
    assert_eq!(words, "-i -f crawler@example.org -- me@example.org you@example.org\n");

    // one that is new is told, and none that the operator had removed
    fs::write(watched.dir().join("seeds.txt"), watched.pages.url("/x/b")).unwrap();
    watched.pages.put("/x/b", &shop("77"));
    watched.visit();
    watched.run(&["forget", "--dir", "crawl", &watched.pages.url("/b")]);
    watched.run(&["sink", "run", "--dir", "crawl", "--config", "crawler.toml", "--once"]);
    let mails = watched.mails();
    assert_eq!(mails.len(), 2, "{mails:?}");
    assert!(mails[1].contains(&format!("{}\n  new: 77\n", watched.pages.url("/x/b"))), "{}", mails[1]);

    // the last answer waits for a message
    watched.pages.put("/x/b", &shop("78"));
    watched.visit();
    let got: Vec<Value> = server
        .join()
        .unwrap()
        .iter()
        .map(|(head, body)| {
            assert_eq!(field(head, "content-type"), "application/json");
            serde_json::from_slice(body).unwrap()
        })
        .collect();
    assert_eq!(got[0], got[1]);
    let change = &got[1]["changes"][0];
    assert_eq!((&got[1]["watch"], &got[1]["number"]), (&"prices".into(), &1.into()));
    assert_eq!((&change["change"], &change["before"], &change["now"]), (&"changed".into(), &"5".into(), &"4.5".into()));
    assert_eq!(change["url"], watched.pages.url("/b"));
    assert_eq!((&got[2]["changes"][0]["change"], &got[3]["changes"][0]["now"]), (&"new".into(), &"78".into()));
    let record = change["record"].as_str().unwrap();
    assert!(record.starts_with("<urn:uuid:"), "{record}");
}

#[test]
fn an_outage_whose_pages_say_so_is_no_storm_of_messages() {
    let watched = Watched::new(&format!("[watch.all]\nfield = \".price\"\nconfirm = \"1h\"\n{MAIL}"));
    watched.visit();
    for path in ["/a", "/b", "/other"] {
        watched.pages.put(path, "<title>Back soon</title><main><p>We are working on it, and will be back soon.</main>");
    }
    watched.visit();
    for (path, price) in [("/a", "9.99"), ("/b", "5 EUR"), ("/other", "3")] {
        watched.pages.put(path, &shop(price));
    }
    watched.visit();
    watched.visit();
    assert_eq!(watched.mails(), [""; 0]);

    // what is still so at a later visit is told, though the page has not changed since
    watched.set(&format!("[watch.all]\nfield = \".price\"\nconfirm = \"{}ms\"\n{MAIL}", CONFIRM.as_millis()));
    watched.pages.put("/a", &shop("10"));
    watched.visit();
    assert_eq!(watched.mails().len(), 0, "{:?}", watched.mails());
    thread::sleep(CONFIRM);
    watched.visit();
    // the time of the next look depends on the machine
    wait_for("the change is told", || {
        watched.run(&["sink", "run", "--dir", "crawl", "--config", "crawler.toml", "--once"]);
        watched.mails().iter().any(|mail| mail.contains("was: 9.99\n  now: 10\n"))
    });
}

#[test]
fn a_digest_is_one_message_at_the_end_of_a_run_and_reads_as_mail() {
    let watched = Watched::new(&format!("[watch.texts]\nconfirm = \"0s\"\ndigest = \"run\"\n{MAIL}"));
    watched.visit();
    watched.pages.put("/a", &shop("9.99 \u{2014} Gr\u{fc}\u{df}e"));
    watched.pages.put("/b", &shop(&"long ".repeat(1_000)));
    watched.visit();
    let mails = watched.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    if !has(Tool::Program("python3")) {
        return;
    }
    let script = "import email, email.policy\n\
                  mail = email.message_from_file(open('mail.0'), policy=email.policy.default)\n\
                  assert not mail.defects, mail.defects\n\
                  assert mail['date'].datetime.year > 2020 and mail['message-id']\n\
                  names = ['from', 'to', 'subject', 'auto-submitted']\n\
                  print(*[mail[name] for name in names], mail.get_content_type(), sep='|')\n\
                  print(mail.get_content())";
    let output = Command::new("python3").args(["-c", script]).current_dir(watched.dir()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = "crawler@example.org|me@example.org, you@example.org|texts: 2 changes|auto-generated|text/plain\n";
    assert!(said.starts_with(expected), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("\u{2014} Gr\u{fc}\u{df}e") && said.contains("long long"), "{said}");
}

#[test]
fn settings_by_which_nobody_is_told_are_refused_with_their_line() {
    for (table, problem) in [
        ("field = \".price\"", "nobody is told"),
        ("mail = [\"me@example.org\"]", "mail needs a sender"),
        ("mail = [\"-oQ@example.org\"]\nfrom = \"me@example.org\"", "is no mail address"),
        ("webhook = \"https://hooks.example/T/SECRET\"", "its URL is a secret"),
        ("webhook = \"${NOBODY_SET_THIS}\"", "NOBODY_SET_THIS is not set"),
        ("field = \"p >\"\nwebhook = \"${A}\"", "is not a CSS selector"),
        ("field = 5\nwebhook = \"${A}\"", "must be a selector"),
        ("urls = \"(\"\nwebhook = \"${A}\"", "urls: "),
        ("confirm = \"soon\"\nwebhook = \"${A}\"", "must be a duration"),
        ("digest = \"weekly\"\nwebhook = \"${A}\"", "must be a duration"),
        ("form = \"pager\"\nwebhook = \"${A}\"", "unknown variant"),
        ("mails = []", "unknown field"),
    ] {
        let watched = Watched::new(&format!("[watch.w]\n{table}\n"));
        let ended = watched.pages.crawl.run(&[]);
        ended.expect(2, &[problem]);
        assert!(!ended.said.contains("SECRET"), "{}", ended.said);
    }
}
