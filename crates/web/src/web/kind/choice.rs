//! Choices among the kinds of answers, as people write them.

use std::fmt;

use super::Kind;

/// Kinds of answers that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindChoice {
    /// Everything.
    All,
    /// Everything that is not said to those who are taken for robots.
    Unrefused,
    /// Pages, that is answers of success that are of no other kind.
    Content,
    /// Answers of none of the kinds, whatever their status.
    Unjudged,
    /// One of the kinds that are none.
    Only(Kind),
}

impl KindChoice {
    /// Reads the name of a choice, or says which there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(KindChoice::All),
            "unrefused" => Ok(KindChoice::Unrefused),
            "content" => Ok(KindChoice::Content),
            "none" => Ok(KindChoice::Unjudged),
            kind => Kind::of_text(kind).map(KindChoice::Only).ok_or_else(|| {
                let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.text()).collect();
                format!("write all, unrefused, none, content, {}", kinds.join(", "))
            }),
        }
    }

    /// True if it takes answers of this kind; `is_content` is true for pages that are what was asked for.
    pub fn has(self, kind: Option<Kind>, is_content: bool) -> bool {
        match self {
            KindChoice::All => true,
            KindChoice::Unrefused => !kind.is_some_and(Kind::is_refusal),
            KindChoice::Content => is_content,
            KindChoice::Unjudged => kind.is_none(),
            KindChoice::Only(only) => kind == Some(only),
        }
    }
}

impl fmt::Display for KindChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KindChoice::All => "all",
            KindChoice::Unrefused => "unrefused",
            KindChoice::Content => "content",
            KindChoice::Unjudged => "none",
            KindChoice::Only(kind) => kind.text(),
        })
    }
}
