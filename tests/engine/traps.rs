//! A calendar without end stops at the budget of its pattern, over a kill too, and says so; the rest of its site does
//! not.

use super::*;

/// Days of the calendar that may be fetched.
const DAYS: u64 = 40;
const ARTICLES: usize = 60;

/// A site whose calendar names the next three days for ever, and whose articles have one number each.
struct Calendar;

impl Web for Calendar {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        let numbers = || url.path().split('/').filter_map(|word| word.parse::<usize>().ok());
        let links = match url.path() {
            "/robots.txt" => return (404, String::new()),
            "/" => vec!["/cal/1/1".to_owned(), "/article/1".to_owned()],
            path if path.starts_with("/cal/") => {
                let day = numbers().next_back().unwrap_or(0);
                (day + 1..day + 4).map(|day| format!("/cal/{}/{day}", day / 30)).collect()
            }
            _ => (numbers().sum::<usize>() + 1..)
                .take(1)
                .filter(|&n| n <= ARTICLES)
                .map(|n| format!("/article/{n}"))
                .collect(),
        };
        (200, body(&links))
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.urls_per_pattern = Some(DAYS);
        frontier.politeness.delay_min = Duration::from_millis(10);
    }
}

#[test]
fn a_calendar_without_end_stops_at_its_budget_also_over_kills() {
    for kills in [0, 1, 4] {
        let dir = tempfile::tempdir().unwrap();
        let mut now = Time::from_ms(1_000_000_000_000);
        let mut asked = Vec::new();
        for _ in 0..kills {
            let mut run = open_at(Rc::new(Calendar), dir.path(), now);
            assert_eq!(run.go(20), None);
            now = run.clock.now();
            asked.extend(run.requests());
        }
        let mut run = open_at(Rc::new(Calendar), dir.path(), now);
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete), "{kills} kills");
        asked.extend(run.requests());
        let mut pages = pages_of(&asked);
        pages.dedup();
        let count = |part: &str| pages.iter().filter(|page| page.contains(part)).count();
        assert_eq!(count("/article/"), ARTICLES, "{kills} kills");
        assert_eq!(count("/cal/") as u64, DAYS, "{kills} kills");
        let statistics = run.engine.figures().statistics();
        assert!(statistics.dropped[&crawler::outcome::Reason::Pattern] >= 1, "{kills} kills");
        let skipped = std::fs::read_to_string(SkippedLog::path(dir.path())).unwrap();
        assert!(skipped.contains(r#""rule":"/cal/#/#""#), "{skipped}");
    }
}
