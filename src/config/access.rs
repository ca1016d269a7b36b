//! The settings with which a site lets the crawler in: names and passwords, tokens, cookies, a login by form.
//!
//! Whatever is secret is not written here but referred to ([`super::reference`]).

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::headers::Headers;
use super::reference::refers;
use super::value::{Setting, inline_table};
use crate::web::login::Sign;

word! {
    /// The time for which cookies are kept.
    Cookies, "\"off\" or \"session\"", "\"session\"" {
        /// Cookies are neither kept nor sent.
        Off = "off",
        /// Cookies are kept as long as the crawl lives.
        Session = "session",
    }
}

/// Reads keys of an inline table into optional texts; `None` for other keys and types, and for a table without any.
fn texts(value: &DeValue<'_>, fields: &mut [(&str, &mut String)]) -> Option<()> {
    let table = value.as_table()?;
    for (key, value) in table {
        let (_, text) = fields.iter_mut().find(|(name, _)| *name == key.get_ref().as_ref())?;
        **text = String::from_toml(value.get_ref())?;
    }
    (!table.is_empty()).then_some(())
}

/// Texts that are not empty, with their keys.
fn written<'a>(texts: &'a [(&'static str, &'a String)]) -> impl Iterator<Item = (&'static str, String)> {
    texts.iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| (*key, text.to_toml()))
}

/// `Authorization` by a name and a password (RFC 7617), or a token (RFC 6750).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Auth {
    /// The name.
    pub user: String,
    /// The password, referred to.
    pub password: String,
    /// A file with it.
    pub password_file: String,
    /// The token, referred to.
    pub bearer: String,
    /// A file with it.
    pub bearer_file: String,
}

/// The reference that a key for a value and one for a file with it come to.
fn reference(value: &str, file: &str) -> String {
    if file.is_empty() { value.to_owned() } else { format!("${{file:{file}}}") }
}

impl Auth {
    /// Returns the reference to the password; empty for none.
    pub(crate) fn password(&self) -> String {
        reference(&self.password, &self.password_file)
    }

    /// Returns the reference to the token; empty for none.
    pub(crate) fn token(&self) -> String {
        reference(&self.bearer, &self.bearer_file)
    }

    /// Returns what is wrong with the settings; `None` where they can be used.
    pub(super) fn problem(&self) -> Option<String> {
        let Auth { user, password, password_file, bearer, bearer_file } = self;
        let both = |one: &String, other: &String| !one.is_empty() && !other.is_empty();
        let (has_password, has_token) = (!self.password().is_empty(), !self.token().is_empty());
        if both(password, password_file) || both(bearer, bearer_file) || has_password && has_token {
            return Some("has more than one of password, password_file, bearer and bearer_file".to_owned());
        }
        if has_token != user.is_empty() || !has_token && !has_password {
            return Some("write user and password, or bearer alone".to_owned());
        }
        if user.contains(':') || !user.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Some("user: must be printable ASCII characters without a colon".to_owned());
        }
        let secret = if has_token { ("bearer", self.token()) } else { ("password", self.password()) };
        is_referred(secret.0, &secret.1).err()
    }
}

/// A secret must not stand in the configuration itself.
pub(super) fn is_referred(name: &str, value: &str) -> Result<(), String> {
    match refers(value) {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(format!("{name}: write ${{NAME}} for a variable of the environment, or ${{file:PATH}} for a file"))
        }
        Err(problem) => Err(format!("{name}: {problem}")),
    }
}

impl Setting for Auth {
    const EXPECTED: &'static str = "a table with user and password or password_file, or with bearer or bearer_file";
    const EXAMPLE: &'static str = "{ user = \"me\", password = \"${SITE_PASSWORD}\" }";
    const IS_SECRET: bool = true;

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let mut auth = Auth::default();
        let Auth { user, password, password_file, bearer, bearer_file } = &mut auth;
        let fields = &mut [
            ("user", user),
            ("password", password),
            ("password_file", password_file),
            ("bearer", bearer),
            ("bearer_file", bearer_file),
        ];
        texts(value, fields).map(|()| auth)
    }

    fn to_toml(&self) -> String {
        let Auth { user, password, password_file, bearer, bearer_file } = self;
        let texts = [
            ("user", user),
            ("password", password),
            ("password_file", password_file),
            ("bearer", bearer),
            ("bearer_file", bearer_file),
        ];
        inline_table(written(&texts))
    }
}

impl Setting for Sign {
    const EXPECTED: &'static str = "a table with selector, redirect, cookie or status";
    const EXAMPLE: &'static str = "{ selector = \"a.logout\" }";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let mut sign = Sign::default();
        let table = value.as_table()?;
        for (key, value) in table {
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "selector" => sign.selector = String::from_toml(value)?,
                "redirect" => sign.redirect = String::from_toml(value)?,
                "cookie" => sign.cookie = String::from_toml(value)?,
                "status" => sign.status = u16::from_toml(value)?,
                _ => return None,
            }
        }
        (!table.is_empty()).then_some(sign)
    }

    fn to_toml(&self) -> String {
        let Sign { selector, redirect, cookie, status } = self;
        let texts = [("selector", selector), ("redirect", redirect), ("cookie", cookie)];
        let status = (*status != 0).then(|| ("status", status.to_toml()));
        inline_table(written(&texts).chain(status))
    }
}

/// A login by a form, or by a message of JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Login {
    /// The URL of the page with the form, or the one that the JSON is sent to.
    pub url: String,
    /// A selector of the form, where the page has several.
    pub form: String,
    /// Fields of the form that are filled in, by name.
    pub fields: Headers,
    /// Members of the JSON, in place of a form.
    pub json: Headers,
    /// The sign by which a login is known to have succeeded.
    pub success: Sign,
    /// The sign on a page by which it is known that a new login is needed.
    pub lost: Sign,
}

impl Login {
    fn of(table: &DeTable<'_>) -> Option<Login> {
        let mut login = Login::default();
        for (key, value) in table {
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "url" => login.url = String::from_toml(value)?,
                "form" => login.form = String::from_toml(value)?,
                "fields" => login.fields = Headers::from_toml(value)?,
                "json" => login.json = Headers::from_toml(value)?,
                "success" => login.success = Sign::from_toml(value)?,
                "lost" => login.lost = Sign::from_toml(value)?,
                _ => return None,
            }
        }
        Some(login)
    }

    /// Returns what is wrong with the login; `None` where it can be used.
    pub(super) fn problem(&self) -> Option<String> {
        let url = url::Url::parse(&self.url).ok().filter(|url| url.has_host() && url.scheme().starts_with("http"));
        if url.is_none() {
            return Some("url: write the URL of the page with the form, or of the API".to_owned());
        }
        if self.fields.0.is_empty() == self.json.0.is_empty() {
            return Some("write fields = { ... } for a form, or json = { ... } for an API".to_owned());
        }
        if !self.json.0.is_empty() && !self.form.is_empty() {
            return Some("form: goes with fields, not with json".to_owned());
        }
        let values = self.fields.0.iter().chain(&self.json.0);
        if let Some(problem) = values.filter_map(|(name, value)| refers(value).err().map(|p| (name, p))).next() {
            return Some(format!("{}: {}", problem.0, problem.1));
        }
        if self.success.is_empty() {
            return Some("success: write how a login that worked is known, such as { cookie = \"sid\" }".to_owned());
        }
        if !self.lost.cookie.is_empty() {
            return Some("lost: a cookie says nothing here; write selector, redirect or status".to_owned());
        }
        let selectors = [("form", &self.form), ("success", &self.success.selector), ("lost", &self.lost.selector)];
        let wrong = selectors.into_iter().filter(|(_, text)| !text.is_empty());
        let wrong = wrong.filter(|(_, text)| scraper::Selector::parse(text).is_err()).map(|(key, _)| key).next();
        wrong.map(|key| format!("{key}: is no CSS selector"))
    }
}

/// The logins of a site, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Logins(pub Vec<Login>);

impl Setting for Logins {
    const EXPECTED: &'static str =
        "[[site.login]] tables with url, fields or json, success, and, where needed, form and lost";
    const EXAMPLE: &'static str =
        "[{ url = \"https://example.org/login\", fields = { user = \"me\" }, success = { cookie = \"sid\" } }]";
    const IS_SECRET: bool = true;

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let tables = value.as_array()?.iter();
        tables.map(|table| Login::of(table.get_ref().as_table()?)).collect::<Option<_>>().map(Logins)
    }

    fn to_toml(&self) -> String {
        let login = |login: &Login| {
            let Login { url, form, fields, json, success, lost } = login;
            let texts = [("url", url), ("form", form)];
            let tables = [("fields", fields), ("json", json)].into_iter().filter(|(_, table)| !table.0.is_empty());
            let signs = [("success", success), ("lost", lost)].into_iter().filter(|(_, sign)| !sign.is_empty());
            let tables = tables.map(|(key, table)| (key, table.to_toml()));
            inline_table(written(&texts).chain(tables).chain(signs.map(|(key, sign)| (key, sign.to_toml()))))
        };
        format!("[{}]", self.0.iter().map(login).collect::<Vec<_>>().join(", "))
    }
}
