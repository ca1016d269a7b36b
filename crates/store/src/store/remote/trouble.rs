//! Faults between here and a store: an answer that is no success, or none. The crate `object_store` carries it in its
//! errors, and here it is found again there and reported as an error of a store, without secrets.

use std::error::Error as StdError;

use hyper::StatusCode;

use crate::store::Error;

/// Characters of a store's words that are shown.
const WORDS_MAX: usize = 300;

/// A fault that came instead of success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An answer.
    #[error("{}", self.message_text())]
    Answer {
        /// Its status.
        status: StatusCode,
        /// The store's code for it, where the body has one.
        code: String,
        /// Its sentence.
        message: String,
        /// Region of the bucket, where the answer says it.
        region: Option<String>,
    },
    /// None, and why.
    #[error("{0}")]
    NoAnswer(String),
    /// One that looks like success, and that the crate does not understand.
    #[error("{0}")]
    Strange(String),
    /// Nothing was sent, because it may not be.
    #[error("{0}")]
    NotSent(String),
}

impl Trouble {
    /// Makes the fault of an answer from its status, region and body.
    pub(crate) fn answer(status: StatusCode, region: Option<String>, body: &str) -> Trouble {
        let of = |tag: &str| {
            let json = serde_json::from_str::<serde_json::Value>(body).ok();
            let json = json.and_then(|json| Some(json.pointer(&format!("/error/{}", tag.to_lowercase()))?.to_string()));
            element(body, tag).or(json).map(|text| harmless(&text)).unwrap_or_default()
        };
        Trouble::Answer { status, code: of("Code"), message: of("Message"), region }
    }

    /// Returns the fault that an error of the crate is about. If it never came to the network, the words are the
    /// crate's.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Trouble {
        let mut cause = Some(error);
        while let Some(at) = cause {
            if let Some(trouble) = at.downcast_ref::<Trouble>() {
                return trouble.clone();
            }
            cause = at.source();
        }
        match error.downcast_ref() {
            // each deletion of Azure has an answer within the answer to a batch, which the crate reads itself
            Some(object_store::Error::NotFound { .. }) => Trouble::answer(StatusCode::NOT_FOUND, None, ""),
            _ => Trouble::Strange(harmless(&error.to_string())),
        }
    }

    /// Turns the fault into an error of object `name`.
    pub(crate) fn at(self, name: &str) -> Error {
        let words = self.to_string();
        match &self {
            Trouble::NotSent(_) => Error::refused(name, words),
            Trouble::NoAnswer(_) | Trouble::Strange(_) => Error::unavailable(name, words),
            Trouble::Answer { .. } if self.is_not_found() => Error::not_found(name),
            Trouble::Answer { .. } if self.is_transient() => Error::unavailable(name, words),
            Trouble::Answer { .. } => Error::refused(name, words),
        }
    }

    /// Returns whether there is an object of the name already, or one is about to be.
    pub(crate) fn is_taken(&self) -> bool {
        self.has_status(&[StatusCode::PRECONDITION_FAILED, StatusCode::CONFLICT])
    }

    /// Returns whether there is no such object.
    pub(crate) fn is_not_found(&self) -> bool {
        self.has_status(&[StatusCode::NOT_FOUND]) && !self.is_bucket_missing() && !self.is_upload_forgotten()
    }

    /// Returns whether the store knows nothing of a multipart upload: it lost it, or a life-cycle rule has removed it.
    pub(crate) fn is_upload_forgotten(&self) -> bool {
        // Azure's is the second
        const CODES: [&str; 2] = ["NoSuchUpload", "InvalidBlockList"];
        matches!(self, Trouble::Answer { code, .. } if CODES.contains(&code.as_str()))
    }

    /// Returns whether the store does not know what was asked of it.
    pub(crate) fn is_unknown_request(&self) -> bool {
        self.has_status(&[StatusCode::NOT_IMPLEMENTED])
    }

    /// Returns whether the object ends before the bytes that were asked for.
    pub(crate) fn is_out_of_range(&self) -> bool {
        self.has_status(&[StatusCode::RANGE_NOT_SATISFIABLE])
    }

    /// Returns whether a server says that a request makes no sense, and not why: stores say why, and a request that
    /// came to this one was cut short on its way.
    pub(crate) fn is_cut_short(&self) -> bool {
        matches!(self, Trouble::Answer { status, code, region: None, .. }
            if *status == StatusCode::BAD_REQUEST && code.is_empty())
    }

    fn has_status(&self, wanted: &[StatusCode]) -> bool {
        matches!(self, Trouble::Answer { status, .. } if wanted.contains(status))
    }

    fn is_bucket_missing(&self) -> bool {
        matches!(self, Trouble::Answer { code, .. } if ["NoSuchBucket", "ContainerNotFound"].contains(&code.as_str()))
    }

    fn is_transient(&self) -> bool {
        // a session whose time is over is renewed by others, in the file of the credentials
        const CODES: [&str; 4] = ["ExpiredToken", "RequestTimeout", "InvalidPart", "SlowDown"];
        match self {
            Trouble::Answer { status, code, .. } => {
                let is_busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT];
                CODES.contains(&code.as_str())
                    || self.is_upload_forgotten()
                    || is_busy.contains(status)
                    || (status.is_server_error() && *status != StatusCode::NOT_IMPLEMENTED)
            }
            Trouble::NoAnswer(_) | Trouble::Strange(_) => true,
            Trouble::NotSent(_) => false,
        }
    }

    fn message_text(&self) -> String {
        let Trouble::Answer { status, code, message, region } = self else { return String::new() };
        let mut words = match (code.is_empty(), message.is_empty()) {
            (true, true) => format!("it answers {status}"),
            (true, false) => message.clone(),
            (false, true) => code.clone(),
            (false, false) => format!("{message} ({code})"),
        };
        if let Some(region) = region.as_deref().filter(|_| !status.is_success() && !status.is_server_error()) {
            words += &format!("; the bucket is in the region {}: check AWS_REGION", harmless(region));
        } else if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(status) {
            words += "; check the credentials and what they permit";
        }
        words
    }
}

/// The text of the first element of XML that is called `tag`.
fn element(body: &str, tag: &str) -> Option<String> {
    let (_, after) = body.split_once(&format!("<{tag}>"))?;
    let (text, _) = after.split_once(&format!("</{tag}>"))?;
    Some(text.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">"))
}

/// `text` without what could be a secret (queries of URLs have signatures and tokens) or control a terminal, and not
/// too long.
pub fn harmless(text: &str) -> String {
    let mut out = String::new();
    let mut is_query = false;
    for letter in text.trim().trim_matches('"').chars() {
        is_query = if letter == '?' { true } else { is_query && !(letter.is_whitespace() || "\"')>".contains(letter)) };
        if !is_query && !letter.is_control() {
            out.push(letter);
        }
    }
    match out.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}...", &out[..end]),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Error {
        Trouble::answer(StatusCode::from_u16(status).unwrap(), None, body).at("a/b")
    }

    #[test]
    fn answers_of_stores_become_errors_that_say_whether_to_ask_again() {
        let xml = |code: &str| format!("<?xml?><Error><Code>{code}</Code><Message>So it is.</Message></Error>");
        assert_eq!(answer(404, &xml("NoSuchKey")).to_string(), "a/b: no such object in the store");
        let missing = answer(404, &xml("NoSuchBucket"));
        assert_eq!(missing.to_string(), "a/b: the store refuses: So it is. (NoSuchBucket)");
        assert!(
            answer(403, &xml("SignatureDoesNotMatch"))
                .to_string()
                .ends_with("check the credentials and what they permit")
        );
        for (status, code, is_transient) in [
            (500, "InternalError", true),
            (503, "SlowDown", true),
            (429, "", true),
            (400, "ExpiredToken", true),
            (400, "InvalidRequest", false),
            (501, "NotImplemented", false),
            (403, "AccessDenied", false),
            (301, "PermanentRedirect", false),
        ] {
            assert_eq!(answer(status, &xml(code)).is_transient(), is_transient, "{status} {code}");
        }
        let forgotten = Trouble::answer(StatusCode::NOT_FOUND, None, &xml("NoSuchUpload"));
        assert!(forgotten.is_upload_forgotten() && !forgotten.is_not_found());
        let blocks = Trouble::answer(StatusCode::BAD_REQUEST, None, &xml("InvalidBlockList"));
        assert!(blocks.is_upload_forgotten() && blocks.at("a").is_transient());
        let deleted = object_store::Error::NotFound { path: "a".to_owned(), source: "in a batch".into() };
        assert!(Trouble::of(&deleted).is_not_found());
        let google = r#"{"error": {"code": 403, "message": "no access to it"}}"#;
        assert!(answer(403, google).to_string().contains("no access to it"));
        let elsewhere = Trouble::answer(StatusCode::MOVED_PERMANENTLY, Some("eu-west-1".into()), "");
        assert!(elsewhere.at("a").to_string().contains("in the region eu-west-1: check AWS_REGION"));
    }

    #[test]
    fn what_is_told_has_no_query_no_control_character_and_an_end() {
        let told =
            harmless("GET https://host/a?sig=SECRET&x=1 in 3 s (https://h/?WebIdentityToken=SECRET) \u{1b}[31mred\n");
        assert_eq!(told, "GET https://host/a in 3 s (https://h/) [31mred");
        assert!(harmless(&"x".repeat(5_000)).len() < 400);
        assert!(
            !answer(400, "<Error><Message>see https://h/?token=SECRET now</Message></Error>")
                .to_string()
                .contains("SECRET")
        );
    }
}
