//! Plan of the objects of a checkpoint and their content, fixed when its shipping begins.

use std::collections::HashMap;
use std::sync::Arc;

use super::manifest::{Manifest, Object, Part, ShippedFile, ShippedLinks};
use super::merge::{Stretch, join, leave_packs, merge_last};
use super::source::{Source, crc, seam};
use super::{Claim, Names, names};
use crate::disk::{DiskFile, Error, Result};
use crate::exchange::Head;
use crate::record::{FileKind, NamedFile};
use crate::shard::Shard;
use crate::store;

/// Files that are replaced are kept in memory while they are sent.
const REPLACED_BYTES_MAX: u64 = 16 << 20;

/// The objects of a checkpoint, and its manifest.
pub(super) struct Plan {
    pub manifest: Manifest,
    pub puts: Vec<Put>,
    /// The number of them that are in the store. Behind the last one comes the manifest.
    pub done: usize,
}

/// An object to be made.
pub(super) struct Put {
    pub name: String,
    pub bytes: u64,
    pub parts: Vec<store::Part>,
}

/// Whose checkpoint it is.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub names: &'a Names,
    pub crawl: u128,
    pub shard: Shard,
    pub claim: Claim,
}

/// A file with what of it is in the store.
struct Planned<'a> {
    file: &'a NamedFile,
    path: String,
    /// Nothing where nothing of it has to be read.
    opened: Option<Arc<DiskFile>>,
    /// The content of one that is replaced.
    content: Option<Vec<u8>>,
    seam: u32,
}

/// A plan that is being made.
struct Maker<'a> {
    source: Source<'a>,
    owner: Owner<'a>,
    number: u64,
    last: Option<&'a Manifest>,
    objects: Vec<Object>,
    /// Places of objects of the former manifest in this one.
    places: HashMap<u32, u32>,
    pack: Put,
    /// Index of the pack among the objects, if there is one.
    pack_at: Option<u32>,
    puts: Vec<Put>,
}

/// Plans checkpoint `number`, which names `files` and says `head`.
pub(super) fn plan(
    source: Source<'_>,
    owner: Owner<'_>,
    last: Option<&Manifest>,
    number: u64,
    head: &Head,
    files: &[NamedFile],
) -> Result<Plan> {
    let mut planned = Vec::with_capacity(files.len());
    for file in files {
        planned.push(look(source, last, file)?);
    }
    planned.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
    let (mut planned, mut stretches): (Vec<Planned<'_>>, Vec<Vec<Stretch>>) = planned.into_iter().unzip();
    for (planned, stretches) in planned.iter().zip(&mut stretches) {
        if planned.file.kind != FileKind::Archive {
            merge_last(stretches);
        }
    }
    if let Some(last) = last {
        leave_packs(&mut stretches, last);
    }
    let pack = Put { name: owner.names.pack(owner.shard.index(), owner.claim, number), bytes: 0, parts: Vec::new() };
    let (objects, places) = (Vec::new(), HashMap::new());
    let mut maker = Maker { source, owner, number, last, objects, places, pack, pack_at: None, puts: Vec::new() };
    let mut shipped = Vec::with_capacity(planned.len());
    for (planned, mut stretches) in planned.iter_mut().zip(stretches) {
        join(&mut stretches);
        shipped.push(maker.file(planned, &stretches)?);
    }
    Ok(maker.finish(head, shipped))
}

/// Returns which parts of `file` are in the store, and which stretches are not.
fn look<'a>(source: Source<'_>, last: Option<&Manifest>, file: &'a NamedFile) -> Result<(Planned<'a>, Vec<Stretch>)> {
    let path = text(file)?;
    let known = last.and_then(|last| last.file(&path)).filter(|known| known.kind == file.kind);
    let known = known.filter(|known| known.lineage == file.lineage && known.bytes() <= file.bytes);
    let mut planned = Planned { file, path, opened: None, content: None, seam: 0 };
    let mut kept: Vec<Stretch> = Vec::new();
    if let Some(known) = known {
        let mut at = 0;
        for part in &known.parts {
            kept.push(Stretch { at, bytes: part.bytes, kept: Some(*part) });
            at += part.bytes;
        }
        planned.seam = known.seam;
    }
    let known_bytes = known.map(ShippedFile::bytes);
    let all = vec![Stretch { at: 0, bytes: file.bytes, kept: None }];
    match file.kind {
        FileKind::Replaced => {
            let content = read_replaced(source, file)?;
            let is_same = matches!(known.map(|known| known.parts.as_slice()),
                Some([part]) if part.bytes == content.len() as u64 && part.crc == crc32fast::hash(&content));
            if !is_same {
                kept = vec![Stretch { at: 0, bytes: content.len() as u64, kept: None }];
            }
            planned.content = Some(content);
        }
        _ if known_bytes == Some(file.bytes) => {}
        FileKind::Whole | FileKind::Links => kept = all,
        FileKind::Grows | FileKind::Archive => {
            let opened = source.open(file)?;
            let at = known_bytes.unwrap_or(0);
            if known.is_some() && seam(&opened, file.kind, at)? == planned.seam {
                kept.push(Stretch { at, bytes: file.bytes - at, kept: None });
            } else {
                // it was cut and written again, as a log that lost its last lines with the power
                kept = all;
            }
            planned.seam = seam(&opened, file.kind, file.bytes)?;
            planned.opened = Some(Arc::new(opened));
        }
    }
    kept.retain(|stretch| stretch.bytes > 0);
    Ok((planned, kept))
}

fn text(file: &NamedFile) -> Result<String> {
    let text = file.path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::limit("ship", &file.path, "its name is no text: move it out of the crawl's directory"))
}

fn read_replaced(source: Source<'_>, file: &NamedFile) -> Result<Vec<u8>> {
    let path = source.dir.join(&file.path);
    if file.bytes > REPLACED_BYTES_MAX {
        return Err(Error::limit("ship", &path, format!("it has more than {REPLACED_BYTES_MAX} bytes")));
    }
    source.disk.read(path)
}

impl Maker<'_> {
    /// The file as the manifest has it; what is not in the store goes into an object.
    fn file(&mut self, planned: &mut Planned<'_>, stretches: &[Stretch]) -> Result<ShippedFile> {
        let mut parts = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            parts.push(match stretch.kept {
                Some(part) => Part { object: self.kept(part.object), ..part },
                None => self.send(planned, stretch)?,
            });
        }
        let NamedFile { kind, lineage, .. } = *planned.file;
        Ok(ShippedFile { path: std::mem::take(&mut planned.path), kind, lineage, seam: planned.seam, parts })
    }

    /// The place of an object of the former manifest in this one.
    fn kept(&mut self, object: u32) -> u32 {
        let last = self.last.expect("what is kept is in an object of the former manifest");
        *self.places.entry(object).or_insert_with(|| {
            self.objects.push(last.objects[object as usize].clone());
            self.objects.len() as u32 - 1
        })
    }

    /// Puts a stretch of a file into an object.
    fn send(&mut self, planned: &mut Planned<'_>, stretch: &Stretch) -> Result<Part> {
        let range = stretch.at..stretch.at + stretch.bytes;
        let (crc, part) = match &planned.content {
            Some(content) => (crc32fast::hash(content), store::Part::Bytes(content.clone())),
            None => {
                let opened = match &planned.opened {
                    Some(opened) => opened.clone(),
                    None => Arc::new(self.source.open(planned.file)?),
                };
                (crc(&opened, range.clone())?, self.source.part(planned.file, &opened, range))
            }
        };
        let (shard, claim, number) = (self.owner.shard.index(), self.owner.claim, self.number);
        let bytes = stretch.bytes;
        let name = match planned.file.kind {
            FileKind::Archive => {
                let file = planned.file.path.file_name().unwrap_or_default().to_string_lossy();
                self.owner.names.piece(shard, claim, &file, number)
            }
            // one that was never shipped may be of an earlier checkpoint
            FileKind::Links => {
                let name = planned.file.path.file_name().unwrap_or_default().to_string_lossy();
                self.owner.names.links(shard, claim, crate::exchange::number_of(&name).unwrap_or(number))
            }
            FileKind::Whole | FileKind::Grows | FileKind::Replaced => {
                let offset = self.pack.bytes;
                self.pack.bytes += bytes;
                self.pack.parts.push(part);
                let object = *self.pack_at.get_or_insert_with(|| {
                    self.objects.push(Object { name: self.pack.name.clone(), bytes: 0 });
                    self.objects.len() as u32 - 1
                });
                return Ok(Part { object, offset, bytes, crc });
            }
        };
        self.objects.push(Object { name: name.clone(), bytes });
        self.puts.push(Put { name, bytes, parts: vec![part] });
        Ok(Part { object: self.objects.len() as u32 - 1, offset: 0, bytes, crc })
    }

    fn finish(mut self, head: &Head, files: Vec<ShippedFile>) -> Plan {
        // the pack first, then pieces, then link files
        self.puts.sort_by_key(|put| names::is_links(&put.name));
        if let Some(at) = self.pack_at {
            self.objects[at as usize].bytes = self.pack.bytes;
            self.puts.insert(0, self.pack);
        }
        let known = |number| self.last.and_then(|last| last.links.iter().find(|links| links.number == number));
        let links = head.outgoing.iter().map(|file| match known(file.number) {
            Some(links) => *links,
            None => {
                let (number, claim, has_notes) = (file.number, self.owner.claim, file.has_notes);
                ShippedLinks { number, claim, has_notes, revision: 0 }
            }
        });
        let Owner { crawl, shard, claim, .. } = self.owner;
        let (shard, shards) = (shard.index(), shard.count());
        let (links, objects, number, head) = (links.collect(), self.objects, self.number, head.clone());
        Plan {
            manifest: Manifest { crawl, shard, shards, claim, number, head, objects, files, links },
            puts: self.puts,
            done: 0,
        }
    }
}
