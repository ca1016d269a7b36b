//! Sites that show less to a crawler than to a person: what of their answers says so.

use crate::contract::{Findings, Response};
use crate::engine::is_of_seed;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::record::Oddity;
use crate::web::headers;
use crate::web::url::{CanonicalUrl, Keys};

/// Finds the reason for which a crawler does not come to the page of `url`, although its request for `asked`, which
/// `via` named, was answered.
pub(in crate::engine) fn oddity_of(
    asked: &CanonicalUrl,
    via: Option<&str>,
    url: &QueuedUrl,
    response: &Response,
    keeps_cookies: bool,
    findings: &Findings,
    key: Fingerprint,
) -> Option<Oddity> {
    let sets_cookie = || !keeps_cookies && headers::named(&response.headers, "set-cookie").next().is_some();
    let leads_back = |(target, keys): &(CanonicalUrl, Keys)| {
        let came_from = url.hops.redirects() > 0 && via == Some(target.as_str()) && target.host() == asked.host();
        keys.key == key || came_from
    };
    match response.status {
        401 if is_of_seed(url) => Some(Oddity::Login),
        300..=399 if findings.redirect.as_ref().is_some_and(leads_back) && sets_cookie() => Some(Oddity::CookieWall),
        _ if findings.is_scripts => Some(Oddity::Scripts),
        _ => None,
    }
}
