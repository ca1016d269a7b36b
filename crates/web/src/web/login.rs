//! A login as a person does it: the form of a page, what is sent with it, and the signs by which it is known how it
//! went.
//!
//! A [`Form`] has what a browser would send if its first button were pressed (HTML, "constructing the entry list"):
//! hidden fields with their tokens, choices as they are preset, and whatever is filled in over them.

use scraper::{ElementRef, Html, Selector};
use serde::{Deserialize, Serialize};

use super::base::base_of;
use super::url::CanonicalUrl;

/// Bytes of a page that are looked at for a form or a sign.
pub const PAGE_BYTES_MAX: usize = 1 << 20;
/// Fields of a form that are sent.
const FIELDS_MAX: usize = 500;

/// Marks by which an answer is known from others. It must have all that are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Sign {
    /// An element of the page.
    pub selector: String,
    /// A part of the URL that the answer redirects to; one that begins with a `/`, of what follows its host.
    pub redirect: String,
    /// The name of a cookie that is there from then on.
    pub cookie: String,
    /// The status.
    pub status: u16,
}

/// The parts of an answer that a sign is looked for in.
#[derive(Clone, Copy, Debug)]
pub struct SignEvidence<'a> {
    /// The status.
    pub status: u16,
    /// The URL that it redirects to.
    pub redirect: Option<&'a str>,
    /// Names of cookies that the next request to this place would have.
    pub cookies: &'a [String],
    /// True if the page has the element of the sign.
    pub has_element: bool,
}

impl Sign {
    /// True if no mark is written.
    pub fn is_empty(&self) -> bool {
        *self == Sign::default()
    }

    /// True if an answer has this sign.
    pub fn is_in(&self, evidence: &SignEvidence<'_>) -> bool {
        let redirect = self.redirect.is_empty() || evidence.redirect.is_some_and(|to| self.names(to));
        let cookie = self.cookie.is_empty() || evidence.cookies.contains(&self.cookie);
        let status = self.status == 0 || self.status == evidence.status;
        let element = self.selector.is_empty() || evidence.has_element;
        !self.is_empty() && redirect && cookie && status && element
    }
}

impl Sign {
    /// True if the URL that an answer redirects to has the part.
    fn names(&self, to: &str) -> bool {
        let is_path = self.redirect.starts_with('/') && !self.redirect.starts_with("//");
        let behind_host = || to.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
        let part = if is_path { behind_host().unwrap_or_default() } else { to };
        part.contains(&*self.redirect)
    }
}

/// True if the page `html` has an element that `selector` matches; one that is no selector matches nothing.
pub fn has_element(html: &str, selector: &str) -> bool {
    let Ok(selector) = Selector::parse(selector) else { return false };
    Html::parse_document(within(html)).select(&selector).next().is_some()
}

fn within(html: &str) -> &str {
    let mut end = html.len().min(PAGE_BYTES_MAX);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    &html[..end]
}

/// A form, ready to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The URL that it is sent to, as it is written; empty for the page itself.
    pub action: String,
    /// The base of that, as it is written; empty for the URL of the page.
    pub base: String,
    /// Names and values.
    pub fields: Vec<(String, String)>,
}

/// The form of the page `html` that `selector` finds, or with an empty one the first form that has a password; an error
/// says why there is none.
pub fn form(html: &str, selector: &str) -> Result<Form, String> {
    let page = Html::parse_document(within(html));
    let wanted = if selector.is_empty() { "form:has(input[type=password i])" } else { selector };
    let found = Selector::parse(wanted).ok().and_then(|wanted| page.select(&wanted).next());
    let Some(element) = found else {
        let what = if selector.is_empty() { "a password field".to_owned() } else { format!("the selector {selector}") };
        return Err(format!("the page has no form with {what}"));
    };
    if element.value().name() != "form" {
        return Err(format!("the selector {selector} finds no form but <{}>", element.value().name()));
    }
    let value_of = |name: &str| element.value().attr(name).unwrap_or_default();
    if !value_of("method").eq_ignore_ascii_case("post") {
        return Err("the form sends its fields in the URL (method GET), where a password must not be".to_owned());
    }
    let coding = value_of("enctype");
    if !coding.is_empty() && !coding.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(format!("the form is sent as {coding}, which is not supported"));
    }
    let base = base_of(&page).unwrap_or_default().to_owned();
    Ok(Form { action: value_of("action").trim().to_owned(), base, fields: fields(element) })
}

/// Returns the names and values that are sent of the controls of a form that nobody has touched but its first button.
fn fields(form: ElementRef<'_>) -> Vec<(String, String)> {
    let controls = Selector::parse("input, select, textarea, button").expect("a selector of names");
    let mut has_button = false;
    let mut fields = Vec::new();
    for control in form.select(&controls).take(FIELDS_MAX) {
        let element = control.value();
        let Some(name) = element.attr("name").filter(|name| !name.is_empty()) else { continue };
        if element.attr("disabled").is_some() {
            continue;
        }
        let kind = element.attr("type").unwrap_or_default().to_ascii_lowercase();
        let value = element.attr("value");
        let sent = match (element.name(), &*kind) {
            ("textarea", _) => Some(control.text().collect()),
            ("select", _) => chosen(control),
            ("input", "checkbox" | "radio") => {
                element.attr("checked").is_some().then(|| value.unwrap_or("on").to_owned())
            }
            ("input", "image" | "file" | "reset" | "button") | ("button", "reset" | "button") => None,
            ("input", "submit") | ("button", _) => {
                (!std::mem::replace(&mut has_button, true)).then(|| value.unwrap_or_default().to_owned())
            }
            _ => Some(value.unwrap_or_default().to_owned()),
        };
        fields.extend(sent.map(|value| (name.to_owned(), value)));
    }
    fields
}

/// The value of a `<select>`: of the option that is marked, or of the first.
fn chosen(select: ElementRef<'_>) -> Option<String> {
    let options = Selector::parse("option").expect("a selector of a name");
    let all: Vec<ElementRef<'_>> = select.select(&options).collect();
    let marked = all.iter().find(|option| option.value().attr("selected").is_some());
    let option = marked.or_else(|| all.first())?;
    let text = || option.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    Some(option.value().attr("value").map_or_else(text, str::to_owned))
}

impl Form {
    /// The URL that it is sent to from the page at `page`, as browsers find it: an empty action is the page itself,
    /// whatever its base. `None` where that is no URL.
    pub fn target(&self, page: &CanonicalUrl) -> Option<CanonicalUrl> {
        if self.action.is_empty() {
            return Some(page.clone());
        }
        let base = page.join(&self.base).ok();
        base.as_ref().unwrap_or(page).join(&self.action).ok()
    }

    /// The body of the request, with `filled` in the place of fields of the same names.
    pub fn body<'a>(&'a self, filled: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
        let is_filled = |name: &str| filled.clone().any(|(own, _)| own == name);
        let preset = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let preset = preset.filter(|(name, _)| !is_filled(name));
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(preset).extend_pairs(filled.clone());
        body.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<form action=/search><input name=q></form>
        <form id=in method=POST action="/session?next=%2F">
          <input type=hidden name=csrf value="t&amp;1"><input name=user><input type=password name=pass>
          <input type=checkbox name=stay checked><input type=checkbox name=news>
          <input type=radio name=where value=a><input type=radio name=where value=b checked>
          <select name=lang><option>en<option selected value=de>German</select><textarea name=note>a b</textarea>
          <input name=off disabled value=1><button name=go value=1>In</button><input type=submit name=other value=2>
        </form>"#;

    #[test]
    fn a_form_is_sent_as_a_browser_sends_it() {
        let form = form(PAGE, "").unwrap();
        assert_eq!(form.action, "/session?next=%2F");
        let filled = [("user", "me"), ("pass", "p&w ü")];
        assert_eq!(
            form.body(filled.into_iter()),
            "csrf=t%261&stay=on&where=b&lang=de&note=a+b&go=1&user=me&pass=p%26w+%C3%BC"
        );
    }

    #[test]
    fn an_action_is_resolved_against_the_base_of_its_page() {
        let page = CanonicalUrl::parse("https://a.example/login?next=x").unwrap();
        let target = |html: &str| form(html, "").unwrap().target(&page).unwrap().as_str().to_owned();
        let with = |head: &str, action: &str| {
            target(&format!("{head}<form method=post action='{action}'><input type=password name=p></form>"))
        };
        assert_eq!(with("<base href=/app/>", "do"), "https://a.example/app/do");
        assert_eq!(with("<base href=/app/>", ""), "https://a.example/login?next=x");
        assert_eq!(with("<base href=/app/>", "?a"), "https://a.example/app/?a");
        assert_eq!(with("<template><base href=/no/></template>", "do"), "https://a.example/do");
        assert_eq!(with("<base href='data:x'>", "do"), "https://a.example/do");
    }

    #[test]
    fn what_is_no_login_form_is_said() {
        for (selector, said) in [
            ("#no", "no form with the selector #no"),
            ("form", "in the URL (method GET)"),
            ("input", "finds no form but <input>"),
        ] {
            assert!(form(PAGE, selector).unwrap_err().contains(said), "{selector}");
        }
        assert!(form("<p>", "").unwrap_err().contains("a password field"));
        let upload = "<form method=post enctype=multipart/form-data><input type=password name=p></form>";
        assert!(form(upload, "").unwrap_err().contains("multipart/form-data"));
    }

    #[test]
    fn a_sign_is_all_that_is_written_in_it() {
        let sign = Sign { redirect: "/login".to_owned(), status: 302, ..Sign::default() };
        let evidence =
            SignEvidence { status: 302, redirect: Some("https://a/login?x"), cookies: &[], has_element: false };
        assert!(sign.is_in(&evidence));
        let leads = |sign: &str, to| {
            Sign { redirect: sign.to_owned(), ..Sign::default() }
                .is_in(&SignEvidence { redirect: Some(to), ..evidence })
        };
        assert!(!leads("/login", "https://login.a/members") && leads("/login", "https://login.a/login"));
        assert!(leads("//login.", "https://login.a/members") && leads("login.", "https://login.a/members"));
        assert!(leads("/login", "https://a/members?next=/login") && !leads("/login", "https://a"));
        assert!(
            !sign.is_in(&SignEvidence { status: 303, ..evidence })
                && !sign.is_in(&SignEvidence { redirect: None, ..evidence })
        );
        assert!(!Sign::default().is_in(&evidence), "nothing is no sign");
        let cookie = Sign { cookie: "sid".to_owned(), ..Sign::default() };
        assert!(!cookie.is_in(&evidence) && cookie.is_in(&SignEvidence { cookies: &["sid".to_owned()], ..evidence }));
        assert!(has_element("<p><a class=out>", "a.out") && !has_element("<p>", "a.out") && !has_element("<p>", "("));
    }
}
