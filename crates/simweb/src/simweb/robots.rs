//! The robots.txt of each host, and which of its URLs it excludes.

use std::fmt::Write;

use super::conduct::{Failing, Robots};
use super::plan::{Kind, Plan};
use super::sitemaps;

/// The status and text of a host's robots.txt.
pub(super) fn robots_txt(plan: &Plan, port: u16, host: u32) -> (u16, String) {
    let mut text = match plan.host(host).robots {
        Robots::Missing => return (404, "No rules here.\n".to_owned()),
        Robots::Forbidden => return (403, "Not for you.\n".to_owned()),
        Robots::Failing(Failing::Status(status)) => return (status, "Out of order.\n".to_owned()),
        Robots::Failing(Failing::Mute(_)) => return (0, String::new()),
        Robots::Closed => "User-agent: *\nDisallow: /\n",
        Robots::Open => "# Everybody is welcome\nUser-agent: *\nDisallow:\n",
        Robots::Some(0) => "User-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n",
        Robots::Some(1) => "User-Agent: *\r\nDisallow: /*.print$\r\n",
        Robots::Some(2) => "User-agent: otherbot\nUser-agent: *\nDisallow: /cgi/\nAllow: /cgi/open/\n",
        Robots::Some(_) => "\u{feff}user-agent: * # all\n\ndisallow: /t%61gs/ # listings\n",
    }
    .to_owned();
    if plan.host(host).crawl_delay {
        writeln!(text, "Crawl-delay: {}", plan.options.robots_crawl_delay.as_secs_f64()).expect("a string grows");
    }
    if let Some(url) = sitemaps::named(plan, port, host) {
        writeln!(text, "Sitemap: {url}").expect("a string grows");
    }
    (200, text)
}

/// Returns whether the rules of its host, which has some, let a URL be fetched.
pub(super) fn allows(plan: &Plan, host: u32, url: u32) -> bool {
    plan.host(host).robots != Robots::Closed && plan.kind(host, url) != Kind::Excluded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simweb::SimOptions;
    use crate::simweb::names::path;

    #[test]
    fn a_parser_of_robots_txt_excludes_the_same_urls() {
        let options = SimOptions {
            hosts: 200,
            pages: 4_000,
            robots_share: 0.7,
            robots_crawl_delay_share: 0.5,
            sitemap_share: 0.5,
            ..Default::default()
        };
        let plan = Plan::new(options).unwrap();
        let mut excluded = 0;
        for host in 0..200 {
            let (status, text) = robots_txt(&plan, 80, host);
            if status != 200 {
                continue;
            }
            // The parser compares escapes as they are written; RFC 9309 compares what they mean.
            let text = text.replace("%61", "a");
            let rules = texting_robots::Robot::new("crawler", text.as_bytes()).unwrap();
            assert_eq!(rules.delay, plan.host(host).crawl_delay.then_some(0.2), "{text}");
            for url in 0..plan.host(host).len() {
                let path = path(&plan, host, url);
                assert_eq!(rules.allowed(&path), allows(&plan, host, url), "{path} by {text}");
                excluded += u32::from(!allows(&plan, host, url));
            }
        }
        assert!(excluded > 100);
    }
}
