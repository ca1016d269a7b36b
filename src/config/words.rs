//! Settings that are one of some words: an enum with its words, or the words of an enum of another room.

/// Reads and writes an enum of another room as one of some words.
macro_rules! words {
    ($name:ident, $expected:literal, $example:literal { $($variant:ident = $word:literal,)* }) => {
        impl Setting for $name {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &DeValue<'_>) -> Option<Self> {
                match value.as_str()? {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }

            fn to_toml(&self) -> String {
                match self {
                    $($name::$variant => concat!("\"", $word, "\"").to_owned(),)*
                }
            }
        }
    };
}

/// A setting that is one of some words.
macro_rules! word {
    ($(#[$meta:meta])* $name:ident, $expected:literal, $example:literal {
        $($(#[$doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        words! { $name, $expected, $example { $($variant = $word,)* } }
    };
}
