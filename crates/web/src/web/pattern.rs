//! The pattern of a URL: what stays the same while a generator counts.
//!
//! A calendar has no end, and no two of its pages repeat a segment: `/cal/2031/05/12`, `/cal?month=6&year=2031`. What
//! they share is a pattern in which every word with a digit in it varies: `/cal/#/#/#`, `/cal?month=#&year=#`. How many
//! URLs of one pattern an origin may have is the crawl's decision; this is the pure part of it.

/// A single varying word of at least this length is taken for a session's or an object's id.
const LONG_WORD: usize = 24;

/// The pattern of the absolute URL `url`, from its path on, if it is one that can grow without end: at least two words
/// that vary, or one that is long. A word is a run of ASCII letters and digits; it varies if it has a digit in it.
///
/// `None` for everything else: pages that are numbered by one number (`/article/123`) are what sites are made of.
pub fn pattern(url: &str) -> Option<String> {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = start + url[start..].find(['/', '?'])?;
    let mut text = &url[path..];
    let mut pattern = String::with_capacity(text.len());
    let mut varying = 0;
    while let Some(first) = text.chars().next() {
        if let Some(escape) = escape(text) {
            pattern.push_str(escape);
            text = &text[escape.len()..];
            continue;
        }
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let word = &text[..end];
        if word.is_empty() {
            pattern.push(first);
        } else if word.bytes().any(|byte| byte.is_ascii_digit()) {
            varying += if word.len() >= LONG_WORD { 2 } else { 1 };
            pattern.push('#');
        } else {
            pattern.push_str(word);
        }
        text = &text[word.len().max(if word.is_empty() { first.len_utf8() } else { 0 })..];
    }
    (varying >= 2).then_some(pattern)
}

/// The escaped byte that `text` begins with: its digits are no number.
fn escape(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_escape =
        bytes.len() >= 3 && bytes[0] == b'%' && bytes[1].is_ascii_hexdigit() && bytes[2].is_ascii_hexdigit();
    is_escape.then(|| &text[..3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendars_and_sessions_have_a_pattern() {
        for (url, expected) in [
            ("http://h/cal/2031/05/12", "/cal/#/#/#"),
            ("http://h/cal/2031-05-12.html", "/cal/#-#-#.html"),
            ("https://h:81/cal?month=6&year=2031", "/cal?month=#&year=#"),
            ("http://h?y=1&m=2", "?y=#&m=#"),
            ("http://h/s/3f786850e387550fdab836ed7e6dc881de23001b/x", "/s/#/x"),
            ("http://h/a%20b1/c2", "/a%20#/#"),
            ("http://h/é1/2", "/é#/#"),
        ] {
            assert_eq!(pattern(url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn numbered_pages_and_names_have_none() {
        for url in
            ["http://h1.test:8080/", "http://h/article/123.html", "http://h/caf%C3%A9/%20%20", "http://h/a-b", "x"]
        {
            assert_eq!(pattern(url), None, "{url}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| b"%/?#&=:a1\xc3\xa9-"[random.usize(..12)]).collect();
            let _ = pattern(&String::from_utf8_lossy(&bytes));
        }
    }
}
