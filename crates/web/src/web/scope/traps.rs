//! URLs that only traps have: paths that grow, and segments and parameters that come again and again.

use crate::web::url::CanonicalUrl;

/// Features that make a URL one of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trap {
    /// More segments of its path than allowed.
    Segments,
    /// A segment of its path more often than allowed.
    RepeatedSegment,
    /// A query parameter more often than allowed, with a value that it has twice.
    RepeatedParameter,
}

/// Segments of a path up to which each is compared with each; more of them are sorted.
const SEGMENTS_COMPARED: usize = 16;

/// Returns what makes `url` one of a trap, where a path may have `segments_max` segments, and each of these, as each
/// name of a query parameter, may come `repeated_max` times.
pub(super) fn trap(url: &CanonicalUrl, segments_max: usize, repeated_max: usize) -> Option<Trap> {
    let path = url.path().as_bytes();
    let query = url.path_and_query()[path.len()..].strip_prefix('?').unwrap_or_default();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let slashes = memchr::memchr_iter(b'/', path).count();
    if slashes >= segments_max.max(1) && !path.is_empty() {
        return Some(Trap::Segments);
    }
    if slashes >= repeated_max && has_repeated_segment(path, slashes + 1, repeated_max) {
        return Some(Trap::RepeatedSegment);
    }
    has_repeated_parameter(query, repeated_max).then_some(Trap::RepeatedParameter)
}

fn has_repeated_segment(path: &[u8], number: usize, repeated_max: usize) -> bool {
    let segments = path.split(|&byte| byte == b'/');
    if number <= SEGMENTS_COMPARED {
        let mut compared: [&[u8]; SEGMENTS_COMPARED] = [&[]; SEGMENTS_COMPARED];
        compared.iter_mut().zip(segments).for_each(|(place, segment)| *place = segment);
        let compared = &compared[..number];
        let times = |wanted: &[u8]| compared.iter().filter(|segment| **segment == wanted).count();
        return compared.iter().any(|segment| times(segment) > repeated_max);
    }
    let mut segments: Vec<&[u8]> = segments.collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).any(|same| same.len() > repeated_max)
}

/// True if a name comes too often, and one of its values twice. A list of values, each of them once, is what forms with
/// several choices make (`?colour=red&colour=blue`), and so are names without values.
fn has_repeated_parameter(query: &str, repeated_max: usize) -> bool {
    if memchr::memchr_iter(b'&', query.as_bytes()).count() < repeated_max {
        return false;
    }
    let split = |parameter| str::split_once(parameter, '=').filter(|(_, value)| !value.is_empty());
    let mut parameters: Vec<(&str, &str)> = query.split('&').filter_map(split).collect();
    parameters.sort_unstable();
    let mut names = parameters.chunk_by(|(a, _), (b, _)| a == b);
    names.any(|same| same.len() > repeated_max && same.windows(2).any(|pair| pair[0] == pair[1]))
}
