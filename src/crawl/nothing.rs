//! The reasons for which a crawl has fetched nothing at all, and what to do about them.

use std::path::Path;

use crate::outcome::{Failure, Reason};
use crate::record::Statistics;
use crate::report::closing::shell_word;

/// Returns what prevented every page, a line of advice for each kind of it, and the command that shows the reason for
/// each seed.
pub(super) fn why(statistics: &Statistics, dir: &Path) -> String {
    let failures = statistics.failures.iter().map(|(failure, count)| format!("{failure} ({count})"));
    let dropped = statistics.dropped.iter().map(|(reason, count)| format!("{reason} ({count})"));
    let reasons: Vec<String> = failures.chain(dropped).collect();
    let mut text = if reasons.is_empty() { "there was nothing to fetch".to_owned() } else { reasons.join(", ") };
    let mut told = Vec::new();
    let of_failures = statistics.failures.keys().filter_map(|&failure| of_failure(failure));
    for advice in of_failures.chain(statistics.dropped.keys().filter_map(|&reason| of_reason(reason))) {
        if !told.contains(&advice) {
            text.push_str(&format!("\n{advice}"));
            told.push(advice);
        }
    }
    format!("{text}\ncrawler report seeds --dir {} shows the reason for each seed", shell_word(dir))
}

const NO_NAME: &str = "name servers know no such host: are the seeds spelt right? The names are resolved again with \
                       --force, or once dns.nameservers changes";
const NO_ANSWER: &str =
    "name servers do not answer: is the network up, is dns.nameservers right? The same command tries again";
const PRIVATE: &str = "addresses outside of the public internet are refused unless network.allow names them";

fn of_failure(failure: Failure) -> Option<&'static str> {
    match failure {
        Failure::NoSuchHost => Some(NO_NAME),
        Failure::Dns => Some(NO_ANSWER),
        Failure::Connect | Failure::Timeout | Failure::TooSlow | Failure::Disconnected => {
            Some("servers do not answer: are they up, is a proxy needed (fetch.proxy)?")
        }
        Failure::Tls => Some("a certificate is not valid: fetch.ca_file adds root certificates"),
        Failure::PrivateAddress => Some(PRIVATE),
        Failure::Proxy => {
            Some("a proxy does not work: is it up, are its user and password right (fetch.proxy, proxy of [[site]])?")
        }
        Failure::Protocol | Failure::Unconditional304 => None,
    }
}

fn of_reason(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::PrivateAddress => Some(PRIVATE),
        Reason::Robots => Some("robots.txt forbids it, or is unreachable: crawler explain URL says which"),
        Reason::Purpose => Some("robots.txt refuses the use that crawl.purpose names"),
        Reason::Scope => Some("it is out of scope: crawler explain URL shows the rule"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_trouble_has_its_advice_once_and_a_command_that_tells_more() {
        let mut statistics = Statistics::default();
        for failure in [Failure::Connect, Failure::Timeout, Failure::PrivateAddress] {
            statistics.count_failure(failure);
        }
        statistics.count_dropped(Reason::PrivateAddress);
        statistics.count_dropped(Reason::Robots);
        let why = why(&statistics, Path::new("my crawl"));
        let lines: Vec<&str> = why.lines().collect();
        assert_eq!(lines.len(), 5, "{why}");
        assert!(lines[0].contains(" (1), "), "{why}");
        assert_eq!(lines[4], "crawler report seeds --dir 'my crawl' shows the reason for each seed");
        assert_eq!(why.matches("network.allow").count(), 1, "{why}");
    }

    #[test]
    fn nothing_at_all_is_said_to_be_so() {
        assert!(super::why(&Statistics::default(), Path::new("c")).starts_with("there was nothing to fetch\n"));
    }
}
