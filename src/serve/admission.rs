//! The check of the token of an archive that is served with one.
//!
//! The address that the command prints has the token. Who opens it gets a cookie that scripts cannot read, and goes on
//! without it in the address; programs bring the token as a bearer (RFC 6750).

use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap};
use hyper::{Request, Response, StatusCode};
use url::form_urlencoded;

use super::asking::{refused, response};
use super::token::Token;
use crate::replay::Reply;
use crate::server::Body;

const WHY: &str = "this archive is for who has its token: open the whole address that the command has printed";

/// The answer to a request that does not have the token, or brings it in its address; nothing where it may go on. The
/// archive has this port.
pub(super) fn answer<B>(request: &Request<B>, token: &Token, port: u16) -> Option<Response<Body>> {
    let cookie = format!("crawler-archive-{port}");
    if has_token(request.headers(), token, &cookie) {
        return None;
    }
    let query = request.uri().query().unwrap_or_default();
    let brought = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "token");
    if !brought.is_some_and(|(_, value)| token.is(value.as_bytes())) {
        return Some(refused(StatusCode::UNAUTHORIZED, WHY));
    }
    let fields = [
        ("location", "/".to_owned()),
        ("set-cookie", format!("{cookie}={}; Path=/; HttpOnly; SameSite=Lax", token.as_text())),
        ("cache-control", "no-store".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value)).into();
    Some(response(Reply { status: StatusCode::SEE_OTHER.as_u16(), fields, body: Vec::new() }))
}

fn has_token(headers: &HeaderMap, token: &Token, cookie: &str) -> bool {
    let cookies = headers.get_all(COOKIE).iter().flat_map(|field| field.as_bytes().split(|&byte| byte == b';'));
    let of_name =
        |pair: &[u8]| pair.trim_ascii().strip_prefix(cookie.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    let has_cookie = cookies.filter_map(of_name).any(|value| token.is(&value));
    let bearer = headers.get(AUTHORIZATION).and_then(|field| field.as_bytes().strip_prefix(b"Bearer "));
    has_cookie || bearer.is_some_and(|bearer| token.is(bearer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_brought_by_cookie_bearer_or_once_by_the_address() {
        let token = Token::new().unwrap();
        let (right, wrong) = (token.as_text().to_owned(), "0".repeat(32));
        let ask = |uri: &str, name: &str, value: &str| {
            answer(&Request::get(uri).header(name, value).body(()).unwrap(), &token, 9160)
        };
        for (name, value) in [
            ("cookie", format!("a=b; crawler-archive-9160={right}")),
            ("cookie", format!("crawler-archive-9160={wrong}; crawler-archive-9160={right}")),
            ("authorization", format!("Bearer {right}")),
        ] {
            assert!(ask("/x", name, &value).is_none(), "{name}: {value}");
        }
        for (name, value) in [
            ("cookie", format!("crawler-archive-9160={wrong}")),
            ("cookie", format!("crawler-archive-9161={right}")),
            ("cookie", format!("x-crawler-archive-9160={right}")),
            ("authorization", format!("Basic {right}")),
            ("x-crawler-token", right.clone()),
        ] {
            assert_eq!(ask("/x", name, &value).unwrap().status(), 401, "{name}: {value}");
        }
        let entered = ask(&format!("/?token={right}"), "accept", "*/*").unwrap();
        assert_eq!((entered.status(), &entered.headers()["location"]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
        let cookie = entered.headers()["set-cookie"].to_str().unwrap();
        assert!(
            cookie.starts_with(&format!("crawler-archive-9160={right};")) && cookie.contains("HttpOnly"),
            "{cookie}"
        );
        assert_eq!(ask(&format!("/?token={wrong}"), "accept", "*/*").unwrap().status(), 401);
    }
}
