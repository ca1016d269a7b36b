//! The shapes of link farms, and their names.

/// A way in which registrable domains without end make themselves look important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FarmKind {
    /// Every page links pages of many domains of its farm, so that each domain is linked from nearly all others.
    Dense,
    /// Host names without end below each domain. The domains hang on one another as a tree: each is linked by one.
    Wildcard,
    /// A circle: each domain links the next one, and one of them has bought a link on a popular site.
    Ring,
}

impl FarmKind {
    /// All of them.
    pub const ALL: [FarmKind; 3] = [FarmKind::Dense, FarmKind::Wildcard, FarmKind::Ring];

    /// Returns the name of the kind on a command line.
    pub fn name(self) -> &'static str {
        match self {
            FarmKind::Dense => "dense",
            FarmKind::Wildcard => "wildcard",
            FarmKind::Ring => "ring",
        }
    }
}

/// The registrable domain of that number.
pub(super) fn domain(number: u32) -> String {
    format!("farm{number}.example")
}

/// The name of its host that others link.
pub(super) fn host_name(number: u32) -> String {
    format!("www.{}", domain(number))
}
