//! A section of the configuration: a struct whose keys are listed once, with types and defaults.

use toml::de::DeValue;

use super::value::Mismatch;

/// A section that can be filled key by key.
pub(super) trait Section {
    /// The names of its keys.
    fn keys(&self) -> Vec<&'static str>;
    /// Sets a key; `None` where there is no such key.
    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>>;
    /// Its keys with their values as TOML, in the order of the file.
    fn written(&self) -> Vec<(&'static str, String)>;
    /// Takes away the secrets that are not written, and returns the keys that had some.
    fn hide_secrets(&mut self) -> Vec<&'static str>;
}

/// A section's struct, its defaults and its reader, from one list of keys.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $key:ident: $type:ty = $default:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        // a copy of the settings of an earlier version lacks keys that came later: that run did what their defaults do
        #[serde(default)]
        pub struct $name {
            $($(#[$doc])* pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($key: $default,)* }
            }
        }

        impl Section for $name {
            fn keys(&self) -> Vec<&'static str> {
                vec![$(stringify!($key)),*]
            }

            fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>> {
                $(if key == stringify!($key) {
                    return Some(Setting::read(value).map(|value| self.$key = value));
                })*
                None
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), self.$key.to_toml())),*]
            }

            fn hide_secrets(&mut self) -> Vec<&'static str> {
                let mut hidden = Vec::new();
                $(if let Some(bare) = Setting::without_secrets(&self.$key) {
                    self.$key = bare;
                    hidden.push(stringify!($key));
                })*
                hidden
            }
        }
    };
}
