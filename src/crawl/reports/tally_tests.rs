//! The tally of a host on requests whose right judgement is known.

use super::*;

const START: u64 = 1_700_000_000_000;

fn notes(politeness: Politeness) -> Vec<PolitenessNote> {
    vec![PolitenessNote { since: Time::from_ms(START), politeness, sites: None }]
}

fn request(at_ms: u64, took_ms: u64) -> Request<'static> {
    Request {
        origin: "http://a.example",
        started: Time::from_ms(START + at_ms),
        took: Duration::from_millis(took_ms),
        status: 200,
        bytes: 10,
        is_robots: false,
        retry_after: None,
    }
}

fn judged(notes: &[PolitenessNote], crawl_delay: Option<u64>, requests: &[Request<'_>]) -> HostRow {
    let mut tally = Tally::new("a.example", notes);
    let crawl_delay = crawl_delay.map(Duration::from_secs);
    tally.rules(Rules { origin: "http://a.example".into(), version: "200".to_owned(), crawl_delay });
    requests.iter().for_each(|request| tally.request(request));
    tally.finish()
}

#[test]
fn a_gap_counts_from_the_end_of_a_request_and_is_owed_by_its_duration() {
    let notes = notes(Politeness::default());
    // 100 ms owe a second, 300 ms owe 1.5 s
    let kept = [request(0, 100), request(1_100, 300), request(2_900, 1)];
    let row = judged(&notes, None, &kept);
    assert_eq!((row.requests, row.pages, row.bytes, row.violations), (3, 3, 30, 0));
    assert_eq!(
        (row.gap_min_ms, row.gap_median_ms, row.owed_min_ms, row.peak),
        (Some(1_000), Some(1_000), Some(1_000), 1)
    );
    let early = [request(0, 100), request(1_099, 300), request(2_898, 1)];
    assert_eq!(judged(&notes, None, &early).violations, 2);
}

#[test]
fn a_crawl_delay_is_owed_up_to_its_cap_from_the_moment_that_it_is_known() {
    let notes = notes(Politeness { crawl_delay_max: Duration::from_secs(10), ..Politeness::default() });
    let requests = [request(0, 1), request(4_001, 1), request(14_002, 1)];
    assert_eq!(judged(&notes, Some(4), &requests).violations, 0);
    assert_eq!(judged(&notes, Some(5), &requests).violations, 1);
    assert_eq!(judged(&notes, Some(600), &requests).violations, 1);
    assert_eq!(judged(&notes, Some(5), &requests).crawl_delay, Some(5.0));
}

#[test]
fn n15_the_origins_of_a_name_are_judged_as_one_host_and_each_has_its_own_crawl_delay() {
    let notes = notes(Politeness::default());
    let https = |at_ms, took_ms| Request { origin: "https://a.example", ..request(at_ms, took_ms) };
    assert_eq!(judged(&notes, None, &[request(0, 100), https(1_100, 100), request(2_200, 100)]).violations, 0);
    assert_eq!(judged(&notes, None, &[request(0, 100), https(500, 100), request(1_600, 100)]).violations, 1);
    assert_eq!(judged(&notes, None, &[request(0, 2_000), https(1_100, 100)]).peak, 2);
    // http asks for four seconds: after its requests, and before them
    let kept = [request(0, 1), https(4_001, 1), https(5_002, 1), request(9_003, 1)];
    assert_eq!(judged(&notes, Some(4), &kept).violations, 0);
    assert_eq!(judged(&notes, Some(4), &[request(0, 1), https(4_000, 1)]).violations, 1);
    assert_eq!(judged(&notes, Some(4), &[https(0, 1), request(4_000, 1)]).violations, 1);
}

#[test]
fn retry_after_is_owed_whatever_comes_between() {
    let notes = notes(Politeness::default());
    let asks = Request { status: 503, retry_after: Some(Duration::from_secs(120)), ..request(0, 10) };
    let row = judged(&notes, None, &[asks, request(120_010, 10)]);
    assert_eq!((row.answers_503, row.retry_after, row.retry_after_broken, row.violations), (1, 1, 0, 0));
    let row = judged(&notes, None, &[asks, request(119_000, 10), request(121_000, 10)]);
    assert_eq!((row.retry_after, row.retry_after_broken, row.violations), (1, 1, 1));
    let years = Request { retry_after: Some(Duration::from_secs(1 << 40)), ..asks };
    assert_eq!(judged(&notes, None, &[years, request(86_400_010, 10)]).violations, 0);
}

#[test]
fn requests_at_once_are_counted_and_judged_by_how_many_there_may_be() {
    let one = notes(Politeness::default());
    let overlapping = [request(0, 2_500), request(1_100, 100), request(2_300, 100)];
    let row = judged(&one, None, &overlapping);
    assert_eq!((row.peak, row.gap_min_ms), (2, Some(0)));
    assert_eq!(row.violations, 2);
    let two = notes(Politeness { connections_per_host: 2, ..Politeness::default() });
    assert_eq!(judged(&two, None, &overlapping).violations, 0);
    let too_dense = [request(0, 2_500), request(500, 100)];
    assert_eq!(judged(&two, None, &too_dense).violations, 1);
}

#[test]
fn each_request_is_judged_by_the_settings_of_its_time() {
    let slower = Politeness { delay_min: Duration::from_secs(5), ..Politeness::default() };
    let mut notes = notes(Politeness::default());
    notes.push(PolitenessNote { since: Time::from_ms(START + 10_000), politeness: slower, sites: None });
    let requests = [request(0, 1), request(1_001, 1), request(11_000, 1), request(16_001, 1)];
    assert_eq!(judged(&notes, None, &requests).violations, 0);
    let requests = [request(0, 1), request(1_001, 1), request(11_000, 1), request(15_000, 1)];
    assert_eq!(judged(&notes, None, &requests).violations, 1);
}

#[test]
fn without_any_delay_nothing_is_owed_but_retry_after() {
    let none = Politeness {
        delay_min: Duration::ZERO,
        delay_factor: 0.0,
        delay_per_ip: Duration::ZERO,
        ..Politeness::default()
    };
    let notes = notes(none);
    assert_eq!(judged(&notes, Some(9), &[request(0, 100), request(100, 10)]).violations, 0);
    let asks = Request { status: 429, retry_after: Some(Duration::from_secs(1)), ..request(0, 10) };
    assert_eq!(judged(&notes, None, &[asks, request(500, 10)]).violations, 1);
}

#[test]
fn the_median_is_exact_below_a_second_and_near_above() {
    let mut random = fastrand::Rng::with_seed(7);
    for limit in [1_000, 100_000, 1 << 40] {
        let mut gaps = Gaps::default();
        let mut all: Vec<u64> = (0..999).map(|_| random.u64(..limit)).collect();
        all.iter().for_each(|&ms| gaps.count(Duration::from_millis(ms)));
        all.sort_unstable();
        let (found, right) = (gaps.median().unwrap(), all[499]);
        assert!(found <= right && right - found <= right / 512, "{found} for {right}");
        assert!(gaps.counts.len() < 64 * 512);
        assert!(limit > 1_000 || found == right);
    }
    assert_eq!(Gaps::default().median(), None);
    for ms in [0, 1, 1_023, 1_024, 1_025, 5_000, u64::MAX] {
        let bound = Gaps::lower_bound(Gaps::place(ms));
        assert!(bound <= ms && ms - bound <= ms / 512, "{bound} for {ms}");
    }
}
