//! Transfer codings beside `chunked`, which the HTTP library removes: undone before anything else sees the body.
//!
//! None is ever asked for (`TE` is not sent), yet some servers compress so. The archive keeps bodies without them, so
//! one that cannot be undone is no answer.

use reqwest::header::{HeaderMap, TRANSFER_ENCODING};
use tokio::sync::OwnedSemaphorePermit;

use super::body::Bodies;
use crate::disk::Result;
use crate::web::coding;

/// The codings of a body beside `chunked`, in the order in which they were applied; none where there are none.
pub(super) fn codings(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(TRANSFER_ENCODING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let list = values.collect::<Vec<_>>().join(",");
    let names = list.split(',').map(|coding| coding.split(';').next().unwrap_or_default().trim());
    let is_other = |name: &&str| !matches!(&*name.to_ascii_lowercase(), "" | "chunked" | "identity");
    let others: Vec<&str> = names.filter(is_other).collect();
    if others.is_empty() { None } else { Some(others.join(",")) }
}

/// A body without transfer codings.
pub(super) struct Undone {
    pub(super) body: Vec<u8>,
    /// Its place in memory.
    pub(super) place: Option<OwnedSemaphorePermit>,
    /// True if the body would have become longer than allowed.
    pub(super) is_cut: bool,
}

impl Bodies {
    /// Undoes `codings` of a body; none where they are unknown, or the body is damaged and came whole. What it becomes
    /// and what it came as are in memory together, in the place of one large body, and together no longer than that.
    pub(super) async fn undo(
        &self,
        codings: String,
        body: Vec<u8>,
        place: Option<OwnedSemaphorePermit>,
        is_whole: bool,
    ) -> Result<Option<Undone>> {
        let place = match place {
            Some(place) => place,
            None => self.place().await,
        };
        let room = coding::within_ratio(body.len(), self.body_max().saturating_sub(body.len()));
        let decoded = self.beside(move || Ok(decoded(&codings, &body, room, is_whole))).await?;
        Ok(decoded.map(|(body, is_cut)| Undone { body, place: Some(place), is_cut }))
    }
}

fn decoded(codings: &str, body: &[u8], room: usize, is_whole: bool) -> Option<(Vec<u8>, bool)> {
    if coding::has_unknown(Some(codings)) {
        return None;
    }
    let decoded = coding::decode(Some(codings), body, room);
    let is_cut = !decoded.is_whole() && decoded.bytes.len() >= room;
    let has_beginning = !is_whole && !decoded.bytes.is_empty();
    (decoded.is_whole() || is_cut || has_beginning).then(|| (decoded.bytes.into_owned(), is_cut))
}
