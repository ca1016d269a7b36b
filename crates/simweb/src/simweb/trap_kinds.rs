//! The kinds of hosts that have no end, and their names.

/// A way to keep a crawler busy for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapKind {
    /// Links of made-up words, none of them twice, without a number in them.
    Maze,
    /// A calendar with a next day, month and year.
    Calendar,
    /// A shop that gives every visit a new session, in the query.
    SessionQuery,
    /// The same in the path.
    SessionPath,
    /// A maze of host names below one domain.
    Wildcard,
    /// Sitemap indexes that name ever new ones, and sitemaps of pages that nothing else names.
    Sitemaps,
    /// Relative links that make a path longer with every page.
    Repeating,
    /// Answers of which one byte comes at a time.
    Drip,
    /// Connections that are accepted, and then nothing.
    Silent,
    /// A maze whose pages all say the same, but for a number.
    SameText,
}

impl TrapKind {
    /// Those of a web that does not say which.
    pub const ALL: [TrapKind; 8] = [
        TrapKind::Maze,
        TrapKind::Calendar,
        TrapKind::SessionQuery,
        TrapKind::SessionPath,
        TrapKind::Wildcard,
        TrapKind::Sitemaps,
        TrapKind::Repeating,
        TrapKind::Drip,
    ];

    /// Those that have to be asked for by name.
    pub const OTHERS: [TrapKind; 2] = [TrapKind::Silent, TrapKind::SameText];

    /// Returns the name of the kind on a command line.
    pub fn name(self) -> &'static str {
        match self {
            TrapKind::Maze => "maze",
            TrapKind::Calendar => "calendar",
            TrapKind::SessionQuery => "session-query",
            TrapKind::SessionPath => "session-path",
            TrapKind::Wildcard => "wildcard",
            TrapKind::Sitemaps => "sitemaps",
            TrapKind::Repeating => "repeating",
            TrapKind::Drip => "drip",
            TrapKind::Silent => "silent",
            TrapKind::SameText => "same-text",
        }
    }
}

/// The registrable domain of a trap.
pub(super) fn domain(trap: u32) -> String {
    format!("trap{trap}.example")
}

/// The name of the host that others link.
pub(super) fn host_name(trap: u32) -> String {
    format!("www.{}", domain(trap))
}
