//! Fields of the head that hold an archived page back: it reaches this server and nothing else.
//!
//! The policy is strict for every page, whether the worker controls it or not. With `http:` and `https:` in it for
//! controlled pages, so that the worker would get what scripts ask of other origins, a frame in a sandbox would
//! inherit the policy without being controlled, and reach the network. So URLs of other origins are led here by the
//! head script, before they are asked for.

use super::message::{Origins, Reply};

/// The rights of a reply in a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// An archived page, whose scripts run.
    Replayed,
    /// An archived page as a rendering left it: its scripts have run.
    Rendered,
    /// Bytes as they are stored: nothing in them runs or loads.
    Stored,
    /// A page of our own at the origin of archived pages.
    Own,
    /// A page at the home origin.
    Home,
}

impl Policy {
    fn text(self, origins: &Origins) -> String {
        let Origins { home, replay } = origins;
        let archived = |scripts: &str| {
            format!(
                "default-src 'self' data: blob: 'unsafe-inline'; script-src {scripts}; frame-src 'self' data: blob:; \
                 worker-src 'self' data: blob:; form-action 'self'; base-uri 'self'; frame-ancestors 'self' {home}"
            )
        };
        match self {
            Policy::Replayed => archived("'self' data: blob: 'unsafe-inline' 'unsafe-eval'"),
            Policy::Rendered => archived("'none'"),
            Policy::Stored => "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'".to_owned(),
            Policy::Own => format!(
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; worker-src 'self'; \
                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self' {home}"
            ),
            Policy::Home => format!(
                "default-src 'none'; script-src 'self'; style-src 'self'; frame-src {replay}; base-uri 'none'; \
                 form-action 'self'; frame-ancestors 'none'"
            ),
        }
    }
}

/// Fields that every reply has, unless it says something else.
const ALWAYS: [(&str, &str); 5] = [
    ("referrer-policy", "no-referrer"),
    ("x-dns-prefetch-control", "off"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=(), hid=(), payment=(), \
         publickey-credentials-get=()",
    ),
];

/// Puts the fields of a policy into a reply.
pub(super) fn hold(reply: Reply, policy: Policy, origins: &Origins) -> Reply {
    let mut reply = reply.with("content-security-policy", policy.text(origins));
    // what is archived is read as its own server had it read
    if matches!(policy, Policy::Own | Policy::Home) {
        reply = reply.with("x-content-type-options", "nosniff");
    }
    let put = |reply: Reply, (name, value)| if reply.field(name).is_some() { reply } else { reply.with(name, value) };
    ALWAYS.into_iter().fold(reply, put)
}
