//! The parts of a page by what its elements say of themselves: by their names and roles, and by the words of their
//! classes and identifiers.
//!
//! Templates that have nothing else in common name the same things: a text is `article-body` or `entry-content`, and
//! what is around it `sidebar`, `related`, `comments`, `share`. The lists were made by what half of the pages of
//! benches/text have; they name no site.

use dom_query::Element;

/// Parts of a page by the names of an element; the later counts where it has the names of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Nothing of the kind.
    Unsaid,
    /// The introduction of an article, this one or another.
    Lead,
    /// A date, an author, ways to share: boilerplate where it is short.
    Note,
    /// Navigation, comments, adverts and others that are no content.
    Boilerplate,
    /// The part of the page that its content is in.
    Main,
    /// An article with its head.
    Article,
    /// The text of an article.
    Body,
}

/// Words that boilerplate's words begin with, such as `comment` of `commentlist`.
#[rustfmt::skip]
const BOILERPLATE_STEMS: [&str; 37] = [
    "addtoany", "advert", "aehnlich", "anzeige", "bookmark", "breadcrumb", "comment", "consent", "cookie", "disqus",
    "empfehl", "flattr", "footer", "gdpr", "kommentar", "login", "masthead", "menu", "navbar", "navi", "newsletter",
    "outbrain", "pagination", "pingback", "popup", "promo", "recirc", "recommend", "relat", "sidebar",
    "signup", "sponsor", "taboola", "trackback", "trending", "verwandt", "werbung",
];
const BOILERPLATE: [&str; 9] = ["ad", "ads", "adv", "modal", "nav", "pager", "respond", "social", "toolbar"];
/// Words that the words of notes begin with.
#[rustfmt::skip]
const NOTE_STEMS: [&str; 20] = [
    "author", "autor", "biogra", "byline", "caption", "contact", "copyright", "credit", "datum", "disclaimer",
    "kontakt", "licen", "metadata", "postmeta", "rating", "sharedaddy", "sharing", "sociable", "subscri", "taglist",
];
#[rustfmt::skip]
const NOTES: [&str; 14] = [
    "also", "bio", "date", "info", "meta", "more", "next", "prev", "print", "search", "share", "tag", "tags", "topics",
];
#[rustfmt::skip]
const LEADS: [&str; 18] = [
    "abstract", "chapo", "deck", "dek", "description", "einleitung", "excerpt", "intro", "lead", "lede", "standfirst",
    "subhead", "subline", "subtitle", "summary", "teaser", "teasers", "vorspann",
];
/// Words for things that have a text.
#[rustfmt::skip]
const THINGS: [&str; 17] = [
    "article", "articolo", "articulo", "artikel", "artykul", "beitrag", "blog", "blogpost", "entry", "news", "nota",
    "noticia", "notizia", "page", "post", "single", "story",
];
/// Words for the text of a thing: with a word for the thing before them they say that this is it.
#[rustfmt::skip]
const TEXTS: [&str; 19] = [
    "body", "contenido", "content", "contents", "contenu", "contenuto", "conteudo", "copy", "corpo", "corps", "cuerpo",
    "entry", "inhalt", "tekst", "testo", "text", "texte", "texto", "tresc",
];
/// Properties in microdata that are notes.
#[rustfmt::skip]
const PROPERTIES: [&str; 12] = [
    "author", "caption", "comment", "contributor", "copyrightNotice", "creator", "dateModified", "datePublished",
    "editor", "interactionStatistic", "keywords", "publisher",
];
/// Words before those of a state, of a subject or of a tool, which say nothing of the part.
const STATES: [&str; 9] = ["category", "elementor", "has", "is", "no", "not", "tag", "with", "without"];

impl Part {
    /// Returns the part that an element says that it is.
    pub(super) fn of(element: &Element) -> Part {
        let mut part = match element.name.local.as_ref() {
            "html" | "body" => return Part::Unsaid,
            "nav" | "footer" | "aside" | "menu" | "dialog" | "button" | "select" | "iframe" | "script" | "style"
            | "noscript" | "template" => return Part::Boilerplate,
            "address" | "figcaption" | "form" => Part::Note,
            "article" => Part::Article,
            "main" => Part::Main,
            _ => Part::Unsaid,
        };
        for attr in &element.attrs {
            let value: &str = &attr.value;
            part = part.max(match attr.name.local.as_ref() {
                "class" | "id" => value.split_ascii_whitespace().map(Part::of_name).max().unwrap_or(Part::Unsaid),
                "role" => Part::of_role(value),
                "itemprop" => Part::of_property(value),
                "hidden" => Part::Boilerplate,
                "aria-hidden" if value == "true" => Part::Boilerplate,
                "style" if hides(value) => Part::Boilerplate,
                _ => Part::Unsaid,
            });
        }
        part
    }

    fn of_role(role: &str) -> Part {
        match role {
            "alert" | "alertdialog" | "banner" | "complementary" | "contentinfo" | "dialog" | "menu" | "menubar"
            | "navigation" | "search" => Part::Boilerplate,
            "main" => Part::Main,
            "article" => Part::Article,
            _ => Part::Unsaid,
        }
    }

    /// Returns the part that a property of microdata says.
    fn of_property(name: &str) -> Part {
        match name {
            _ if name.eq_ignore_ascii_case("articleBody") => Part::Body,
            _ if PROPERTIES.iter().any(|property| property.eq_ignore_ascii_case(name)) => Part::Note,
            _ => Part::Unsaid,
        }
    }

    /// Returns the part that the name of a class or an element says.
    fn of_name(name: &str) -> Part {
        // what is behind it is a variant of it
        let name = name.split_once("--").map_or(name, |(name, _)| name);
        let mut words = words(name);
        if let Some(state) = words.iter().position(|word| STATES.contains(&word.as_str())) {
            words.truncate(state);
        }
        let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let any_begins = |stems: &[&str]| words.iter().any(|word| stems.iter().any(|stem| word.starts_with(stem)));
        match () {
            () if any(&BOILERPLATE) || any_begins(&BOILERPLATE_STEMS) => Part::Boilerplate,
            () if any(&NOTES) || any_begins(&NOTE_STEMS) => Part::Note,
            () if names_text(&words) => Part::Body,
            () if any(&LEADS) => Part::Lead,
            () => Part::Unsaid,
        }
    }
}

/// Returns whether words name the text of a thing: in two words, or in one.
fn names_text(words: &[String]) -> bool {
    let is_text = |word: &str| TEXTS.contains(&word);
    words.iter().enumerate().any(|(place, word)| {
        let next = words.get(place + 1);
        THINGS.iter().any(|thing| match word.strip_prefix(thing) {
            Some("") => next.is_some_and(|next| is_text(next)),
            Some(rest) => is_text(rest),
            None => false,
        })
    })
}

/// The words of a name in lower case: `postBody-2` has `post` and `body`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a `style` attribute hides its element.
fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    style.contains("display:none") || style.contains("visibility:hidden")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_an_element_is() {
        for (name, part) in [
            ("article-body", Part::Body),
            ("postContent", Part::Body),
            ("entrycontent", Part::Body),
            ("c-article__text", Part::Body),
            ("page-sidebar", Part::Boilerplate),
            ("jp-relatedposts", Part::Boilerplate),
            ("post-meta", Part::Note),
            ("article-intro", Part::Lead),
            ("entry", Part::Unsaid),
            ("headline", Part::Unsaid),
        ] {
            assert_eq!(Part::of_name(name), part, "{name}");
        }
    }

    #[test]
    fn states_and_subjects_are_no_parts() {
        for name in ["has-sidebar", "section--has-ads", "tag-social", "category-comments", "elementor-widget", "body"] {
            assert_eq!(Part::of_name(name), Part::Unsaid, "{name}");
        }
    }
}
