//! Knowledge of hosts: what each says where a page is gone, and texts that many of its pages have.
//!
//! A host teaches it by answers that come anyway, and by the one to a URL that cannot exist where that is asked for
//! ([`MISSING_PATH`]). Texts are the same where title and text are, but for numbers and for the URL, which error
//! pages repeat. The front page of a host is never the page of what is gone, nor is what says the same: some
//! hosts give it for every URL that they do not know.
//!
//! It is forgotten with the process: a kind is stored when it is judged, and is not judged again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use super::page::Page;

/// Path of a URL that exists nowhere, and says so to those who read the logs of servers.
pub const MISSING_PATH: &str = "/no-such-page-7d3f9a2c51e80b64";

/// Hosts that are known at a time: twice as many at most, in two generations.
const HOSTS_MAX: usize = 4_096;
/// Texts of a host for what is gone.
const GONE_MAX: usize = 4;
/// Texts of a host that are counted.
const COUNTED_MAX: usize = 8;
/// Memory for all of it.
pub const HOSTS_BYTES_MAX: u64 = 2 * HOSTS_MAX as u64 * HOST_BYTES;
/// Memory for a host, with its place in a map and with what vectors and maps have to spare.
const HOST_BYTES: u64 = 600;
/// Pages of one text that are many.
const MANY: u32 = 5;
/// Part of its bytes by which an error page may differ from another.
const DIFFERENCE: usize = 8;

/// True if `url` exists nowhere, and was asked for to see what its host says then.
pub fn is_missing_url(url: &str) -> bool {
    path_of(url) == MISSING_PATH
}

/// The hosts of a crawl, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Hosts(Mutex<Generations>);

/// The hosts that were asked for of late, and those before them.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<u64, Host>,
    old: HashMap<u64, Host>,
}

#[derive(Clone, Debug, Default)]
struct Host {
    front: Option<u64>,
    gone: Vec<Said>,
    counted: Vec<Counted>,
}

/// A text for what is gone, and the bytes of a body with it.
#[derive(Clone, Copy, Debug)]
struct Said {
    text: u64,
    body_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    text: u64,
    /// A bit for each URL that has it: one that is visited again and again is one.
    urls: u64,
}

/// A page beside what is known of its host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Likeness {
    /// It says what the host says where a page is gone.
    pub(super) is_of_gone: bool,
    /// Many pages of the host say the same.
    pub(super) is_of_many: bool,
}

impl Hosts {
    /// True for a page whose text has to be looked at: the front page of a host, one that exists nowhere, and one of
    /// about as many bytes as the page for what is gone has.
    pub(super) fn asks_for_text(&self, url: &str, body_bytes: usize) -> bool {
        let is_like = |said: &Said| said.body_bytes.abs_diff(body_bytes) <= said.body_bytes / DIFFERENCE;
        is_front(url)
            || is_missing_url(url)
            || self.with(url, |host| host.is_some_and(|host| host.gone.iter().any(is_like)))
    }

    /// Takes the page of a URL that is gone. Returns at once where enough of its host are known.
    pub(super) fn learn_gone(&self, url: &str, body_bytes: usize, page: impl FnOnce() -> Page) {
        if self.with(url, |host| host.is_some_and(|host| host.gone.len() == GONE_MAX)) {
            return;
        }
        let Some(text) = text_of(&page(), url) else { return };
        self.change(url, |host| {
            let is_known = host.front == Some(text) || host.gone.iter().any(|said| said.text == text);
            host.gone.extend((!is_known).then_some(Said { text, body_bytes }));
        });
    }

    /// Compares the page of a URL with what is known of its host, and counts it.
    pub(super) fn compare(&self, url: &str, page: &Page) -> Likeness {
        let Some(text) = text_of(page, url) else { return Likeness::default() };
        self.change(url, |host| {
            if is_front(url) {
                host.front = Some(text);
                host.gone.retain(|said| said.text != text);
                return Likeness::default();
            }
            let is_of_gone = host.gone.iter().any(|said| said.text == text);
            let is_of_many = host.front != Some(text) && host.count(text, url) > MANY;
            Likeness { is_of_gone, is_of_many }
        })
    }

    fn with<T>(&self, url: &str, look: impl FnOnce(Option<&Host>) -> T) -> T {
        let generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = hash(origin_of(url));
        look(generations.young.get(&key).or_else(|| generations.old.get(&key)))
    }

    fn change<T>(&self, url: &str, change: impl FnOnce(&mut Host) -> T) -> T {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = hash(origin_of(url));
        if !generations.young.contains_key(&key) {
            if generations.young.len() >= HOSTS_MAX {
                generations.old = std::mem::take(&mut generations.young);
            }
            let known = generations.old.remove(&key).unwrap_or_default();
            generations.young.insert(key, known);
        }
        change(generations.young.entry(key).or_default())
    }
}

impl Host {
    /// Counts the page at `url` with this text; how many there were, of which some few may be taken for one.
    fn count(&mut self, text: u64, url: &str) -> u32 {
        let bit = 1 << (hash(url) % u64::from(u64::BITS));
        if let Some(counted) = self.counted.iter_mut().find(|counted| counted.text == text) {
            counted.urls |= bit;
            return counted.urls.count_ones();
        }
        // the oldest of those that came once makes room
        if self.counted.len() == COUNTED_MAX {
            let rare = self.counted.iter().position(|counted| counted.urls.count_ones() == 1);
            self.counted.remove(rare.unwrap_or(0));
        }
        self.counted.push(Counted { text, urls: bit });
        1
    }
}

/// The hash of what the page of `url` says, without its numbers and without the URL; `None` where that is nothing.
fn text_of(page: &Page, url: &str) -> Option<u64> {
    let url = url.to_lowercase();
    let path = path_of(&url);
    let text = if path.len() > 1 { page.text.replace(&url, "").replace(path, "") } else { page.text.replace(&url, "") };
    let words = [&*page.title, &*text].into_iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
    let mut words = words.filter(|word| !word.is_empty() && !word.chars().any(char::is_numeric)).peekable();
    words.peek()?;
    let mut hasher = DefaultHasher::new();
    words.for_each(|word| word.hash(&mut hasher));
    Some(hasher.finish())
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn is_front(url: &str) -> bool {
    path_of(url) == "/"
}

/// Scheme, host and port of a canonical URL.
fn origin_of(url: &str) -> &str {
    &url[..url.len() - path_of(url).len()]
}

/// Path and query of a canonical URL.
fn path_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or("", |at| &url[host + at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, text: &str) -> Page {
        Page { title: title.to_owned(), text: text.to_owned(), ..Page::default() }
    }

    fn gone(path: &str) -> Page {
        page("shop", &format!("hier ist nichts: {path}, seit 14:05"))
    }

    #[test]
    fn what_a_host_says_where_a_page_is_gone_is_known_again_whatever_it_repeats_of_the_url() {
        let hosts = Hosts::default();
        assert!(!hosts.asks_for_text("https://a.example/new", 1_000));
        hosts.learn_gone("https://a.example/old", 1_000, || gone("/old"));
        assert!(hosts.asks_for_text("https://a.example/new", 1_100));
        assert!(!hosts.asks_for_text("https://a.example/new", 1_200));
        let like = |url: &str, page: &Page| hosts.compare(url, page).is_of_gone;
        assert!(like("https://a.example/new", &gone("/new")));
        assert!(!like("https://b.example/new", &gone("/new")), "another host");
        assert!(!like("https://a.example/new", &page("shop", "hier ist etwas")));
        assert!(!like("https://a.example/new", &page("", "")));
        // more than it keeps is not even read
        for n in 1..GONE_MAX {
            let text = ["weg", "fort", "nein"][n - 1];
            hosts.learn_gone("https://a.example/old", 1_000, || page("", text));
        }
        hosts.learn_gone("https://a.example/old", 1_000, || unreachable!());
    }

    #[test]
    fn the_front_page_is_never_that_of_what_is_gone() {
        for front_first in [true, false] {
            let hosts = Hosts::default();
            let front = page("shop", "wares of every kind");
            let compare_front = || assert!(!hosts.compare("https://a.example/", &front).is_of_gone);
            if front_first {
                compare_front();
            }
            hosts.learn_gone("https://a.example/old", 1_000, || front.clone());
            compare_front();
            assert!(!hosts.compare("https://a.example/index", &front).is_of_gone);
        }
    }

    #[test]
    fn many_urls_of_one_text_are_told_from_one_that_is_visited_often() {
        let hosts = Hosts::default();
        let is_of_many = |n: u32| hosts.compare(&format!("https://a.example/{n}"), &gone("x")).is_of_many;
        assert!((0..20).all(|_| !is_of_many(1)), "one URL again and again");
        assert!((2..4).all(|n| !is_of_many(n)));
        assert!((4..40).any(is_of_many));
        // others come between, more than are counted
        for text in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            hosts.compare("https://a.example/x", &page("", &text.repeat(3)));
        }
        assert!(is_of_many(8));
    }

    #[test]
    fn hosts_that_are_asked_for_stay_known_and_others_make_room() {
        let hosts = Hosts::default();
        let url = |n: usize| format!("https://h{n}.example/x");
        hosts.learn_gone(&url(0), 100, || gone("x"));
        for n in 1..3 * HOSTS_MAX {
            hosts.learn_gone(&url(n), 100, || gone("x"));
            if n % HOSTS_MAX == 0 {
                assert!(hosts.compare(&url(0), &gone("x")).is_of_gone, "{n}");
            }
        }
        assert!(!hosts.asks_for_text(&url(1), 100));
        let generations = hosts.0.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 2 * HOSTS_MAX);
    }
}
