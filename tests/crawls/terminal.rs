//! Views of people: the real binary on a terminal of 80 columns and 24 lines, and on a large one.
//!
//! The screens in docs/terminal-80x24.txt and docs/terminal-200x50.txt are recorded by
//! `CRAWLER_RECORD=1 cargo test --test crawls terminal::the_screens`.

pub mod screen;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::site::Crawl;
use crawler::simweb::{SimOptions, SimWeb};
use screen::Terminal;

/// The line of every run here.
const RUN: [&str; 4] = ["--seeds", "seeds.txt", "--config", "crawler.toml"];

struct Place {
    _web: SimWeb,
    seed: String,
    crawl: Crawl,
}

impl Place {
    fn of(options: SimOptions) -> Place {
        let web = SimWeb::start(options).unwrap();
        let config =
            format!("[crawl]\ncontact = \"https://example.org/bot\"\n\n[fetch]\nretries = 2\n\n{}", web.config_toml());
        let crawl = Crawl::new(&web.seeds().join("\n"), &config);
        Place { seed: web.seeds()[0].clone(), _web: web, crawl }
    }

    /// A web that takes some seconds.
    fn slow() -> Place {
        let latency = Duration::from_millis(20);
        Place::of(SimOptions { hosts: 40, pages: 2_000, latency, ..SimOptions::default() })
    }

    fn quick() -> Place {
        Place::of(SimOptions { hosts: 3, pages: 40, latency: Duration::ZERO, ..SimOptions::default() })
    }

    fn terminal(&self, args: &[&str], size: (u16, u16), environment: &[(&str, &str)]) -> Terminal {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(args).current_dir(self.crawl.dir.path()).env_remove("NO_COLOR").env("TERM", "xterm-256color");
        command.envs(environment.iter().copied());
        Terminal::start(command, size)
    }

    fn on_terminal(&self, args: &[&str]) -> Terminal {
        self.terminal(args, (24, 80), &[])
    }
}

/// The displays on a screen, each with its rows from `pages` to `disk`.
fn display(rows: &[String]) -> Vec<Vec<String>> {
    let is_first = |&row: &usize| rows[row].starts_with("pages    ");
    let names = ["pages", "left", "queue", "limited", "answers", "disk"];
    let whole = |first: usize| {
        let is_named = |row: &&String| names.iter().any(|name| row.starts_with(name));
        let shown: Vec<String> = rows[first..].iter().take_while(is_named).cloned().collect();
        shown.last().is_some_and(|row| row.starts_with("disk     ")).then_some(shown)
    };
    (0..rows.len()).filter(is_first).filter_map(whole).collect()
}

/// Returns whether the display shows answers.
fn shows_answers(rows: &[String]) -> bool {
    display(rows).first().is_some_and(|rows| rows.iter().any(|row| row.starts_with("answers") && row.contains(" OK")))
}

/// Rows of hosts below the figures.
fn hosts(rows: &[String]) -> usize {
    let is_host = |row: &&String| {
        ["now ", "next ", "in "].iter().any(|when| row.starts_with(when)) && row.contains(" queued  http")
    };
    rows.iter().filter(is_host).count()
}

#[test]
fn a_run_a_stop_a_resume_and_questions_look_as_they_should() {
    let place = Place::slow();
    let mut recording = String::new();
    let mut record = |line: &str, rows: &[String]| {
        recording += &format!("$ crawler {line}\n{}\n\n", rows.join("\n").trim_end());
    };

    let mut run = place.on_terminal(&RUN);
    run.until("the display shows answers", shows_answers);
    let rows = run.rows();
    assert_eq!(display(&rows).len(), 1, "{rows:#?}");
    assert!(rows.iter().any(|row| row.contains("a new crawl in ./crawl")), "{rows:#?}");
    record("--seeds seeds.txt --config crawler.toml", &rows);
    run.interrupt();
    assert_eq!(run.ended(), 11);
    let rows = run.rows();
    let finish = |row: &String| row.starts_with("finish reason") && row.contains("signal");
    assert!(rows.iter().any(finish), "the last screen does not tell why it ended: {rows:#?}");
    let resume = "crawler --seeds seeds.txt --dir ./crawl --config crawler.toml";
    assert!(run.all_text().contains(resume), "{}", run.all_text());
    record("--seeds seeds.txt --config crawler.toml     (Ctrl-C)", &rows);

    let mut resumed = place.on_terminal(&RUN);
    resumed.until("the resumed run says what it goes on from", |rows| {
        rows.iter().any(|row| row.contains("resuming the crawl in ./crawl")) && !display(rows).is_empty()
    });
    record("--seeds seeds.txt --config crawler.toml     (again)", &resumed.rows());
    assert_eq!(resumed.ended(), 0);
    let text = resumed.all_text();
    assert!(text.contains("resuming the crawl in ./crawl"), "{text}");

    let mut explain = place.on_terminal(&["explain", &place.seed]);
    assert_eq!(explain.ended(), 0);
    let text = explain.all_text();
    assert!(text.contains("was fetched") && text.contains("robots.txt"), "{text}");
    record(&format!("explain {}", place.seed), &explain.rows());

    let mut extract = place.on_terminal(&["extract", "--prefix", &place.seed]);
    assert_eq!(extract.ended(), 0);
    assert!(extract.all_text().starts_with("url"), "{}", extract.all_text());
    record(&format!("extract --prefix {}", place.seed), &extract.rows());
    let whole = [run.all_text(), resumed.all_text(), explain.all_text(), extract.all_text()].join("\n");
    assert_documents_show(&(whole + &recording));
    fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/recording.txt"), recording).unwrap();
}

/// Checks that docs/COMMANDS.md shows the rows that there are, by their names. Figures differ from run to run.
fn assert_documents_show(recorded: &str) {
    let commands = include_str!("../../docs/COMMANDS.md");
    let section = commands.split("\n## What it looks like\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    for command in ["--seeds", "explain", "extract"] {
        assert!(shown.iter().any(|line| line.starts_with(&format!("$ crawler {command}"))), "{command} is not shown");
    }
    // of a line of the log its words count, of a row its name, which is before figures
    let name = |line: &str| match line.split_once("Z  ") {
        Some((_, words)) => words.split(" (").next().unwrap().to_owned(),
        None => line.split("  ").next().unwrap().split(|c: char| c.is_ascii_digit()).next().unwrap().trim().to_owned(),
    };
    for line in shown.iter().filter(|line| !line.starts_with("$ ") && **line != "..." && !line.starts_with("http")) {
        let name = name(line);
        assert!(recorded.contains(&name), "docs/COMMANDS.md shows {line:?}, and there is no {name:?} in\n{recorded}");
    }
}

/// A screen without what differs from run to run: digits.
fn without_figures(rows: &[String]) -> String {
    rows.join("\n").chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[test]
fn the_screens_in_the_documentation_are_those_of_the_demo() {
    for (rows, columns, at_least, name) in [(24, 80, 4, "terminal-80x24.txt"), (50, 200, 9, "terminal-200x50.txt")] {
        let place = Place::quick();
        let mut demo = place.terminal(&["demo"], (rows, columns), &[]);
        let is_whole = |rows: &[String]| {
            // in the middle of the crawl
            let is_early = |row: &String| row.ends_with("elapsed 0s") || row.ends_with("elapsed 1s");
            let has = |words: &str| rows.iter().any(|row| row.starts_with(words));
            let is_told = has("left     about ") && has("limited  by ") && !rows.iter().any(is_early);
            is_told && shows_answers(rows) && hosts(rows) >= at_least
        };
        demo.until("figures and hosts", is_whole);
        // a screen that is being drawn has no end of a line at its end
        while !demo.bytes().ends_with(b"\n") {
            let length = demo.bytes().len();
            demo.until_more_than(length);
            demo.until("figures and hosts", is_whole);
        }
        let shown = demo.rows();
        assert_eq!(display(&shown).len(), 1, "{shown:#?}");
        assert!(shown.len() <= rows.into() && shown.iter().all(|row| row.chars().count() < columns.into()));
        let text = without_figures(&shown);
        for words in ["  hosts 0", " received  ", "queued URLs, more for new links", "elapsed 0s"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        // no number of a status or an error stands without words, and nothing frightens
        assert!(!["2xx", "4xx", "dropped", "WARN"].iter().any(|word| text.contains(word)), "{text}");
        demo.interrupt();
        assert_eq!(demo.ended(), 11);
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/");
        let screen = format!("$ crawler demo\n{}\n", shown.join("\n").trim_end());
        if std::env::var_os("CRAWLER_RECORD").is_some() {
            fs::write(format!("{docs}{name}"), &screen).unwrap();
        }
        let recorded = fs::read_to_string(format!("{docs}{name}")).unwrap();
        for row in ["pages    ", "left     about ", "queue    ", "limited  by ", "answers  ", "disk     ", "now  "] {
            assert!(recorded.lines().any(|line| line.starts_with(row)), "docs/{name} has no {row:?}");
        }
        assert!(recorded.lines().count() <= usize::from(rows) + 1, "docs/{name}");
    }
}

#[test]
fn a_pause_has_a_line_of_the_display_for_as_long_as_it_lasts() {
    let place = Place::slow();
    let mut run = place.on_terminal(&RUN);
    let state = |rows: &[String]| rows.iter().find(|row| row.starts_with("state ")).cloned();
    run.until("the display shows answers", shows_answers);
    assert_eq!(state(&run.rows()), None);
    let ctl = |word: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["ctl", word]).current_dir(place.crawl.dir.path()).output().unwrap()
    };
    let pause = ctl("pause");
    assert!(pause.status.success(), "{}", String::from_utf8_lossy(&pause.stderr));
    let paused = "state    paused: no new requests until crawler ctl resume";
    run.until("the pause shows", |rows| state(rows).as_deref() == Some(paused) && display(rows).len() == 1);
    assert!(ctl("resume").status.success());
    run.until("the pause is taken away", |rows| state(rows).is_none() && display(rows).len() == 1);
    run.interrupt();
    assert_eq!(run.ended(), 11);
}

#[test]
fn n30_the_demo_shows_the_live_display_between_its_words_and_can_be_stopped() {
    let place = Place::quick();
    let mut demo = place.on_terminal(&["demo"]);
    demo.until("the display shows answers", shows_answers);
    let rows = demo.rows();
    assert_eq!(display(&rows).len(), 1, "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("This demo needs no internet.")), "{rows:#?}");
    demo.interrupt();
    assert_eq!(demo.ended(), 11);
    assert!(demo.all_text().contains("so the result was not checked"), "{}", demo.all_text());
    assert!(place.crawl.path("crawl-demo/crawl/status.json").exists());
}

#[test]
fn what_is_no_text_does_not_reach_the_terminal() {
    let place = Place::of(SimOptions {
        hosts: 1,
        pages: 5,
        gzip_share: 1.0,
        latency: Duration::ZERO,
        ..SimOptions::default().smooth()
    });
    place.crawl.run(&[]).expect(0, &[]);
    for (args, words) in [
        (
            &["get", &place.seed, "--raw"][..],
            "and could upset the terminal; write it to a file: crawler get URL > FILE",
        ),
        (&["export", "warc"], "the output is not text: use --output FILE or a pipe"),
    ] {
        let mut run = place.on_terminal(args);
        assert_eq!(run.ended(), 2, "{args:?}");
        let text = run.all_text().replace('\n', "");
        assert!(text.contains(words), "{args:?}: {text}");
        assert!(run.bytes().iter().all(|&byte| byte == b'\r' || byte == b'\n' || (b' '..=b'~').contains(&byte)));
    }
    let mut get = place.on_terminal(&["get", &place.seed]);
    assert_eq!(get.ended(), 0);
    assert!(get.all_text().contains("<title>"), "{}", get.all_text());
}

#[test]
fn quiet_leaves_the_terminal_empty() {
    let place = Place::quick();
    // the second one resumes
    for limit in [&["--max-pages", "5"][..], &[]] {
        let mut run = place.on_terminal(&[&RUN[..], &["-q"], limit].concat());
        assert_eq!(run.ended(), 0);
        assert_eq!(run.all_text().trim(), "");
    }
}

#[test]
fn a_list_on_a_terminal_is_a_table_as_wide_as_that() {
    let place = Place::quick();
    place.crawl.run(&[]).expect(0, &[]);
    let mut list = place.terminal(&["list", "--limit", "5"], (24, 80), &[]);
    assert_eq!(list.ended(), 0);
    let rows = list.rows();
    assert!(rows[0].starts_with("status ") && rows[0].contains(" URL ") && rows[0].ends_with(" referrer"), "{rows:#?}");
    assert!(rows[1].starts_with("200 OK  ") && rows[1].contains("  http"), "{rows:#?}");
    assert!(rows[6..].iter().all(String::is_empty) && !rows[5].is_empty(), "{rows:#?}");
    assert_eq!(list.bytes().iter().filter(|&&byte| byte == b'\n').count(), 6);
}

#[test]
fn colours_go_when_they_are_not_wanted_and_all_movements_on_a_dumb_terminal() {
    for (environment, bold, moves) in
        [(&[][..], true, true), (&[("NO_COLOR", "1")], false, true), (&[("TERM", "dumb")], false, false)]
    {
        let place = Place::quick();
        let mut run = place.terminal(&RUN, (24, 80), environment);
        assert_eq!(run.ended(), 0);
        let bytes = String::from_utf8_lossy(&run.bytes()).into_owned();
        assert_eq!(bytes.contains("\x1b[1m"), bold, "{environment:?}: {bytes}");
        assert!(!bytes.contains("\x1b[3") || bold, "{environment:?}: {bytes}");
        assert_eq!(bytes.contains('\x1b'), moves, "{environment:?}: {bytes}");
    }
}

#[test]
fn a_narrow_terminal_keeps_no_torn_display() {
    let place = Place::slow();
    let mut run = place.terminal(&RUN, (24, 50), &[]);
    run.until("the display shows answers", shows_answers);
    for _ in 0..4 {
        let before = run.bytes().len();
        run.until_more_than(before);
    }
    run.until("one display", |rows| display(rows).len() == 1);
    assert_eq!(run.rows().iter().filter(|row| row.starts_with("pages    ")).count(), 1, "{:#?}", run.rows());
    run.interrupt();
    assert_eq!(run.ended(), 11);
}

#[test]
fn without_a_terminal_there_are_plain_lines() {
    let place = Place::quick();
    let config = fs::read_to_string(place.crawl.path("crawler.toml")).unwrap();
    fs::write(place.crawl.path("crawler.toml"), format!("[report]\ninterval = \"100ms\"\n\n{config}")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(RUN).current_dir(place.crawl.dir.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a new crawl in ./crawl") && said.contains("finish") && !said.contains('\x1b'), "{said}");
    assert!(output.stdout.is_empty());
}
