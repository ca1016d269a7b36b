//! The words of a command line that are neither options nor a command: the URLs to crawl.
//!
//! A word is a seed as a line of a seeds file is one, with a rule more, since a misspelt command must not be looked up
//! as a host: a word without `.`, `:` and `/` that is not `localhost` is no host here. A host of one word can be
//! written with its scheme, and in a seeds file as before.

use super::exit::UsageError;
use crate::config::nearest;
use crate::web::seeds::parse_seeds;

/// Words that people try, and what they are here.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("fetch", "crawl"),
    ("start", "crawl"),
    ("run", "crawl"),
    ("scrape", "crawl"),
    ("download", "crawl"),
    ("mirror", "crawl"),
    ("ls", "list"),
    ("cat", "get"),
    ("show", "get"),
    ("help", "--help"),
    ("version", "--version"),
    ("stats", "status"),
];

/// The lines of a seeds file for `words`, each of which is one seed; `commands` are those that the program has.
pub(super) fn lines<'a>(words: &[String], commands: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<u8>> {
    let commands: Vec<&str> = commands.collect();
    let mut lines = Vec::new();
    for word in words {
        check(word, &commands)?;
        lines.extend_from_slice(word.trim().as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

fn check(word: &str, commands: &[&str]) -> anyhow::Result<()> {
    if !may_be_host(word) {
        return Err(UsageError::because(no_host(word, commands)));
    }
    let (seeds, problems) = parse_seeds(word.as_bytes());
    if seeds.len() == 1 && problems.first.is_empty() {
        return Ok(());
    }
    // a problem shows its line without user and password
    Err(UsageError::because(match problems.first.first() {
        Some(problem) => format!("{} cannot be crawled: {}", problem.text, problem.why),
        None => "a URL on the command line cannot be crawled: write one URL per word".to_owned(),
    }))
}

/// True if `word` can be meant as a URL or a host.
fn may_be_host(word: &str) -> bool {
    word.contains(['.', ':', '/']) || word.eq_ignore_ascii_case("localhost")
}

/// Returns the message for a word that is no URL: the command that it was likely meant to be, or the rule.
fn no_host(word: &str, commands: &[&str]) -> String {
    if commands.contains(&word) {
        return format!(
            "{word:?} is a command, which comes first: crawler {word} --dir DIR ...\n\
             To crawl a host of this name, write http://{word}/"
        );
    }
    let lower = word.to_lowercase();
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == lower).map(|&(_, meant)| meant);
    // a short word is near to every other
    let near = || nearest(&lower, commands.iter().copied()).filter(|_| lower.len() > 2);
    match other.or_else(near) {
        Some(meant) => format!(
            "{word:?} is neither a command nor a URL; did you mean crawler {meant}?\n\
             A URL or host has a dot, a colon or a slash: https://example.com/ or example.com"
        ),
        None => format!(
            "{word:?} is neither a command nor a URL: a URL or host has a dot, a colon or a slash, such as \
             https://example.com/ or example.com\n\
             To crawl a host of this name, write http://{word}/; all commands: crawler --help"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(words: &[&str]) -> anyhow::Result<String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let lines = lines(&words, ["crawl", "get", "list", "status"].into_iter())?;
        Ok(String::from_utf8(lines).unwrap())
    }

    #[track_caller]
    fn refused(word: &str) -> String {
        lines_of(&["https://example.com/", word]).unwrap_err().to_string()
    }

    #[test]
    fn urls_and_hosts_are_seeds_as_in_a_file() {
        let words = ["https://example.com/a?b=c#d", "example.org", "localhost", "localhost:8080", "[::1]:80", "a.b/c"];
        assert_eq!(lines_of(&words).unwrap().lines().collect::<Vec<_>>(), words);
        assert_eq!(lines_of(&[]).unwrap(), "");
    }

    #[test]
    fn a_misspelt_command_is_no_host() {
        for (word, meant) in [
            ("staus", "crawler status?"),
            ("lst", "crawler list?"),
            ("fetch", "crawler crawl?"),
            ("Get", "crawler get?"),
        ] {
            let said = refused(word);
            assert!(said.contains(meant) && said.contains("a dot, a colon or a slash"), "{word}: {said}");
        }
        let said = refused("intranet");
        assert!(said.contains("http://intranet/") && !said.contains("did you mean"), "{said}");
        assert!(refused("list").contains("is a command, which comes first: crawler list --dir"));
    }

    #[test]
    fn what_cannot_be_crawled_is_said_without_its_password() {
        for word in ["ftp://example.com/", "me@example.com", "https://a b/", "a.org\nb.org", "mailto:me@example.com"] {
            let said = refused(word);
            assert!(said.contains("cannot be crawled"), "{word}: {said}");
        }
        let said = refused("ftp://me:secret@example.com/");
        assert!(!said.contains("secret"), "{said}");
    }
}
