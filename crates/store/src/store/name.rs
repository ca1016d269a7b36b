//! Names of objects: parts of letters, digits and `. _ - =` with `/` between them. So they mean the same in every store
//! and on every file system, and none leads out of the directory of a store.

use super::{Error, Result};

/// No name is longer, with what the store was opened with before it: S3's limit is 1,024.
const BYTES_MAX: usize = 512;

/// Refuses what is no name of an object.
pub fn check(name: &str) -> Result<()> {
    if is_name(name) {
        Ok(())
    } else {
        Err(Error::refused(&name.escape_debug().to_string(), "this is no object's name"))
    }
}

/// Refuses what names of objects cannot begin with: a name with `/` at its end, or nothing for all.
pub(crate) fn check_prefix(prefix: &str) -> Result<()> {
    if prefix.is_empty() { Ok(()) } else { check(prefix.strip_suffix('/').unwrap_or("")) }
}

/// Returns whether `name` can be an object's.
pub fn is_name(name: &str) -> bool {
    name.len() <= BYTES_MAX && name.split('/').all(is_part)
}

fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-=".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_lead_nowhere_else() {
        for name in ["crawl.json", "era/0001", "017/e1-48213/value-00012.warc.gz.000042", "a=b/c_d"] {
            check(name).unwrap();
            check_prefix(&format!("{name}/")).unwrap();
        }
        for name in ["", "/", "a/", "/a", "a//b", "..", "a/../b", ".put-1", "a b", "a?b", "ä", "a\0", "a%2fb", "a\\b"]
        {
            assert!(matches!(check(name), Err(Error::Refused { .. })), "{name:?}");
        }
        assert!(check(&"a".repeat(BYTES_MAX + 1)).is_err());
        check_prefix("").unwrap();
        assert!(check_prefix("a").is_err() && check_prefix("/").is_err() && check_prefix("../").is_err());
    }
}
