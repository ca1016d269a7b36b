//! The web of a configuration: a few pages, each with one link at most.

/// Pages of a web at most.
pub const PAGES: usize = 5;
/// A bit of the scope: what a redirected seed of another shard lets in.
pub const NOTE: u8 = 1;
/// A bit of the scope: what the list of seeds that comes late lets in.
pub const LIST: u8 = 2;

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The shard that owns it.
    pub owner: usize,
    /// The page that it links to.
    pub link: Option<usize>,
    /// True if the crawl begins with it.
    pub is_seed: bool,
    /// True if it is in the list of seeds that comes late.
    pub is_late_seed: bool,
    /// The scope that its link needs, by bits.
    pub needs: u8,
    /// True if nobody can come to it but by that scope: then its link has to be followed.
    pub lies_behind: bool,
    /// True if it is a seed's redirect, whose target joins the scope of every shard.
    pub is_note: bool,
}

const fn page(owner: usize, link: Option<usize>) -> Page {
    Page { owner, link, is_seed: false, is_late_seed: false, needs: 0, lies_behind: false, is_note: false }
}

const fn seed(owner: usize, link: Option<usize>) -> Page {
    Page { is_seed: true, ..page(owner, link) }
}

/// A seed whose link crosses.
pub const ONE_LINK: &[Page] = &[seed(0, Some(1)), page(1, None)];
/// A chain that crosses and comes back.
pub const THERE_AND_BACK: &[Page] = &[seed(0, Some(1)), page(1, Some(2)), page(0, None)];
/// A chain that crosses three times.
pub const CHAIN: &[Page] = &[seed(0, Some(1)), page(1, Some(2)), page(0, Some(3)), page(1, None)];
/// Two links of one shard into the other.
pub const TWO_LINKS: &[Page] = &[seed(0, Some(1)), page(1, None), seed(0, Some(3)), page(1, None)];
/// Links of one shard into the other, and a page without one.
pub const MIXED: &[Page] = &[seed(0, Some(1)), page(1, None), seed(0, None), seed(0, Some(4)), page(1, None)];
/// Two shards with a link into the third each, which has its own page.
pub const INTO_ONE: &[Page] = &[seed(0, Some(3)), seed(1, None), seed(2, Some(4)), page(1, None), page(1, None)];
/// Three shards with a page each; that of the first links to the second's, that of the third to the first's.
pub const AROUND: &[Page] = &[seed(0, Some(1)), seed(1, None), seed(2, Some(0))];
/// A redirected seed; what it lets in is in the other shard, and goes on from there.
pub const NOTED: &[Page] = &[
    Page { is_note: true, ..seed(0, Some(1)) },
    Page { needs: NOTE, lies_behind: true, ..page(1, Some(2)) },
    page(0, None),
];
/// A redirected seed of one shard; the second sends a link because of it to the third.
pub const NOTED_ROUND: &[Page] = &[
    Page { is_note: true, ..seed(0, None) },
    Page { needs: NOTE, ..seed(1, Some(2)) },
    Page { needs: NOTE, lies_behind: true, ..page(2, Some(3)) },
    page(0, None),
];
/// A list of seeds that comes late, with one whose link crosses.
pub const LATE_LINK: &[Page] = &[
    Page { is_late_seed: true, needs: LIST, lies_behind: true, ..page(0, Some(1)) },
    Page { needs: LIST, lies_behind: true, ..page(1, None) },
];
/// A list of seeds that comes late, and what is behind.
pub const LISTED: &[Page] = &[
    Page { is_late_seed: true, needs: LIST, lies_behind: true, ..page(0, Some(1)) },
    Page { needs: LIST, lies_behind: true, ..page(1, Some(2)) },
    page(0, None),
];
