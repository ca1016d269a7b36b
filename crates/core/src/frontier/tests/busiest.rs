//! Tests of the hosts with the longest queues.

use super::*;

#[test]
fn the_hosts_with_the_longest_queues_come_first_and_no_more_than_asked_for() {
    let mut crawl = Crawl::new(FrontierOptions::default(), plain);
    for (host, urls) in [(1, 3), (2, 9), (3, 1), (4, 9), (5, 6)] {
        (0..urls).for_each(|n| crawl.push(url(host, n, 1)));
    }
    let now = crawl.clock.now();
    let told = |limit: usize| -> Vec<(String, u64)> {
        let hosts = crawl.frontier.active().busiest(now, limit).into_iter();
        hosts.map(|host| (host.origin.replace("http://www", ""), host.queued)).collect()
    };
    let expected = [("2.example", 9), ("4.example", 9), ("5.example", 6), ("1.example", 3), ("3.example", 1)];
    let expected: Vec<_> = expected.map(|(host, queued)| (host.to_owned(), queued)).into();
    assert_eq!(told(100), expected);
    assert_eq!(told(3), expected[..3]);
    assert_eq!(told(0), []);
    let first = &crawl.frontier.active().busiest(now, 1)[0];
    assert_eq!((first.doing, first.is_held_back, first.failures), ("ready", false, 0));
}
