//! The layout of elements by the default style sheet of browsers (the HTML standard, "Rendering"): what parts words and
//! lines, and what is not shown at all. An element without a rule is one within a line.

/// The layout of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// Not shown, with all that is in it.
    None,
    /// Within a line: what is before and behind it is one word unless there is a blank.
    Inline,
    /// The end of a line.
    Break,
    /// A cell of a table: another word.
    Cell,
    /// A block on separate lines.
    Block,
    /// A block with an empty line before and behind it, where a text has such.
    Paragraph,
}

impl Display {
    /// The layout of an element whose name, in lower case, is `name`.
    #[rustfmt::skip]
    pub fn of(name: &str) -> Display {
        match name {
            "annotation" | "annotation-xml" | "area" | "audio" | "base" | "canvas" | "datalist" | "desc" | "embed"
            | "head" | "iframe" | "link" | "meta" | "metadata" | "meter" | "noembed" | "noframes" | "noscript"
            | "param" | "progress" | "rp" | "script" | "source" | "style" | "template" | "textarea" | "title"
            | "track" | "video" => Display::None,
            "br" => Display::Break,
            "td" | "th" => Display::Cell,
            "address" | "article" | "aside" | "body" | "caption" | "center" | "col" | "colgroup" | "dd" | "details"
            | "dialog" | "dir" | "div" | "dt" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "frameset"
            | "header" | "hgroup" | "html" | "legend" | "li" | "main" | "menu" | "nav" | "optgroup" | "option"
            | "search" | "section" | "summary" | "tbody" | "tfoot" | "thead" | "tr" => Display::Block,
            "blockquote" | "dl" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "hr" | "listing" | "ol" | "p"
            | "plaintext" | "pre" | "table" | "ul" | "xmp" => Display::Paragraph,
            _ => Display::Inline,
        }
    }

    /// The layout of an element whose name is written so.
    pub fn of_bytes(name: &[u8]) -> Display {
        std::str::from_utf8(name).map_or(Display::Inline, |name| Display::of(&name.to_ascii_lowercase()))
    }

    /// Returns whether what is before the element and what is behind it are two words.
    pub fn parts_words(self) -> bool {
        !matches!(self, Display::Inline | Display::None)
    }
}
