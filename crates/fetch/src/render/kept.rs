//! Answers that are kept for other pages: the same scripts, style sheets and fonts belong to all pages of a site.
//!
//! What is kept was asked for by the engine and is in the archive. It is given to other pages while it is fresh: as
//! long as its `Cache-Control` says; scripts, style sheets, pictures, fonts and icons that say nothing, or only that
//! they should be asked about again, for a time that the crawl sets: within a crawl they are taken for what they were,
//! also for missing. What must not be stored (`no-store`), or differs by more than its URL (`Vary` by cookies or by
//! anything), is not kept.
//!
//! Sites share nothing: what a page of one registrable domain was given is kept for pages of that domain alone, as in
//! browsers. An answer may have come by a login, and must not be read by the scripts of another site.
//!
//! Bytes are bounded; what was not used for the longest goes first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::browser::ResourceKind;
use crate::contract::Resource;
use crate::web::url::CanonicalUrl;

/// One that is longer is not kept, as a part of the bytes of all.
const LARGEST_PART: usize = 4;

/// The answers that are kept.
#[derive(Debug)]
pub(super) struct Kept {
    bytes_max: usize,
    usually: Duration,
    state: Mutex<State>,
}

/// The key of an answer that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// Registrable domain of the page.
    site: String,
    /// URL of the answer.
    url: String,
}

#[derive(Debug, Default)]
struct State {
    by_key: HashMap<Key, Entry>,
    bytes: usize,
    /// Uses so far.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    resource: Arc<Resource>,
    until: Instant,
    used: u64,
}

impl Kept {
    /// Room for `bytes_max` bytes, each `usually` for this long.
    pub(super) fn new(bytes_max: usize, usually: Duration) -> Kept {
        Kept { bytes_max, usually, state: Mutex::default() }
    }

    /// The answer for `url` to a page of `site`, if one is kept and fresh.
    pub(super) fn get(&self, site: &str, url: &CanonicalUrl) -> Option<Arc<Resource>> {
        let key = Key::of(site, url);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock += 1;
        let clock = state.clock;
        let entry = state.by_key.get_mut(&key)?;
        if entry.until <= Instant::now() {
            state.remove(&key);
            return None;
        }
        entry.used = clock;
        Some(entry.resource.clone())
    }

    /// Keeps the answer for `url` to a page of `site`, which was wanted for `kind`, if it may be.
    pub(super) fn put(&self, site: &str, url: &CanonicalUrl, kind: ResourceKind, resource: &Arc<Resource>) {
        let Some(time) = fresh_for(resource, kind, self.usually) else { return };
        let bytes = bytes_of(resource);
        if bytes > self.bytes_max / LARGEST_PART {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key::of(site, url);
        state.remove(&key);
        while state.bytes + bytes > self.bytes_max {
            let oldest = state.by_key.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            state.remove(&oldest);
        }
        state.clock += 1;
        let entry = Entry { resource: resource.clone(), until: Instant::now() + time, used: state.clock };
        state.bytes += bytes;
        state.by_key.insert(key, entry);
    }
}

impl Key {
    fn of(site: &str, url: &CanonicalUrl) -> Key {
        Key { site: site.to_owned(), url: url.as_str().to_owned() }
    }
}

impl State {
    fn remove(&mut self, key: &Key) {
        if let Some(gone) = self.by_key.remove(key) {
            self.bytes -= bytes_of(&gone.resource);
        }
    }
}

fn bytes_of(resource: &Resource) -> usize {
    let headers: usize = resource.headers.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
    resource.body.len() + headers + 256
}

/// Returns how long an answer may be given to other pages.
fn fresh_for(resource: &Resource, kind: ResourceKind, usually: Duration) -> Option<Duration> {
    let field = |wanted: &str| {
        let named = resource.headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| value.to_ascii_lowercase()).collect::<Vec<_>>().join(",")
    };
    let (control, vary) = (field("cache-control"), field("vary"));
    let varies = vary.split(',').map(str::trim).any(|by| matches!(by, "*" | "cookie" | "authorization"));
    let mut directives = control.split(',').map(str::trim);
    // browsers give icons no separate kind
    let is_part = match kind {
        ResourceKind::Script
        | ResourceKind::Stylesheet
        | ResourceKind::Image
        | ResourceKind::Font
        | ResourceKind::Other => true,
        ResourceKind::Document
        | ResourceKind::Media
        | ResourceKind::Fetch
        | ResourceKind::Ping
        | ResourceKind::Prefetch => false,
    };
    let is_known = resource.status == 200 || is_part && matches!(resource.status, 404 | 410);
    if !is_known || varies || directives.clone().any(|directive| directive == "no-store") {
        return None;
    }
    let stated = directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok());
    let stated = Duration::from_secs(stated.unwrap_or(0));
    let time = if is_part { stated.max(usually) } else { stated };
    (!time.is_zero()).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize, control: &str) -> Arc<Resource> {
        let headers = vec![("Cache-Control".to_owned(), control.to_owned())];
        Arc::new(Resource { status: 200, headers, body: vec![0; bytes] })
    }

    fn url(path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://a.example/{path}")).unwrap()
    }

    #[test]
    fn what_may_be_kept_is_kept_for_as_long_as_it_says() {
        let hour = Duration::from_secs(3_600);
        let of = |control: &str, kind| fresh_for(&answer(1, control), kind, hour);
        assert_eq!(of("", ResourceKind::Script), Some(hour));
        assert_eq!(of("no-cache", ResourceKind::Font), Some(hour));
        assert_eq!(of("public, max-age=7200", ResourceKind::Image), Some(2 * hour));
        assert_eq!(of("max-age=60", ResourceKind::Fetch), Some(Duration::from_secs(60)));
        assert_eq!((of("", ResourceKind::Fetch), of("no-store", ResourceKind::Script)), (None, None));
        assert_eq!(of("", ResourceKind::Other), Some(hour), "icons have no kind of their own");
        let answered = |status, kind| fresh_for(&Resource { status, ..(*answer(1, "")).clone() }, kind, hour);
        assert_eq!(answered(404, ResourceKind::Other), Some(hour), "a missing icon is missing for every page");
        assert_eq!((answered(404, ResourceKind::Fetch), answered(503, ResourceKind::Image)), (None, None));
        let varies = Resource {
            status: 200,
            headers: vec![("vary".to_owned(), "Accept-Encoding, Cookie".to_owned())],
            body: Vec::new(),
        };
        assert_eq!(fresh_for(&varies, ResourceKind::Script, hour), None);
    }

    #[test]
    fn bytes_are_bounded_and_what_was_not_used_goes_first() {
        let kept = Kept::new(10_000, Duration::from_secs(60));
        for n in 0..4 {
            kept.put("a.example", &url(&n.to_string()), ResourceKind::Script, &answer(2_000, ""));
        }
        assert!((0..4).all(|n| kept.get("a.example", &url(&n.to_string())).is_some()));
        assert!(kept.get("a.example", &url("0")).is_some());
        kept.put("a.example", &url("more"), ResourceKind::Script, &answer(2_000, ""));
        assert!(kept.get("a.example", &url("0")).is_some() && kept.get("a.example", &url("1")).is_none());
        kept.put("a.example", &url("large"), ResourceKind::Script, &answer(5_000, ""));
        assert!(kept.get("a.example", &url("large")).is_none());
        assert!(kept.state.lock().unwrap().bytes <= 10_000);
    }

    #[test]
    fn a_site_is_given_nothing_that_another_one_was_given() {
        let kept = Kept::new(10_000, Duration::from_secs(60));
        kept.put("a.example", &url("app.js"), ResourceKind::Script, &answer(10, ""));
        assert!(kept.get("a.example", &url("app.js")).is_some());
        assert!(kept.get("b.example", &url("app.js")).is_none());
    }
}
