//! Memento (RFC 7089): how captures of a URL are found by time, as fields of the head and as lists.

use serde_json::json;

use crate::web::url::CanonicalUrl;

use super::address::{Form, path, written};
use super::captures::Capture;
use super::moment::{digits, http_date};

/// The type of a list of links.
pub(super) const LINK_FORMAT: &str = "application/link-format";

/// The links of a URL at a replay.
pub(super) struct Links<'a> {
    /// The origin of the replay.
    pub origin: &'a str,
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// Its captures, the oldest one first.
    pub captures: &'a [Capture],
}

impl Links<'_> {
    /// The address of the capture at this place.
    pub(super) fn memento(&self, at: usize) -> String {
        format!("{}{}", self.origin, path(&digits(self.captures[at].time), Form::Replayed, self.url))
    }

    /// The field `Link` of the capture at this place; without one, of the time gate.
    pub(super) fn field(&self, at: Option<usize>) -> String {
        let mut links = vec![self.original(), self.gate(), self.map()];
        let last = self.captures.len().saturating_sub(1);
        let Some(at) = at else {
            return links.join(", ");
        };
        let mut places = vec![0, at.saturating_sub(1), at, (at + 1).min(last), last];
        places.dedup();
        for place in places {
            let mut names = Vec::new();
            for (name, is_it) in
                [("first", place == 0), ("prev", place + 1 == at), ("next", place == at + 1), ("last", place == last)]
            {
                if is_it {
                    names.push(name);
                }
            }
            names.push("memento");
            links.push(self.link(place, &names.join(" ")));
        }
        links.join(", ")
    }

    /// All captures in the format of links.
    pub(super) fn list(&self) -> String {
        let itself = format!("<{}/timemap/link/{}>; rel=\"self\"; type=\"{LINK_FORMAT}\"", self.origin, self.text());
        let mut links = vec![self.original(), self.gate(), itself];
        let last = self.captures.len().saturating_sub(1);
        links.extend((0..self.captures.len()).map(|at| {
            let rel = match at {
                0 if last == 0 => "first last memento",
                0 => "first memento",
                _ if at == last => "last memento",
                _ => "memento",
            };
            self.link(at, rel)
        }));
        links.join(",\n") + "\n"
    }

    /// All captures as JSON.
    pub(super) fn json(&self) -> String {
        let memento = |at: usize| {
            let capture = &self.captures[at];
            json!({
                "datetime": crate::web::warc_date::format_date(capture.time),
                "uri": self.memento(at),
                "status": capture.status,
                "mime": capture.mime,
                "bytes": capture.bytes,
                "revisit": capture.is_revisit,
            })
        };
        let list: Vec<_> = (0..self.captures.len()).map(memento).collect();
        json!({
            "original_uri": self.url.as_str(),
            "timegate_uri": format!("{}/timegate/{}", self.origin, self.text()),
            "mementos": { "list": list },
        })
        .to_string()
    }

    fn text(&self) -> String {
        written(self.url)
    }

    fn original(&self) -> String {
        format!("<{}>; rel=\"original\"", self.url.as_str())
    }

    fn gate(&self) -> String {
        format!("<{}/timegate/{}>; rel=\"timegate\"", self.origin, self.text())
    }

    fn map(&self) -> String {
        format!("<{}/timemap/link/{}>; rel=\"timemap\"; type=\"{LINK_FORMAT}\"", self.origin, self.text())
    }

    fn link(&self, at: usize, rel: &str) -> String {
        let date = http_date(self.captures[at].time);
        format!("<{}>; rel=\"{rel}\"; datetime=\"{date}\"", self.memento(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::capture;
    use super::*;

    #[test]
    fn links_name_the_original_the_gate_the_map_and_the_neighbours_once_each() {
        let url = CanonicalUrl::parse("http://a.example/x").unwrap();
        let captures: Vec<Capture> = [0, 1_000, 2_000, 3_000].map(|ms| capture(url.as_str(), ms)).into();
        let links = |captures| Links { origin: "http://r:1", url: &url, captures };
        let field = links(&captures).field(Some(1));
        let start = "<http://a.example/x>; rel=\"original\", <http://r:1/timegate/http://a.example/x>; \
                     rel=\"timegate\", <http://r:1/timemap/link/http://a.example/x>; rel=\"timemap\"; \
                     type=\"application/link-format\"";
        assert!(field.starts_with(start), "{field}");
        let link = |second: u32, rel: &str| {
            format!(
                "<http://r:1/1970010100000{second}/http://a.example/x>; rel=\"{rel}\"; \
                 datetime=\"Thu, 01 Jan 1970 00:00:0{second} GMT\""
            )
        };
        let expected =
            [link(0, "first prev memento"), link(1, "memento"), link(2, "next memento"), link(3, "last memento")];
        assert_eq!(field[start.len()..], format!(", {}", expected.join(", ")));
        let only = links(&captures[..1]).field(Some(0));
        assert_eq!(only[start.len()..], format!(", {}", link(0, "first last memento")));
        assert_eq!(links(&captures).field(None), start);
        let list = links(&captures).list();
        assert_eq!(list.lines().count(), 7);
        assert!(
            list.contains(&(link(0, "first memento") + ",\n")) && list.ends_with(&(link(3, "last memento") + "\n"))
        );
        let json: serde_json::Value = serde_json::from_str(&links(&captures).json()).unwrap();
        assert_eq!(json["mementos"]["list"][3]["datetime"], "1970-01-01T00:00:03.000Z");
        assert_eq!(json["original_uri"], "http://a.example/x");
    }
}
