//! A line of a seed file that is a request: `{"url": ..., "method": ..., "headers": {...}, "body": ...}`.

use serde_json::{Map, Value};

use crate::web::request::{Method, Request};
use crate::web::url::CanonicalUrl;

const KNOWN: &str = "url, method, headers, body, json, form";

/// The address that a line means; says what is wrong with which field.
pub fn parse_line(text: &str) -> Result<CanonicalUrl, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(mut line) = value else { return Err("not an object of JSON".to_owned()) };
    let mut string = |name: &str| match line.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name}: write a string")),
    };
    let url = string("url")?.ok_or("url: is missing")?;
    let url = CanonicalUrl::parse(&url).map_err(|error| format!("url: {error}"))?;
    let method = string("method")?;
    let body = string("body")?;
    let mut fields = match line.remove("headers") {
        None => Vec::new(),
        Some(Value::Object(fields)) => {
            fields.into_iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>()?
        }
        Some(_) => return Err("headers: write an object of names and values".to_owned()),
    };
    let (json, form) = (line.remove("json"), line.remove("form"));
    if let Some(name) = line.keys().next() {
        return Err(format!("{name}: there is no such field; there are {KNOWN}"));
    }
    if [body.is_some(), json.is_some(), form.is_some()].into_iter().filter(|&is| is).count() > 1 {
        return Err("write one of body, json and form".to_owned());
    }
    let (body, mime) = match (body, json, form) {
        (Some(body), ..) => (Some(body), None),
        (_, Some(json), _) => (Some(json.to_string()), Some("application/json")),
        (.., Some(Value::Object(form))) => (Some(urlencoded(form)?), Some("application/x-www-form-urlencoded")),
        (.., Some(_)) => return Err("form: write an object of names and values".to_owned()),
        (None, None, None) => (None, None),
    };
    if let Some(mime) = mime
        && !fields.iter().any(|(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type"))
    {
        fields.push(("content-type".to_owned(), mime.to_owned()));
    }
    let method = match method {
        Some(name) => Method::parse(&name).ok_or(format!("method: {name} is neither GET nor POST"))?,
        None if body.is_some() => Method::Post,
        None => Method::Get,
    };
    let request = Request::new(method, fields, body.unwrap_or_default())?;
    url.with_request(&request).map_err(|error| format!("url: {error}"))
}

fn header(name: String, value: Value) -> Result<(String, String), String> {
    match value {
        Value::String(value) => Ok((name, value)),
        _ => Err(format!("headers: {name}: write a string")),
    }
}

/// The fields of a form as browsers send them; a list is a field for each of its values.
fn urlencoded(form: Map<String, Value>) -> Result<String, String> {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in form {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            match value {
                Value::String(text) => body.append_pair(&name, &text),
                Value::Number(_) | Value::Bool(_) => body.append_pair(&name, &value.to_string()),
                _ => return Err(format!("form: {name}: write a string, a number, or a list of them")),
            };
        }
    }
    Ok(body.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_address() {
        for (line, address) in [
            (r#"{"url": "http://a.example/x#y"}"#, "http://a.example/x"),
            (r#"{"url": "http://a.example/x", "headers": {"Accept": "a/b"}}"#, "http://a.example/x#~GET&accept:a/b"),
            (r#"{"url": "http://a.example/x", "method": "post"}"#, "http://a.example/x#~POST"),
            (
                r#"{"url": "http://a.example/x", "json": {"b": [1, null], "a": "ü"}}"#,
                "http://a.example/x#~POST&content-type:application/json&&{%22a%22:%22%C3%BC%22,%22b%22:[1,null]}",
            ),
            (
                r#"{"url": "http://a.example/x?y", "form": {"q": "a b&c", "p": [1, 2]}}"#,
                "http://a.example/x?y#~POST&content-type:application/x-www-form-urlencoded&&p=1&p=2&q=a+b%2526c",
            ),
        ] {
            assert_eq!(parse_line(line).map(|url| url.as_str().to_owned()), Ok(address.to_owned()), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        for (line, why) in [
            ("{", "not JSON: "),
            ("{}", "url: is missing"),
            (r#"{"url": 1}"#, "url: write a string"),
            (r#"{"url": "ftp://a/"}"#, "url: only http and https"),
            (r#"{"url": "http://a/", "metod": "GET"}"#, "metod: there is no such field; there are url, method"),
            (r#"{"url": "http://a/", "method": "DELETE"}"#, "method: DELETE is neither GET nor POST"),
            (r#"{"url": "http://a/", "method": "GET", "body": "x"}"#, "a GET has no body"),
            (r#"{"url": "http://a/", "body": "x", "json": 1}"#, "write one of body, json and form"),
            (r#"{"url": "http://a/", "form": [1]}"#, "form: write an object"),
            (r#"{"url": "http://a/", "headers": {"Cookie": "x"}}"#, "headers: cookie is a secret"),
            (r#"{"url": "http://a/", "headers": {"x": 1}}"#, "headers: x: write a string"),
        ] {
            let found = parse_line(line).unwrap_err();
            assert!(found.starts_with(why), "{line}: {found}");
        }
    }
}
