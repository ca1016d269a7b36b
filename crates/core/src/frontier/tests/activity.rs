//! Tests of what hosts do at a moment, and of the time that the longest queue takes.

use super::*;

#[test]
fn what_is_in_flight_comes_first_then_what_is_next_and_no_more_than_asked_for() {
    let mut crawl = Crawl::new(FrontierOptions::default(), plain);
    for (host, urls) in [(1, 3), (2, 9), (3, 1)] {
        (0..urls).for_each(|n| crawl.push(url(host, n, 1)));
    }
    let now = crawl.clock.now();
    let told = crawl.frontier.activity(now, 5);
    assert_eq!(told.iter().map(|host| host.queued + 1).collect::<Vec<_>>(), [9, 3, 1], "{told:?}");
    assert!(told.iter().all(|host| host.next == Some(now)), "{told:?}");
    // where there is room for more, two URLs of each host
    let told = crawl.frontier.activity(now, 7);
    assert_eq!(told.iter().map(|host| host.queued + 1).collect::<Vec<_>>(), [9, 3, 1, 8, 2], "{told:?}");
    assert!(told[3..].iter().all(|host| host.next > Some(now)), "{told:?}");
    assert_eq!(crawl.frontier.activity(now, 2).len(), 2);
    assert_eq!(crawl.frontier.activity(now, 0), []);
    let longest = Activity::longest_queue(crawl.frontier.active(), crawl.frontier.pacing());
    assert!(longest >= crawl.frontier.queues.pacing.politeness().delay_min * 9, "{longest:?}");
    // a host whose name is looked up is reported by its origin
    let task = crawl.frontier.next(now).unwrap();
    assert!(matches!(task, Some(Task::Resolve { .. })), "{task:?}");
    let first = crawl.frontier.activity(now, 1).remove(0);
    assert_eq!(first.next, None);
    assert!(first.url.starts_with("http://www") && first.url.matches('/').count() == 2, "{first:?}");
}
