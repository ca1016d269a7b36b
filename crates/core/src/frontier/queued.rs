//! A URL on its way to being fetched.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::wire::{self, Reader};
use crate::calendar::Recrawl;
use crate::drum::Aux;
use crate::fingerprint::Fingerprint;
use crate::web::url::Keys;

/// A URL that was admitted: everything that it needs from URL-seen to the fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUrl {
    /// The URL as it is requested: absolute, serialised by the WHATWG rules, without fragment.
    ///
    /// Shared by the URL in flight and the one that is kept for the case that it comes back.
    pub url: Arc<str>,
    /// Its key in URL-seen: the fingerprint of the canonical key form.
    pub key: Fingerprint,
    /// Fingerprint of its origin (`http://host:port`): names its queue and its robots.txt.
    pub origin: Fingerprint,
    /// Fingerprint of its host name: names its DNS answer.
    pub host: Fingerprint,
    /// Fingerprint of its registrable domain: names its partition.
    pub domain: Fingerprint,
    /// Priority: the smaller comes first.
    pub priority: u8,
    /// Links between a seed and this URL; redirects do not count.
    pub depth: u16,
    /// The way by which it was found, a letter a hop.
    pub hops: Hops,
    /// Attempts made so far.
    pub attempts: u8,
    /// The page that named it: offset of its record in key.dat plus 1; 0 for a seed.
    pub via: u64,
    /// Number of the seed that it descends from.
    pub seed: u32,
    /// True if it is fetched although it was seen before.
    pub forced: bool,
    /// The reason for which it is queued once more, where a recrawl wants that, and what is known of its page:
    /// [`Recrawl`].
    pub recrawl: Option<Arc<[u8]>>,
}

/// Flags of an encoded URL.
const FLAG_FORCED: u8 = 1;
const FLAG_RECRAWL: u8 = 2;

impl QueuedUrl {
    /// The URL `url`, in the fetch form, without a history.
    pub fn of(url: &str, keys: Keys) -> Self {
        QueuedUrl {
            url: url.into(),
            key: keys.key,
            origin: keys.origin,
            host: keys.host,
            domain: keys.domain,
            priority: 0,
            depth: 0,
            hops: Hops::default(),
            attempts: 0,
            via: 0,
            seed: 0,
            forced: false,
            recrawl: None,
        }
    }

    /// Returns whether it is fetched again because somebody wants that now, and not because it is due: what it leads to
    /// is wanted too.
    pub fn is_of_round(&self) -> bool {
        self.forced && !self.is_due_again()
    }

    /// Returns whether its page was visited before, and its time has come again.
    pub fn is_due_again(&self) -> bool {
        Recrawl::is_due(self.recrawl.as_deref())
    }

    /// Returns whether budgets have counted it: its page was visited before, and this is a further version of it.
    pub fn is_counted(&self) -> bool {
        self.forced && Recrawl::is_counted(self.recrawl.as_deref())
    }

    /// Appends the URL in a compact form: four fingerprints, then small numbers and sized strings.
    ///
    /// ```text
    /// | key 8 | origin 8 | host 8 | domain 8 | priority 1 | attempts 1 | flags 1 | depth | seed | via | hops | url |
    /// | recrawl |
    /// ```
    /// Flags: 1 forced, 2 the reason of a recrawl follows the URL. Numbers after the fixed part are varints, strings
    /// follow their length as a varint.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for fingerprint in [self.key, self.origin, self.host, self.domain] {
            wire::put_fingerprint(out, fingerprint);
        }
        out.push(self.priority);
        out.push(self.attempts);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(flag(self.forced, FLAG_FORCED) | flag(self.recrawl.is_some(), FLAG_RECRAWL));
        wire::put_varint(out, self.depth.into());
        wire::put_varint(out, self.seed.into());
        wire::put_varint(out, self.via);
        wire::put_sized(out, self.hops.as_bytes());
        wire::put_sized(out, self.url.as_bytes());
        if let Some(recrawl) = &self.recrawl {
            wire::put_sized(out, recrawl);
        }
    }

    /// Reads the flags of an encoded URL: whether it is forced, and whether it has the reason of a recrawl; `None` if
    /// they say anything else.
    pub(super) fn read_flags(flags: u8) -> Option<(bool, bool)> {
        (flags & !(FLAG_FORCED | FLAG_RECRAWL) == 0).then_some((flags & FLAG_FORCED != 0, flags & FLAG_RECRAWL != 0))
    }

    /// Reads a URL at the start of `bytes`, and says how many bytes it took; `None` for what [`QueuedUrl::encode`]
    /// cannot have written.
    pub fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader::new(bytes);
        let [key, origin, host, domain] =
            [reader.fingerprint()?, reader.fingerprint()?, reader.fingerprint()?, reader.fingerprint()?];
        let (priority, attempts, flags) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let (forced, has_recrawl) = QueuedUrl::read_flags(flags)?;
        let (depth, seed, via) = (reader.small()?, reader.small()?, reader.varint()?);
        let hops = Hops::parse(reader.text()?);
        let url = reader.text()?.into();
        let recrawl = if has_recrawl { Some(reader.sized()?.into()) } else { None };
        let url =
            QueuedUrl { url, key, origin, host, domain, priority, depth, hops, attempts, via, seed, forced, recrawl };
        Some((url, reader.position()))
    }
}

/// A URL on its way through the stores, as the frontier writes it down.
impl Aux for QueuedUrl {
    fn encode(&self, out: &mut Vec<u8>) {
        QueuedUrl::encode(self, out);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        QueuedUrl::decode(bytes).filter(|(_, used)| *used == bytes.len()).map(|(url, _)| url)
    }
}

/// A discovery path as in Heritrix's crawl.log: `L` link, `R` redirect, `E` embedded, `P` robots.txt as a prerequisite,
/// `M` named by a robots.txt as sitemap, or by a sitemap; empty for a seed.
///
/// A path longer than `Hops::LETTERS_MAX` keeps its last letters after the number of those left out: `12+LLRL...`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Hops(Letters);

/// Most paths are short, and are in the URL that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Letters {
    Short { len: u8, bytes: [u8; Hops::SHORT_MAX] },
    Long(Arc<str>),
}

impl Hops {
    /// Letters that are kept.
    pub(crate) const LETTERS_MAX: usize = 40;
    const SHORT_MAX: usize = 22;

    /// A path as it was printed.
    pub fn parse(text: &str) -> Self {
        match u8::try_from(text.len()) {
            Ok(len) if text.len() <= Hops::SHORT_MAX => {
                let mut bytes = [0; Hops::SHORT_MAX];
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                Hops(Letters::Short { len, bytes })
            }
            _ => Hops(Letters::Long(text.into())),
        }
    }

    /// The path with one more letter.
    pub fn then(&self, letter: char) -> Self {
        let (mut left_out, mut letters) = match self.as_str().split_once('+') {
            Some((count, letters)) => (count.parse().unwrap_or(0_u32), letters.to_owned()),
            None => (0, self.as_str().to_owned()),
        };
        letters.push(letter);
        let surplus = letters.len().saturating_sub(Hops::LETTERS_MAX);
        left_out += u32::try_from(letters.drain(..surplus).count()).unwrap_or(u32::MAX);
        if left_out == 0 { Hops::parse(&letters) } else { Hops::parse(&format!("{left_out}+{letters}")) }
    }

    /// Redirects since the last hop of another kind.
    pub fn redirects(&self) -> usize {
        self.as_bytes().iter().rev().take_while(|&&letter| letter == b'R').count()
    }

    /// Returns the number of sitemaps in a row that led here, whatever redirects there were between them; the
    /// robots.txt that named the first one counts like a sitemap.
    pub fn sitemaps(&self) -> usize {
        let end = self.as_bytes().iter().rev().take_while(|letter| matches!(letter, b'M' | b'R'));
        end.filter(|&&letter| letter == b'M').count()
    }

    /// Returns the number of embeds in a row that led here, whatever redirects there were between them: 1 for what a
    /// page embeds, 2 for what that names in turn, 0 for a page that was linked.
    pub fn embeds(&self) -> usize {
        let end = self.as_bytes().iter().rev().take_while(|letter| matches!(letter, b'E' | b'R'));
        end.filter(|&&letter| letter == b'E').count()
    }

    /// The same of the URL that had to wait for the robots.txt at the end of this path.
    pub fn embeds_before_robots(&self) -> usize {
        self.as_str().rfind('P').map_or(0, |end| Hops::parse(&self.as_str()[..end]).embeds())
    }

    /// The path as it is printed.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Letters::Short { .. } => std::str::from_utf8(self.as_bytes()).expect("they were copied from a text"),
            Letters::Long(text) => text,
        }
    }

    /// The path as the bytes that it is printed in.
    pub(super) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Letters::Short { len, bytes } => &bytes[..usize::from(*len)],
            Letters::Long(text) => text.as_bytes(),
        }
    }
}

impl Default for Hops {
    fn default() -> Self {
        Hops::parse("")
    }
}

impl From<String> for Hops {
    fn from(text: String) -> Self {
        Hops::parse(&text)
    }
}

impl From<Hops> for String {
    fn from(hops: Hops) -> Self {
        hops.as_str().to_owned()
    }
}

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_end_and_counts_the_rest() {
        let mut hops = Hops::default();
        for _ in 0..50 {
            hops = hops.then('L');
        }
        let hops = hops.then('R').then('R');
        assert_eq!(hops.as_str(), format!("12+{}RR", "L".repeat(38)));
        assert_eq!(hops.redirects(), 2);
        assert_eq!(Hops::default().redirects(), 0);
    }

    #[test]
    fn sitemaps_in_a_row_are_counted_over_redirects_and_from_a_robots_txt_on() {
        for (path, sitemaps) in
            [("", 0), ("LR", 0), ("PM", 1), ("LLPMRR", 1), ("PMRM", 2), ("PMML", 0), ("PMMPM", 1), ("PMMM", 3)]
        {
            assert_eq!(Hops::parse(path).sitemaps(), sitemaps, "{path}");
        }
    }

    #[test]
    fn embeds_in_a_row_are_counted_over_redirects_and_end_with_any_other_hop() {
        for (path, embeds) in
            [("", 0), ("R", 0), ("E", 1), ("LE", 1), ("LRE", 1), ("LERR", 1), ("EREER", 3), ("EEL", 0), ("EP", 0)]
        {
            assert_eq!(Hops::parse(path).embeds(), embeds, "{path}");
        }
        for (path, embeds) in [("", 0), ("LP", 0), ("LEP", 1), ("LEREPRR", 2), ("LELP", 0), ("PME", 0)] {
            assert_eq!(Hops::parse(path).embeds_before_robots(), embeds, "{path}");
        }
    }

    /// By letters, which is what the path means, and not by what is kept of them.
    #[test]
    fn embeds_of_any_path_are_those_of_its_letters_as_far_as_they_are_kept() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..2_000 {
            let (mut hops, mut letters) = (Hops::default(), Vec::new());
            for _ in 0..random.usize(0..120) {
                // long runs of embeds are met too
                let letter =
                    if random.u8(0..4) > 0 { 'E' } else { *random.choice(&['L', 'R', 'E', 'P', 'M']).unwrap() };
                hops = hops.then(letter);
                letters.push(letter);
            }
            let kept = &letters[letters.len().saturating_sub(Hops::LETTERS_MAX)..];
            let run = kept.iter().rev().take_while(|&&letter| letter == 'E' || letter == 'R');
            let expected = run.filter(|&&letter| letter == 'E').count();
            assert_eq!(hops.embeds(), expected, "{hops} (seed {seed})");
            assert_eq!(hops.then('L').embeds(), 0);
        }
    }

    #[test]
    fn a_url_is_read_back_as_it_was_and_never_from_fewer_bytes() {
        let url = QueuedUrl {
            url: "https://example.org/a?b=c".into(),
            key: Fingerprint::from_bits(1),
            origin: Fingerprint::from_bits(u64::MAX),
            host: Fingerprint::from_bits(3),
            domain: Fingerprint::from_bits(4),
            priority: 7,
            depth: 300,
            hops: Hops::parse("LLR"),
            attempts: 2,
            via: u64::MAX,
            seed: u32::MAX,
            forced: true,
            recrawl: Some([1, 2, 3].into()),
        };
        let mut bytes = Vec::new();
        url.encode(&mut bytes);
        let len = bytes.len();
        for cut in 0..len {
            assert_eq!(QueuedUrl::decode(&bytes[..cut]), None, "{cut} bytes");
        }
        bytes.extend_from_slice(b"more");
        assert_eq!(QueuedUrl::decode(&bytes), Some((url, len)));
        bytes[34] = 4;
        assert_eq!(QueuedUrl::decode(&bytes), None, "a flag that is not known");
    }
}
