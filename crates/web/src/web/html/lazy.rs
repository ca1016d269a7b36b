//! Attributes in which pages keep the URLs of pictures that scripts load later.

/// The usual names: of lazysizes, lozad, vanilla-lazyload, jQuery Lazy Load and Unveil; of the WordPress plugins
/// Jetpack, WP Rocket, Smush, EWWW and a3; of galleries and sliders (WooCommerce, Slick, Swiper, Flickity, Slider
/// Revolution).
pub const LAZY_ATTRIBUTES: [&str; 36] = [
    "data-src",
    "data-srcset",
    "data-bg",
    "data-bgset",
    "data-bg-set",
    "data-bg-multi",
    "data-bg-hidpi",
    "data-background",
    "data-background-image",
    "data-background-image-set",
    "data-poster",
    "data-iesrc",
    "data-original",
    "data-original-set",
    "data-original-src",
    "data-original-srcset",
    "data-lazy",
    "data-lazy-src",
    "data-lazy-srcset",
    "data-lazyload",
    "data-flickity-lazyload",
    "data-flickity-lazyload-src",
    "data-flickity-lazyload-srcset",
    "data-image",
    "data-img-src",
    "data-image-src",
    "data-src-retina",
    "data-retina",
    "data-hi-res-src",
    "data-full-src",
    "data-large_image",
    "data-large-file",
    "data-medium-file",
    "data-orig-file",
    "data-thumb",
    "data-back",
];

/// Names of attributes, asked of every attribute of a page: most are sorted out by their length and first letter.
#[derive(Clone, Debug)]
pub(crate) struct LazyNames {
    names: Vec<Box<[u8]>>,
    lengths: u64,
    letters: u32,
}

impl LazyNames {
    /// The attributes of these `names`, in whatever case.
    pub(crate) fn new<S: AsRef<str>>(names: &[S]) -> Self {
        let names: Vec<Box<[u8]>> =
            names.iter().map(|name| name.as_ref().to_ascii_lowercase().into_bytes().into()).collect();
        let lengths = names.iter().fold(0, |lengths, name| lengths | 1 << name.len().min(63));
        let letters =
            names.iter().filter_map(|name| name.first()).fold(0, |letters, first| letters | 1 << (first & 31));
        LazyNames { names, lengths, letters }
    }

    /// True if one of them is `name`.
    pub(crate) fn contain(&self, name: &[u8]) -> bool {
        let Some(first) = name.first() else { return false };
        self.lengths >> name.len().min(63) & 1 == 1
            && self.letters >> (first & 31) & 1 == 1
            && self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// True if a value can be a URL: such attributes also have colours, words and JSON.
pub(super) fn looks_like_url(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    let is_refused = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}' | b'<' | b'>' | b'|' | b'"');
    !value.starts_with(b"#") && memchr::memchr2(b'/', b'.', value).is_some() && !value.iter().any(is_refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_whatever_case() {
        let names = LazyNames::new(&LAZY_ATTRIBUTES);
        assert!(LAZY_ATTRIBUTES.iter().all(|name| names.contain(name.as_bytes())));
        assert!(names.contain(b"DATA-Src"));
        let long = "x".repeat(100);
        assert!(LazyNames::new(&[&*long, "\u{e9}"]).contain(long.as_bytes()));
        for other in ["", "data-", "data-srx", "src", "data-src ", "ata-src", &long] {
            assert!(!names.contain(other.as_bytes()), "{other}");
        }
        assert!(!LazyNames::new::<&str>(&[]).contain(b"data-src"));
    }

    #[test]
    fn words_colours_and_json_are_no_urls() {
        for value in ["a.png", "/a", " a/b?c ", "//h/a", "http://h/"] {
            assert!(looks_like_url(value.as_bytes()), "{value}");
        }
        for value in ["", "true", "#fff", "#/x", "{\"a\":\"/b\"}", "a b.png", "a.png|b.png", "<img src=/x>"] {
            assert!(!looks_like_url(value.as_bytes()), "{value}");
        }
    }
}
