//! Fields of the head that hold an archived page back: it reaches this server and nothing else.
//!
//! The policy is strict for every page, whether the worker controls it or not. With `http:` and `https:` in it for
//! controlled pages, so that the worker would get what scripts ask of other origins, a frame in a sandbox would
//! inherit the policy without being controlled, and reach the network. So URLs of other origins are led here by the
//! head script, before they are asked for.

use super::message::{Question, Reply};

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
    fn text(self, question: &Question) -> String {
        let (home, frames) = (&question.origins.home, question.origins.frame_sources());
        let sites = question.origins.site_sources();
        // the home page may have been opened by another name of this machine
        let port = home.rsplit_once(':').map_or("", |(_, port)| port);
        let homes = if sites.is_empty() { home.clone() } else { format!("{home} http://localhost:{port}{sites}") };
        let own = if question.site.is_some() { format!("'self'{sites}") } else { "'self'".to_owned() };
        let archived = |scripts: &str| {
            format!(
                "default-src {own} data: blob: 'unsafe-inline'; script-src {scripts}; frame-src {own} data: blob:; \
                 worker-src {own} data: blob:; form-action {own}; base-uri {own}; frame-ancestors 'self' {homes}"
            )
        };
        match self {
            Policy::Replayed => archived(&format!("{own} data: blob: 'unsafe-inline' 'unsafe-eval'")),
            Policy::Rendered => archived("'none'"),
            Policy::Stored => "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'".to_owned(),
            Policy::Own => format!(
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; worker-src 'self'; \
                 connect-src 'self'{sites}; base-uri 'none'; form-action 'none'; frame-ancestors 'self' {homes}"
            ),
            Policy::Home => format!(
                "default-src 'none'; script-src 'self'; style-src 'self'; frame-src {frames}; base-uri 'none'; \
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

/// Fields of replies at origins of archived origins, whose names only archived pages know: they may ask each other.
const BETWEEN: [(&str, &str); 3] = [
    ("cross-origin-resource-policy", "cross-origin"),
    ("referrer-policy", "strict-origin-when-cross-origin"),
    // pages may relax `document.domain`
    ("origin-agent-cluster", "?0"),
];

/// Puts the fields of a policy into the reply to a question.
pub(super) fn hold(reply: Reply, policy: Policy, question: &Question) -> Reply {
    let mut reply = reply.with("content-security-policy", policy.text(question));
    // what is archived is read as its own server had it read
    if matches!(policy, Policy::Own | Policy::Home) {
        reply = reply.with("x-content-type-options", "nosniff");
    }
    if question.site.is_some() {
        reply = BETWEEN.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value));
        if let Some(origin) = question.field("origin") {
            let credentials = "access-control-allow-credentials";
            reply = reply.with("access-control-allow-origin", origin).with(credentials, "true");
        }
    }
    let put = |reply: Reply, (name, value)| if reply.field(name).is_some() { reply } else { reply.with(name, value) };
    ALWAYS.into_iter().fold(reply, put)
}
