//! A login as it is configured, and the steps that it is done in.

use crate::web::login::Sign;
use crate::web::secret::Secret;
use crate::web::url::CanonicalUrl;

/// A login as it is configured.
#[derive(Debug, PartialEq)]
pub struct LoginPlan {
    /// URL at which the form is found, or to which the message goes.
    pub url: CanonicalUrl,
    /// The message that is sent.
    pub message: Message,
    /// The sign of a login that worked.
    pub success: Sign,
    /// The sign of a page that asks for a new login; where nothing is said, it redirects to the login's URL, or has the
    /// status 401.
    pub lost: Sign,
}

/// The message of a login.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// The form that a selector finds, or the first with a password, with these fields filled in.
    Form {
        /// The selector, or nothing.
        selector: String,
        /// Names and values.
        filled: Vec<(String, Secret)>,
    },
    /// An object of JSON with these members.
    Json(Vec<(String, Secret)>),
}

/// The next request of a login.
#[derive(Debug)]
pub enum LoginStep {
    /// The page with the form.
    Form,
    /// The form, or the message.
    Submit(Submission),
    /// The URL to which the answer to it redirects.
    Follow,
}

/// The body of a POST.
#[derive(Debug)]
pub struct Submission {
    /// Its media type.
    pub content_type: &'static str,
    /// The page that it is sent from, by which servers know that the form is their own.
    pub referrer: Option<CanonicalUrl>,
    /// Itself.
    pub body: Secret,
}
