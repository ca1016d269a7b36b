//! Parts of Office Open XML, and how they refer to one another (ECMA-376, part 2).

use std::collections::BTreeMap;

use super::archive::{Archive, resolve};
use super::xml::{Piece, Xml};
use crate::contract::ConversionFailure;

/// A part of a document.
#[derive(Debug)]
pub(super) struct Part {
    /// Its name, without a slash at the start.
    pub(super) name: String,
    /// Its XML.
    pub(super) text: String,
}

/// A part or URL that a part refers to.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// The end of its type, such as `hyperlink`.
    pub(super) kind: String,
    /// The name of the part, or the URL.
    pub(super) target: String,
    /// True if it is no part of the document.
    pub(super) is_external: bool,
}

/// Everything that a part refers to, by identifier.
#[derive(Debug, Default)]
pub(super) struct Relations(BTreeMap<String, Relation>);

impl Relations {
    /// Those of a part; of the document, if the name is empty.
    pub(super) fn of(archive: &mut Archive<'_>, part: &str) -> Result<Relations, ConversionFailure> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let text = archive.text_if_any(&format!("{folder}/_rels/{name}.rels"))?;
        let (mut xml, mut found) = (Xml::new(&text), BTreeMap::new());
        while let Some(piece) = xml.next() {
            let Piece::Start(element) = piece else { continue };
            let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target")) else { continue };
            let is_external = element.attribute("TargetMode").is_some_and(|mode| mode == "External");
            let kind = element.attribute("Type").unwrap_or_default();
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            let target = if is_external { target } else { resolve(part, &target) };
            found.insert(id, Relation { kind, target, is_external });
        }
        Ok(Relations(found))
    }

    /// The URL that an identifier leads to.
    pub(super) fn url(&self, id: Option<&str>) -> Option<String> {
        let relation = self.0.get(id?)?;
        (relation.is_external && relation.kind == "hyperlink").then(|| relation.target.clone())
    }

    /// The part that an identifier leads to.
    pub(super) fn part(&self, id: &str) -> Option<&Relation> {
        self.0.get(id).filter(|relation| !relation.is_external)
    }

    /// The parts of a kind.
    pub(super) fn parts(&self, kind: &str) -> impl Iterator<Item = &str> {
        let found = self.0.values().filter(move |relation| relation.kind == kind && !relation.is_external);
        found.map(|relation| relation.target.as_str())
    }
}
