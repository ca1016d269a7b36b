//! The `base` of a page that was read into a tree.

use html5ever::ns;
use scraper::{ElementRef, Html, Selector};

/// Returns what the references of a page are resolved against, as it is written: the `href` of its first `base` with
/// one. What a drawing calls so is another element, and what is in a template is not there yet.
pub fn base_of(page: &Html) -> Option<&str> {
    let selector = Selector::parse("base[href]").expect("it is a selector");
    page.select(&selector).find(|base| is_base(*base))?.value().attr("href")
}

/// Returns whether an element is a `base` of the page itself.
pub fn is_base(element: ElementRef<'_>) -> bool {
    let name = &element.value().name;
    let mut above = element.ancestors().filter_map(ElementRef::wrap);
    &*name.local == "base" && name.ns == ns!(html) && !above.any(|above| above.value().name() == "template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_the_first_of_the_page_itself() {
        let of = |page: &str| base_of(&Html::parse_document(page)).map(str::to_owned);
        assert_eq!(of("<base target=x><base href=/a/><base href=/b/>").as_deref(), Some("/a/"));
        assert_eq!(of("<template><base href=/no/></template><svg><base href=/no/></svg>"), None);
        assert_eq!(of("<svg><base href=/no/></svg><base href=/a/>").as_deref(), Some("/a/"));
        assert_eq!(of("<p>"), None);
    }
}
