//! A key of a `[[site]]` table, and everything that follows from the list of them.
//!
//! An entry of the list is `name: Type = Reach(place)`, with `secret` and a condition behind it where only the table's
//! own origins may hear the value. The place says what becomes of the value where the table holds:
//!
//! ```text
//! Urls(fetch.max_body)         it is the value of fetch.max_body
//! Urls(beside scope.include)   its list comes before the list of scope.include
//! Urls(over recrawl)           it is written over the keys of [recrawl] that it has
//! Urls()                       nothing of the sections changes: a part of the crawl asks the table itself
//! ```
//! Of several tables that hold the first one counts that has the setting. Limits are those of the sections, checked
//! after the value is in its place.

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteKey {
    pub name: &'static str,
    pub reach: Reach,
    pub place: Place,
}

/// The URLs that a setting can be given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of a host: the table is found by `host` or `domain`.
    Hosts,
    /// Any.
    Urls,
}

/// The settings of the sections that a key changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One, as `section.key`.
    Key(&'static str),
    /// Several of this section.
    Section(&'static str),
    /// None.
    Table,
}

impl SiteKey {
    /// True if it changes `key`, written `section.key`.
    pub(crate) fn sets(&self, key: &str) -> bool {
        match self.place {
            Place::Key(own) => own == key,
            Place::Section(own) => key.split_once('.').is_some_and(|(section, _)| section == own),
            Place::Table => false,
        }
    }

    /// The section that it changes.
    pub(crate) fn section(&self) -> Option<&'static str> {
        match self.place {
            Place::Key(key) => key.split_once('.').map(|(section, _)| section),
            Place::Section(section) => Some(section),
            Place::Table => None,
        }
    }
}

/// The [`SiteKey`] of an entry.
macro_rules! site_key {
    ($name:ident $reach:ident ($($place:tt)*)) => {
        SiteKey { name: stringify!($name), reach: Reach::$reach, place: site_key!(@ $($place)*) }
    };
    (@) => { Place::Table };
    (@ over $section:ident) => { Place::Section(stringify!($section)) };
    (@ beside $section:ident.$key:ident) => { site_key!(@ $section.$key) };
    (@ $section:ident.$key:ident) => { Place::Key(concat!(stringify!($section), ".", stringify!($key))) };
}

/// The documentation of an entry's field.
macro_rules! site_key_doc {
    () => {
        ""
    };
    (over $section:ident) => {
        concat!("Keys in place of those of `[", stringify!($section), "]`.")
    };
    (beside $section:ident.$key:ident) => {
        concat!("Comes before `", stringify!($section), ".", stringify!($key), "`.")
    };
    ($section:ident.$key:ident) => {
        concat!("As `", stringify!($section), ".", stringify!($key), "`.")
    };
}

/// Puts the value of an entry into its place in the configuration `$there`.
macro_rules! put_site_key {
    ($value:ident, $there:ident,) => {
        let _ = $value;
    };
    ($value:ident, $there:ident, over $section:ident) => {
        $there.$section = $there.$section.with($value);
    };
    ($value:ident, $there:ident, beside $section:ident.$key:ident) => {
        $there.$section.$key = [&$value[..], &$there.$section.$key].concat();
    };
    ($value:ident, $there:ident, $section:ident.$key:ident) => {
        $there.$section.$key.clone_from($value);
    };
}

/// The struct of a table, from the keys that say where it holds and the list of its settings.
macro_rules! site {
    (
        match { $($(#[$match_doc:meta])* $match_key:ident,)* }
        $($(#[$doc:meta])* $key:ident: $type:ty = $reach:ident($($place:tt)*) $(secret $is_secret:expr)?;)*
    ) => {
        /// A `[[site]]` table. What it does not set is as other tables or the sections say.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Site {
            $($(#[$match_doc])* #[serde(skip_serializing_if = "Vec::is_empty")] pub $match_key: Vec<String>,)*
            $(#[doc = site_key_doc!($($place)*)]
            $(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none", with = "explicit")]
            pub $key: Option<$type>,)*
        }

        impl Site {
            /// The settings that a table can have.
            pub(crate) const KEYS: &'static [SiteKey] = &[$(site_key!($key $reach ($($place)*)),)*];

            /// Returns of each setting what the first of `tables` says that has it.
            pub(crate) fn merged(tables: &[&Site]) -> Site {
                Site {
                    $($match_key: Vec::new(),)*
                    $($key: tables.iter().find_map(|table| table.$key.clone()),)*
                }
            }

            /// The settings that it has and that only its own origins may hear.
            pub(crate) fn secret_keys(&self) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $($(if self.$key.as_ref().is_some_and($is_secret) {
                    keys.push(stringify!($key));
                })?)*
                keys
            }

            /// Returns the table with those of its settings alone that `is_kept` names.
            pub(crate) fn keeping(&self, is_kept: impl Fn(&SiteKey) -> bool) -> Site {
                Site {
                    $($match_key: self.$match_key.clone(),)*
                    $($key: self.$key.clone().filter(|_| is_kept(&site_key!($key $reach ($($place)*)))),)*
                }
            }
        }

        impl Config {
            /// Returns these settings, without tables, as they hold where `site` does.
            pub(crate) fn at(&self, site: &Site) -> Config {
                let mut there = self.without_sites();
                $(if let Some(value) = &site.$key {
                    put_site_key!(value, there, $($place)*);
                })*
                there
            }
        }

        impl Section for Site {
            fn keys(&self) -> Vec<&'static str> {
                vec![$(stringify!($match_key),)* $(stringify!($key)),*]
            }

            fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>> {
                $(if key == stringify!($match_key) {
                    return Some(OneOrMore::read(value).map(|value| self.$match_key = value.0));
                })*
                $(if key == stringify!($key) {
                    return Some(<$type>::read(value).map(|value| self.$key = Some(value)));
                })*
                None
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                let mut written = Vec::new();
                $(if !self.$match_key.is_empty() {
                    written.push((stringify!($match_key), OneOrMore(self.$match_key.clone()).to_toml()));
                })*
                $(if let Some(value) = &self.$key {
                    written.push((stringify!($key), value.to_toml()));
                })*
                written
            }

            fn hide_secrets(&mut self) -> Vec<&'static str> {
                let mut hidden = Vec::new();
                $(if let Some(bare) = self.$key.as_ref().and_then(Setting::without_secrets) {
                    self.$key = Some(bare);
                    hidden.push(stringify!($key));
                })*
                hidden
            }
        }
    };
}
