//! The icon that browsers ask an origin for whose page names none.

use crate::web::html::{Link, LinkKind};
use crate::web::url::{CanonicalUrl, KeyMaker, Keys};

/// Path at which browsers look for it.
const PATH: &str = "/favicon.ico";

/// Icons of origins. The one that was asked for last is kept, as pages of an origin come in a row.
#[derive(Default)]
pub(super) struct Favicons {
    last: Option<Favicon>,
}

struct Favicon {
    origin: String,
    url: CanonicalUrl,
    keys: Keys,
}

impl Favicons {
    /// The icon of the origin of `page`.
    pub(super) fn of(&mut self, page: &CanonicalUrl, keys: &KeyMaker) -> Option<Link> {
        let origin = page.origin();
        if self.last.as_ref().is_none_or(|favicon| favicon.origin != origin) {
            let url = page.join(PATH).ok()?;
            let keys = keys.keys(&url);
            self.last = Some(Favicon { origin, url, keys });
        }
        let Favicon { url, keys, .. } = self.last.as_ref()?;
        Some(Link { url: url.clone(), kind: LinkKind::Embed, keys: *keys })
    }
}
