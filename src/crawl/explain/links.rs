//! Links to a URL that another shard has found and the one that owns it has not read yet: those in the link files
//! behind the positions of the newest checkpoint.

use crate::checkpoint::{self, checkpoint_path};
use crate::dirs::CrawlDirs;
use crate::disk::{Disk, Error, Result};
use crate::engine::ExchangeState;
use crate::exchange::{Link, LinkFile};
use crate::fingerprint::Fingerprint;
use crate::shard::Shard;
use crate::web::url::CanonicalUrl;

/// Bytes of links that are looked through; a crawl whose shards read one another has far fewer.
const BYTES_MAX: u64 = 64 << 20;

/// A link that waits, the shard that found it, and its referrer as a queued URL has it.
pub(super) struct Waiting {
    pub sender: Shard,
    pub link: Link,
    pub via: u64,
}

/// Looks for the URL with this key in the links for the shard at `place`, whose checkpoint says `own` of the others.
pub(super) fn waiting(
    disk: &Disk,
    dirs: &CrawlDirs,
    place: usize,
    own: &ExchangeState,
    key: Fingerprint,
) -> Result<Option<Waiting>> {
    let mut left = BYTES_MAX;
    for other in (0..dirs.shards().len()).filter(|&other| other != place) {
        let Some((checkpoint, sections)) = checkpoint::newest(disk, &dirs.shards()[other])? else { continue };
        let path = checkpoint_path(&dirs.shards()[other], checkpoint.number);
        let from = own.positions.get(other).copied().unwrap_or_default();
        for kept in ExchangeState::read(&sections.exchange, &path)?.kept {
            if kept.number < from.number {
                continue;
            }
            let sender = dirs.shard(other);
            let read = if from.number == kept.number { from.frames as usize } else { 0 };
            let file = LinkFile::open(disk, &dirs.shards()[other], sender, kept.number);
            match file.and_then(|file| in_file(&file, sender, dirs, place, read, key, &mut left)) {
                // read by everybody, and gone
                Err(error) if is_gone(&error) => {}
                Ok(None) => {}
                found => return found,
            }
        }
    }
    Ok(None)
}

fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Damaged { path, .. } if !path.exists())
}

/// Looks for it in a file of `sender`, behind the frames that are `read`.
fn in_file(
    file: &LinkFile,
    sender: Shard,
    dirs: &CrawlDirs,
    place: usize,
    read: usize,
    key: Fingerprint,
    left: &mut u64,
) -> Result<Option<Waiting>> {
    let (Some(section), Some(keys)) = (file.section(dirs.shard(place).index()), dirs.keys()) else { return Ok(None) };
    for (frame, (_, bytes)) in section.frames.iter().enumerate().skip(read) {
        *left = left.saturating_sub(*bytes);
        if *left == 0 {
            return Ok(None);
        }
        for link in file.frame(section, frame)?.links {
            if CanonicalUrl::parse(&link.url).is_ok_and(|url| keys.keys(&url).key == key) {
                let via = link.from.via.checked_sub(1).map_or(0, |offset| sender.via(offset));
                return Ok(Some(Waiting { sender, link, via }));
            }
        }
    }
    Ok(None)
}
