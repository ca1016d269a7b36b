//! Names of objects. Each is used once: it has the era, the epoch of the owner's claim, and the checkpoint's number.
//!
//! ```text
//! 017/e1-48213/n000042.pack                 shard 17, era 1, epoch 48213, checkpoint 42
//! 017/e1-48213/n000042.links
//! 017/e1-48213/value-00012.warc.gz.000042   the piece of a value file that checkpoint 42 added
//! 017/e1-48213/n000042.manifest
//! ```

use super::Claim;

const PACK: &str = ".pack";
const LINKS: &str = ".links";
const MANIFEST: &str = ".manifest";

/// The names of a crawl's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    prefix: String,
}

impl Names {
    /// Names below `prefix` of the store: nothing, or a name with `/` at its end.
    pub fn new(prefix: &str) -> Names {
        Names { prefix: prefix.to_owned() }
    }

    /// Returns the prefix of the names of all objects of a shard.
    pub(crate) fn shard(&self, shard: u32) -> String {
        format!("{}{shard:03}/", self.prefix)
    }

    fn claim(&self, shard: u32, claim: Claim) -> String {
        format!("{}e{}-{}/", self.shard(shard), claim.era, claim.epoch)
    }

    /// The pack of a checkpoint.
    pub(crate) fn pack(&self, shard: u32, claim: Claim, number: u64) -> String {
        format!("{}n{number:06}{PACK}", self.claim(shard, claim))
    }

    /// The link file of a checkpoint.
    pub(crate) fn links(&self, shard: u32, claim: Claim, number: u64) -> String {
        format!("{}n{number:06}{LINKS}", self.claim(shard, claim))
    }

    /// The piece of the value file `file` that a checkpoint added.
    pub(crate) fn piece(&self, shard: u32, claim: Claim, file: &str, number: u64) -> String {
        format!("{}{file}.{number:06}", self.claim(shard, claim))
    }

    /// The manifest of a checkpoint.
    pub(crate) fn manifest(&self, shard: u32, claim: Claim, number: u64) -> String {
        format!("{}n{number:06}{MANIFEST}", self.claim(shard, claim))
    }

    /// The claim under which the object `name` of the shard was put, and the rest of its name; nothing where it is no
    /// name of ours.
    pub(crate) fn parse<'n>(&self, shard: u32, name: &'n str) -> Option<(Claim, &'n str)> {
        let (claim, rest) = name.strip_prefix(&self.shard(shard))?.split_once('/')?;
        let (era, epoch) = claim.strip_prefix('e')?.split_once('-')?;
        let claim = Claim { era: number(era)?, epoch: number(epoch)? };
        (!rest.is_empty() && !rest.contains('/')).then_some((claim, rest))
    }

    /// The same for a manifest: its claim and its number.
    pub(crate) fn parse_manifest(&self, shard: u32, name: &str) -> Option<(Claim, u64)> {
        let (claim, rest) = self.parse(shard, name)?;
        Some((claim, number(rest.strip_prefix('n')?.strip_suffix(MANIFEST)?)?))
    }
}

/// Returns whether the object is a pack, of which parts can be packed again.
pub(super) fn is_pack(name: &str) -> bool {
    name.ends_with(PACK)
}

/// Returns whether the object is a link file.
pub(super) fn is_links(name: &str) -> bool {
    name.ends_with(LINKS)
}

fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is_and_others_are_nobodys() {
        let (names, claim) = (Names::new("crawls/abc/"), Claim { era: 1, epoch: 48_213 });
        let all = [
            (names.pack(17, claim, 42), "crawls/abc/017/e1-48213/n000042.pack"),
            (names.links(17, claim, 42), "crawls/abc/017/e1-48213/n000042.links"),
            (names.piece(17, claim, "value-00012.warc.gz", 42), "crawls/abc/017/e1-48213/value-00012.warc.gz.000042"),
            (names.manifest(17, claim, 42), "crawls/abc/017/e1-48213/n000042.manifest"),
        ];
        for (name, expected) in &all {
            assert_eq!(name, expected);
            assert_eq!(names.parse(17, name).unwrap().0, claim);
            assert!(names.parse(18, name).is_none() && Names::default().parse(17, name).is_none());
            assert_eq!(names.parse_manifest(17, name).is_some(), name.ends_with("manifest"));
        }
        assert_eq!(names.parse_manifest(17, &all[3].0), Some((claim, 42)));
        for other in
            ["017/crawl.json", "017/e1-x/n1.pack", "017/e1-2/", "017/e-1/n1.pack", "017/e1-2/a/b", "017/e+1-2/a"]
        {
            assert!(names.parse(17, &format!("crawls/abc/{other}")).is_none(), "{other}");
        }
    }
}
