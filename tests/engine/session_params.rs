//! A forum that gives each visitor without cookies a new session with each answer is crawled once, over kills too, and
//! says why; pages that are met later are fetched.

use super::*;
use crawler::outcome::Reason;

/// Topics of the forum, on pages of its index by twenty.
const TOPICS: usize = 60;

/// A way to write a session into a URL, where it makes no other page.
type Spelling = fn(path: &str, session: &str) -> String;

struct Forum {
    spelling: Spelling,
    asked: Cell<u64>,
}

fn in_the_query(path: &str, session: &str) -> String {
    format!("{path}{}sid={session}", if path.contains('?') { '&' } else { '?' })
}

fn in_the_path(path: &str, session: &str) -> String {
    format!("/(S({session})){path}")
}

/// A word without a digit.
fn word(number: u64) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// The path without its session.
fn plain(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| &rest[rest.find('/').unwrap_or(rest.len())..]);
    let path = match path.strip_prefix("/(S(").and_then(|rest| rest.split_once("))")) {
        Some((_, rest)) => rest,
        None => path,
    };
    path.split("sid=").next().unwrap_or_default().trim_end_matches(['?', '&']).to_owned()
}

impl Web for Forum {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        if url.path() == "/robots.txt" {
            return (404, String::new());
        }
        let session = format!("{:016x}", self.asked.replace(self.asked.get() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let at = plain(url.as_str());
        let index =
            |part: usize| if part == 0 { "/index".to_owned() } else { format!("/index?part={}", word(part as u64)) };
        let part = (0..3).find(|&part| index(part) == at);
        let mut paths = vec!["/index".to_owned()];
        if let Some(part) = part {
            paths.extend((part * 20..TOPICS.min(part * 20 + 20)).map(|n| format!("/topic?t={n}")));
            paths.extend((part < 2).then(|| index(part + 1)));
        }
        let links: Vec<_> = paths.iter().map(|path| (self.spelling)(path, &session)).collect();
        (200, format!("<p>All that was said at {at}, and nothing else.{}", body(&links)))
    }

    fn tune(&self, _: &mut Settings, frontier: &mut FrontierOptions) {
        frontier.politeness.delay_min = Duration::from_millis(10);
    }
}

#[test]
fn a_forum_with_new_sessions_in_each_answer_is_crawled_once_also_over_kills() {
    for (spelling, parameter) in [(in_the_query as Spelling, "sid"), (in_the_path, "(S(")] {
        for kills in [0, 1, 5] {
            let case = format!("{parameter}, {kills} kills");
            let dir = tempfile::tempdir().unwrap();
            let forum = Rc::new(Forum { spelling, asked: Cell::new(0) });
            let mut now = Time::from_ms(1_000_000_000_000);
            let mut asked = Vec::new();
            for _ in 0..kills {
                let mut run = open_at(forum.clone(), dir.path(), now);
                assert_eq!(run.go(12), None, "{case}");
                now = run.clock.now();
                asked.extend(run.requests());
            }
            let mut run = open_at(forum.clone(), dir.path(), now);
            assert_eq!(run.go(100_000), Some(Finish::Complete), "{case}");
            asked.extend(run.requests());
            let pages = pages_of(&asked);
            let each: std::collections::BTreeSet<_> = pages.iter().map(|page| plain(page)).collect();
            // the root, the index, its other parts, the topics
            assert_eq!(each.len(), 1 + 3 + TOPICS, "{case}");
            assert!(pages.len() < 6 * TOPICS, "{case}: {} pages", pages.len());
            assert!(run.engine.figures().statistics().dropped[&Reason::SessionParam] > 0, "{case}");
            let skipped = std::fs::read_to_string(SkippedLog::path(dir.path())).unwrap();
            let rule = format!("scope.learn_session_params: {parameter} makes no other page");
            assert!(
                skipped.contains(&format!(r#""reason":"copy by a session parameter","rule":"{rule}"#)),
                "{skipped}"
            );
        }
    }
}
