//! The domains to which the requests of a crawl went, compared with a crawl that knows which domains are farms.
//!
//! An oracle asks ordinary hosts only, for each page once and for each robots.txt once. So it needs a number of
//! requests that [`Expected`] gives, and all of them are ordinary. The requests of a log are counted in tenths of that
//! number, in the order in which they came; robots.txt files count for the domain that they are of.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::expected::Expected;
use super::farm_kinds::FarmKind;
use super::log::Request;

/// The shares of a log. Displays as a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// Requests that an oracle needs for all ordinary pages.
    pub needed: usize,
    /// The number of ordinary pages.
    pub pages: usize,
    /// The requests after which all ordinary pages had been asked for, if they were.
    pub all_after: Option<usize>,
    /// Tenths of `needed`, in order, and the begun one at the end.
    pub tenths: Vec<Tenth>,
}

/// A number of requests in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tenth {
    /// Requests in it.
    pub requests: usize,
    /// Requests to ordinary domains among them.
    pub ordinary: usize,
    /// Those to farms, by shape as in [`FarmKind::ALL`].
    pub farms: [usize; 3],
    /// Ordinary pages that had been asked for at its end.
    pub fetched: usize,
}

impl Shares {
    /// Counts a log, in the order in which its requests came.
    pub fn of(log: &[Request], expected: &Expected, port: u16) -> Shares {
        let hosts: BTreeSet<&str> = expected.pages.keys().filter_map(|url| url.split('/').nth(2)).collect();
        let (pages, needed) = (expected.pages.len(), expected.pages.len() + hosts.len());
        let mut shares = Shares { needed, pages, ..Shares::default() };
        let mut asked = HashSet::new();
        for (number, request) in log.iter().enumerate() {
            let begins = number * 10 / needed.max(1) >= shares.tenths.len();
            if begins {
                shares.tenths.push(Tenth { fetched: asked.len(), ..Tenth::default() });
            }
            let tenth = shares.tenths.last_mut().expect("the first request begins one");
            tenth.requests += 1;
            let url = request.url(port);
            if let Some(kind) = expected.farm_of(&url) {
                tenth.farms[kind as usize] += 1;
            } else if !expected.is_trap(&url) {
                tenth.ordinary += 1;
            }
            if expected.pages.contains_key(&url) && asked.insert(url) {
                tenth.fetched = asked.len();
                shares.all_after = shares.all_after.or((asked.len() == pages).then_some(number + 1));
            }
        }
        shares
    }

    /// The share of ordinary requests from the tenth of that number, counted from 0, to the last one up to which an
    /// oracle has work.
    pub fn from(&self, tenth: usize) -> f64 {
        let tenths = self.tenths.iter().take(10).skip(tenth);
        let (ordinary, requests) = tenths.fold((0, 0), |sum, t| (sum.0 + t.ordinary, sum.1 + t.requests));
        ordinary as f64 / requests.max(1) as f64
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} requests fetch the {} ordinary pages if no other is made", self.needed, self.pages)?;
        write!(f, "of them  requests  ordinary  so far   pages, %  an oracle's")?;
        writeln!(f, "{}", FarmKind::ALL.map(|kind| format!("{:>10}", kind.name())).concat())?;
        let (mut requests, mut ordinary) = (0, 0);
        for tenth in &self.tenths {
            requests += tenth.requests;
            ordinary += tenth.ordinary;
            let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
            write!(
                f,
                "{:>5.0} %{requests:>10}{:>8.1} %{:>6.1} %{:>11.1}{:>13.1}",
                percent(requests, self.needed),
                percent(tenth.ordinary, tenth.requests),
                percent(ordinary, requests),
                percent(tenth.fetched, self.pages),
                percent(requests.min(self.needed), self.needed),
            )?;
            writeln!(f, "{}", tenth.farms.map(|count| format!("{count:>10}")).concat())?;
        }
        match self.all_after {
            Some(count) => {
                let times = count as f64 / self.needed.max(1) as f64;
                writeln!(f, "all ordinary pages after {count} requests, {times:.2} times what an oracle needs")
            }
            None => writeln!(f, "not all ordinary pages were asked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::simweb::ExpectedPage;

    fn request(host: &str, path: &str) -> Request {
        Request {
            host: host.to_owned(),
            path: path.to_owned(),
            method: "GET".to_owned(),
            status: 200,
            address: Ipv4Addr::LOCALHOST,
            connection: 0,
            user_agent: String::new(),
            started_us: 0,
            finished_us: 1,
            rest_until_us: None,
            version: None,
        }
    }

    #[test]
    fn requests_are_counted_for_the_domain_that_they_are_of() {
        let mut expected = Expected::default();
        let page = ExpectedPage { status: 200, body_sha1: [0; 20], kind: None };
        for number in 0..18 {
            expected.pages.insert(format!("http://www.d{}.example:80/{number}", number % 2), page);
        }
        expected.farms.insert("farm1.example".to_owned(), FarmKind::Wildcard);
        let ordinary = (0..18).map(|number| request(&format!("www.d{}.example", number % 2), &format!("/{number}")));
        let farm = request("a.farm1.example", "/");
        let robots = request("www.d0.example", "/robots.txt");
        let log: Vec<Request> = [robots, farm.clone(), farm].into_iter().chain(ordinary).collect();
        let shares = Shares::of(&log, &expected, 80);
        assert_eq!((shares.needed, shares.pages, shares.all_after), (20, 18, Some(21)));
        assert_eq!(shares.tenths[0], Tenth { requests: 2, ordinary: 1, farms: [0, 1, 0], fetched: 0 });
        assert_eq!(shares.tenths[1], Tenth { requests: 2, ordinary: 1, farms: [0, 1, 0], fetched: 1 });
        assert_eq!(shares.tenths[10], Tenth { requests: 1, ordinary: 1, farms: [0, 0, 0], fetched: 18 });
        assert_eq!(shares.from(1), 17.0 / 18.0);
        let text = shares.to_string();
        assert!(text.contains("all ordinary pages after 21 requests, 1.05 times"), "{text}");
        let without_end = Shares::of(&log[..20], &expected, 80).to_string();
        assert!(without_end.contains("not all ordinary pages"), "{without_end}");
    }
}
