//! The URLs that are queued: about 70 bytes each, several hosts to a registrable domain, from a number alone.

use crawler::fingerprint::Fingerprint;
use crawler::frontier::{Hops, QueuedUrl};

/// Places of the URLs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Over this many hosts, no two in a row of the same one.
    Spread { hosts: u64 },
    /// All URLs are on one host.
    Giant,
}

const WORDS: [&str; 32] = [
    "about", "archive", "article", "author", "autumn", "basket", "bridge", "camera", "catalog", "college", "common",
    "culture", "detail", "edition", "energy", "family", "feature", "garden", "gallery", "history", "journal", "letter",
    "market", "museum", "nature", "opinion", "product", "research", "science", "season", "station", "travel",
];
const NAMES: [&str; 4] = ["www", "news", "shop", "blog"];
const ENDS: [&str; 4] = ["example", "test", "co.example", "org.test"];
/// Hosts of a registrable domain.
const HOSTS_OF_DOMAIN: u64 = 4;
/// Links that one page brings.
const LINKS: u64 = 40;

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

fn fingerprint(kind: u64, number: u64) -> Fingerprint {
    Fingerprint::from_bits(mix((number | kind << 60).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn word(bits: u64, n: u32) -> &'static str {
    WORDS[(bits >> (5 * n)) as usize % WORDS.len()]
}

impl Shape {
    /// The host of URL number `n`.
    fn host(self, n: u64) -> u64 {
        match self {
            // every host once in each round, in another order than their numbers
            Shape::Spread { hosts } => n.wrapping_mul(7_654_321) % hosts,
            Shape::Giant => 0,
        }
    }

    /// URL number `n`, written through `text`.
    pub fn url(self, n: u64, text: &mut String) -> QueuedUrl {
        let host = self.host(n);
        let domain = host / HOSTS_OF_DOMAIN;
        let (site, page, path) = (mix(domain), mix(n / LINKS), mix(!n));
        let mut digits = [b'0'; 8];
        let mut rest = n;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let mut number = [b'0'; 6];
        let mut rest = domain;
        for digit in number.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        text.clear();
        for part in [
            "https://",
            NAMES[(host % HOSTS_OF_DOMAIN) as usize],
            ".",
            word(site, 0),
            word(site, 1),
            std::str::from_utf8(&number).expect("digits"),
            ".",
            ENDS[(site >> 60) as usize % ENDS.len()],
            "/",
            word(page, 0),
            "/",
            word(path, 1),
            "-",
            word(path, 2),
            "-",
            std::str::from_utf8(&digits).expect("digits"),
            ".html",
        ] {
            text.push_str(part);
        }
        QueuedUrl {
            url: text.as_str().into(),
            key: fingerprint(0, n),
            origin: fingerprint(1, host),
            host: fingerprint(2, host),
            domain: fingerprint(3, domain),
            priority: 2 + (path >> 40) as u8 % 3,
            depth: 3,
            hops: Hops::parse("LLL"),
            attempts: 0,
            via: 1 + n / LINKS * 173,
            forced: false,
            recrawl: None,
            seed: (host % 1_000) as u32,
        }
    }
}
