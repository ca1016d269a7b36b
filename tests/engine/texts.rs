//! A site that says the same under ever new URLs stops at the budget of its text, over kills too, and says so; its
//! other pages are followed.

use super::*;
use crawler::checkpoint;
use crawler::outcome::Reason;

/// Pages of one text that are followed.
const FOLLOWED: usize = 10;
/// Links of each page of the maze, none of which any other page has.
const FAN: usize = 3;
const ARTICLES: usize = 30;

struct Maze;

/// A word without a digit.
fn word(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

fn number(word: &str) -> usize {
    word.bytes().fold(0, |number, letter| 10 * number + usize::from(letter - b'a'))
}

impl Web for Maze {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        let of = |part: &str| url.path().strip_prefix(part).map(number);
        if url.path() == "/robots.txt" {
            return (404, String::new());
        }
        if let Some(place) = of("/maze/") {
            let links: Vec<_> = (1..=FAN).map(|n| format!("/maze/{}", word(FAN * place + n))).collect();
            let text = "<p>Nothing was found in any of the rooms of this house. <img src=/picture.png>";
            return (200, format!("{text}<p>Seen {place} times{}", body(&links)));
        }
        if let Some(place) = of("/article/") {
            let text: Vec<_> = (0..20).map(|n| word(1_000 + 20 * place + n)).collect();
            let next = (place + 1 < ARTICLES).then(|| format!("/article/{}", word(place + 1)));
            return (200, format!("<p>{}{}", text.join(" "), body(&next.into_iter().collect::<Vec<_>>())));
        }
        match url.path() {
            "/" => (200, body(&["/maze/b".to_owned(), "/article/a".to_owned()])),
            _ => (200, String::new()),
        }
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.pages_per_text = Some(FOLLOWED as u64);
        frontier.politeness.delay_min = Duration::from_millis(10);
    }
}

#[test]
fn a_maze_of_one_text_stops_at_its_budget_also_over_kills() {
    for kills in [0, 1, 5] {
        let dir = tempfile::tempdir().unwrap();
        let mut now = Time::from_ms(1_000_000_000_000);
        let mut asked = Vec::new();
        for _ in 0..kills {
            let mut run = open_at(Rc::new(Maze), dir.path(), now);
            assert_eq!(run.go(12), None);
            now = run.clock.now();
            asked.extend(run.requests());
        }
        let mut run = open_at(Rc::new(Maze), dir.path(), now);
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete), "{kills} kills");
        asked.extend(run.requests());
        let mut pages = pages_of(&asked);
        pages.dedup();
        let count = |part: &str| pages.iter().filter(|page| page.contains(part)).count();
        assert_eq!(count("/article/"), ARTICLES, "{kills} kills");
        let stored = 1 + FOLLOWED * FAN;
        assert_eq!((count("/maze/"), count("/picture.png")), (stored, 1), "{kills} kills");
        let dropped = &run.engine.figures().statistics().dropped;
        assert_eq!(dropped[&Reason::Text], ((stored - FOLLOWED) * FAN) as u64, "{kills} kills");
        let skipped = std::fs::read_to_string(SkippedLog::path(dir.path())).unwrap();
        let rule = "scope.max_pages_per_text = 10: http://h0.test/maze/";
        let line = format!(r#""reason":"on one of many pages of one text","rule":"{rule}"#);
        assert!(skipped.contains(&line), "{skipped}");
        let log = std::fs::read_to_string(CrawlLog::path(dir.path())).unwrap();
        assert!(log.lines().any(|line| line.contains("/maze/") && line.ends_with(" sameText")), "{log}");
    }
}

/// The same site without the rule.
struct Unlimited;

impl Web for Unlimited {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        Maze.answer(url, now)
    }
}

#[test]
fn without_the_rule_a_maze_goes_on_and_checkpoints_have_no_section_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Unlimited), dir.path(), Time::from_ms(1_000_000_000_000));
    assert_eq!(run.go(120), None);
    assert!(!run.engine.figures().statistics().dropped.contains_key(&Reason::Text));
    let (_, sections) = checkpoint::newest(&Disk::real(), dir.path()).unwrap().unwrap();
    assert!(sections.texts.is_empty());
}
