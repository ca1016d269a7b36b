//! Requests for a part of a body, as players of media make them (RFC 9110, 14).

use std::ops::Range;

use super::message::Reply;

/// The part of a body that a field `Range` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The body as a whole: nothing, several parts, or something else is asked for.
    Whole,
    /// One part.
    Of(Range<usize>),
    /// A part that is not there.
    Nowhere,
}

/// Cuts a reply to the part that `range` asks for.
pub(super) fn cut(mut reply: Reply, range: Option<&str>) -> Reply {
    if reply.status != 200 {
        return reply;
    }
    let length = reply.body.len();
    reply = reply.with("accept-ranges", "bytes");
    match range.map_or(Part::Whole, |range| part(range, length)) {
        Part::Whole => reply,
        Part::Of(range) => {
            let said = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            reply.body.truncate(range.end);
            reply.body.drain(..range.start);
            Reply { status: 206, ..reply }.with("content-range", said)
        }
        Part::Nowhere => {
            reply.body.clear();
            Reply { status: 416, ..reply }.with("content-range", format!("bytes */{length}"))
        }
    }
}

fn part(range: &str, length: usize) -> Part {
    let asked = range.trim().strip_prefix("bytes=").and_then(|asked| asked.trim().split_once('-'));
    let Some((first, last)) = asked else { return Part::Whole };
    // a number that is too large is behind every body
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<usize>().unwrap_or(usize::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), Some(last)) if first < length => Part::Of(first..last.saturating_add(1).min(length)),
        (Some(first), None) if last.is_empty() && first < length => Part::Of(first..length),
        (Some(_), None) if !last.is_empty() => Part::Whole,
        (Some(_), _) => Part::Nowhere,
        (None, Some(last)) if first.is_empty() => match last.min(length) {
            0 => Part::Nowhere,
            last => Part::Of(length - last..length),
        },
        _ => Part::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_cut_out_and_anything_else_is_the_whole_body_or_nowhere() {
        for (range, expected) in [
            ("bytes=0-0", Part::Of(0..1)),
            ("bytes=2-", Part::Of(2..10)),
            ("bytes=2-99", Part::Of(2..10)),
            ("bytes=-3", Part::Of(7..10)),
            ("bytes=-99", Part::Of(0..10)),
            ("bytes=9-99999999999999999999999", Part::Of(9..10)),
            ("bytes=10-", Part::Nowhere),
            ("bytes=99999999999999999999999-", Part::Nowhere),
            ("bytes=-0", Part::Nowhere),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("lines=1-2", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Nowhere);
    }

    #[test]
    fn a_part_says_where_it_is_and_errors_are_never_cut() {
        let reply = |status| Reply::new(status, "video/mp4", "0123456789");
        let cut_out = cut(reply(200), Some("bytes=3-4"));
        assert_eq!((cut_out.status, &*cut_out.body), (206, &b"34"[..]));
        assert_eq!(cut_out.field("content-range"), Some("bytes 3-4/10"));
        let nowhere = cut(reply(200), Some("bytes=20-"));
        assert_eq!((nowhere.status, nowhere.field("content-range")), (416, Some("bytes */10")));
        assert!(nowhere.body.is_empty());
        assert_eq!(cut(reply(404), Some("bytes=3-4")).body.len(), 10);
    }
}
