//! Values that a configuration only refers to: variables of the environment and files.
//!
//! ```toml
//! headers = { X-Api-Key = "${API_KEY}" }
//! auth = { user = "me", password = "${file:/etc/crawler/password}" }
//! ```
//! `${NAME}` is a variable of the environment, `${file:PATH}` what is in a file, without the line end behind it;
//! `$${` is `${` itself. They are looked up when a crawl starts and when it reloads its settings ([`resolved`]), not
//! when the configuration is read: so a configuration has no secrets, wherever it is written, printed or sent to.

use std::fs;
use std::path::Path;

use crate::web::secret::Secret;

/// A piece of a value.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
    File(&'a str),
}

/// The most that a file of a secret has.
const FILE_BYTES_MAX: u64 = 64 << 10;

fn pieces(value: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(text) = before.strip_suffix('$') {
            pieces.extend([Piece::Text(text), Piece::Text("${")]);
            rest = &from[2..];
            continue;
        }
        let Some((name, behind)) = from[2..].split_once('}') else {
            return Err("has ${ without }; write $${ for the characters themselves".to_owned());
        };
        let is_name = |name: &str| {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            plain && name.starts_with(|first: char| !first.is_ascii_digit())
        };
        let piece = match name.strip_prefix("file:") {
            Some("") => return Err("has ${file:} without a path".to_owned()),
            Some(path) => Piece::File(path),
            None if is_name(name) => Piece::Variable(name),
            None => return Err(format!("${{{name}}} is no variable; write ${{NAME}} or ${{file:PATH}}")),
        };
        pieces.extend([Piece::Text(before), piece]);
        rest = behind;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Returns whether `value` refers to anything; an error says what is wrong with its writing.
pub fn refers(value: &str) -> Result<bool, String> {
    Ok(pieces(value)?.iter().any(|piece| !matches!(piece, Piece::Text(_))))
}

/// `value` with what it refers to, now. An error names the variable or the file, and never what is in it.
pub fn resolved(value: &str) -> Result<Secret, String> {
    let mut text = String::new();
    for piece in pieces(value)? {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Variable(name) => {
                text.push_str(&std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?);
            }
            Piece::File(path) => text.push_str(&private_file(Path::new(path))?),
        }
    }
    match text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true if text.is_empty() => Err("is empty".to_owned()),
        true => Ok(Secret::new(text)),
        false => Err("has other characters than printable ASCII".to_owned()),
    }
}

/// The text of a file with secrets, without the line end behind it. Others must not be able to read or change it.
pub(crate) fn private_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let opened = fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    if opened.len() > FILE_BYTES_MAX || !opened.is_file() {
        return Err(format!("{shown}: is no file of at most {} KiB", FILE_BYTES_MAX >> 10));
    }
    is_private(&opened).map_err(|problem| format!("{shown}: {problem}"))?;
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let text = text.strip_suffix('\n').map_or(&*text, |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(text.to_owned())
}

#[cfg(unix)]
fn is_private(file: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    // read by a group is how secrets are mounted into containers
    match file.mode() & 0o777 {
        mode if mode & 0o027 != 0 => {
            Err(format!("its mode {mode:03o} lets others read or change it; chmod 600 makes it private"))
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn is_private(_file: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_refers_to_variables_and_files() {
        assert_eq!(refers("plain $5"), Ok(false));
        assert_eq!(refers("$${NAME}"), Ok(false));
        assert_eq!(refers("Token ${NAME}"), Ok(true));
        assert_eq!(
            pieces("a${B}$${c}${file:/d e}"),
            Ok(vec![
                Piece::Text("a"),
                Piece::Variable("B"),
                Piece::Text(""),
                Piece::Text("${"),
                Piece::Text("c}"),
                Piece::File("/d e"),
                Piece::Text(""),
            ])
        );
        for (value, said) in [
            ("${NAME", "without }"),
            ("${}", "no variable"),
            ("${1A}", "no variable"),
            ("${A B}", "no variable"),
            ("${file:}", "without a path"),
        ] {
            assert!(refers(value).unwrap_err().contains(said), "{value}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_read_without_its_line_end_and_only_if_it_is_private() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "t0ken\r\n").unwrap();
        let value = format!("Bearer ${{file:{}}}", path.display());
        for (mode, is_private) in [(0o600, true), (0o400, true), (0o640, true), (0o644, false), (0o660, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = resolved(&value);
            assert_eq!(read.is_ok(), is_private, "{mode:o}");
            match read {
                Ok(secret) => assert_eq!(secret.expose(), "Bearer t0ken"),
                Err(error) => assert!(error.contains("chmod 600") && !error.contains("t0ken"), "{error}"),
            }
        }
        let missing = resolved("${file:/no/such/file}").unwrap_err();
        assert!(missing.contains("/no/such/file"), "{missing}");
        assert_eq!(resolved("${NO_SUCH_VARIABLE_HERE}").unwrap_err(), "the variable NO_SUCH_VARIABLE_HERE is not set");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "\n").unwrap();
        assert_eq!(resolved(&format!("${{file:{}}}", path.display())).unwrap_err(), "is empty");
    }
}
