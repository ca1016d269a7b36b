//! The parts of a host name, by its dots and by the public suffix list, as indexes of web archives have them.

use super::url::CanonicalUrl;

/// A host name, which is no address, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName<'a> {
    /// Its labels, the top-level domain first.
    pub labels: Vec<&'a str>,
    /// The suffix that registries give names under, such as `co.uk`.
    pub registry_suffix: Option<&'a str>,
    /// One label more than the registry's suffix.
    pub registered_domain: Option<&'a str>,
    /// The suffix that registries or private parties give names under, such as `github.io`.
    pub private_suffix: Option<&'a str>,
    /// One label more than the private suffix.
    pub private_domain: Option<&'a str>,
}

impl<'a> HostName<'a> {
    /// The parts of a URL's host; nothing where it is an address.
    pub fn of(url: &'a CanonicalUrl) -> Option<HostName<'a>> {
        url.literal_address().is_none().then(|| HostName::parse(url.host().trim_end_matches('.')))
    }

    fn parse(name: &'a str) -> HostName<'a> {
        let private_suffix = suffix(name, |_| true);
        let registry_suffix = suffix(name, |kind| kind == psl::Type::Icann);
        HostName {
            labels: name.rsplit('.').collect(),
            registry_suffix,
            registered_domain: registry_suffix.and_then(|suffix| below(name, suffix)),
            private_suffix,
            private_domain: private_suffix.and_then(|suffix| below(name, suffix)),
        }
    }

    /// The name with its top-level domain first.
    pub fn reversed(&self) -> String {
        self.labels.join(".")
    }
}

/// The longest suffix of the list, of a wanted kind, that `name` ends with.
fn suffix(name: &str, wanted: impl Fn(psl::Type) -> bool) -> Option<&str> {
    let mut rest = name;
    loop {
        let suffix = psl::suffix(rest.as_bytes())?;
        let found = &rest[rest.len() - suffix.as_bytes().len()..];
        match suffix.typ() {
            Some(kind) if wanted(kind) => return Some(found),
            // a private suffix is below a registry's
            _ => rest = found.split_once('.')?.1,
        }
    }
}

/// `suffix` with the label before it.
fn below<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    let before = name.strip_suffix(suffix)?.strip_suffix('.')?;
    Some(&name[before.rfind('.').map_or(0, |dot| dot + 1)..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parted_by_the_suffixes_of_registries_and_of_private_parties() {
        let parts = |name: &'static str| {
            let name = HostName::parse(name);
            [name.registry_suffix, name.registered_domain, name.private_suffix, name.private_domain]
        };
        assert_eq!(parts("www.example.com"), [Some("com"), Some("example.com"), Some("com"), Some("example.com")]);
        assert_eq!(parts("a.bbc.co.uk"), [Some("co.uk"), Some("bbc.co.uk"), Some("co.uk"), Some("bbc.co.uk")]);
        let private = [Some("io"), Some("github.io"), Some("github.io"), Some("me.github.io")];
        assert_eq!(parts("x.me.github.io"), private);
        let private = [Some("com"), Some("amazonaws.com"), Some("s3.amazonaws.com"), Some("b.s3.amazonaws.com")];
        assert_eq!(parts("b.s3.amazonaws.com"), private);
        assert_eq!(parts("com"), [Some("com"), None, Some("com"), None]);
        assert_eq!(parts("example.invalid"), [None; 4]);
        assert_eq!(parts("localhost"), [None; 4]);
        let url = CanonicalUrl::parse("https://www.example.com./x").unwrap();
        assert_eq!(HostName::of(&url).unwrap().reversed(), "com.example.www");
        for address in ["http://127.0.0.1/", "http://[::1]/", "http://2130706433/"] {
            assert_eq!(HostName::of(&CanonicalUrl::parse(address).unwrap()), None);
        }
    }
}
