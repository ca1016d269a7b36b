//! Programs that read lines: one that gets a batch, or one for each page.
//!
//! The code with which a program ends is its word that it has dealt with all it was given: 0 is a delivery. A program
//! that gets a batch and ends without having read everything has failed, whatever its code. One that is run for a page
//! has the URL in its command line, and need not read anything.
//!
//! What pages say never reaches a shell: the text of a batch goes to the program's input, and where the URL is put
//! into a command line (`{}`), that is taken apart into words here and run without a shell. A URL is one word of its
//! own, whatever it has in it, and begins with `http`, so that it is no option. Within a longer word it is refused:
//! that word may be a script (`sh -c '... {} ...'`), of which the URL would be a part.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::super::exit::UsageError;
use super::batch::{Batch, Failure};

/// Characters in whose place the URL is put.
const URL: &str = "{}";
/// Advice for a command whose script would have the URL in it.
const SAFELY: &str = "a URL can have anything in it, and what reads the word would obey it. Write {} as a word of its \
                      own, and let a script take it as an argument: sh -c 'COMMAND \"$1\"' sh {}";

/// A command line that a shell runs for each batch.
#[derive(Debug)]
pub(super) struct Reader(String);

impl Reader {
    pub(crate) fn new(command: &str) -> Reader {
        Reader(command.to_owned())
    }

    pub(crate) fn deliver(&self, batch: &Batch) -> Result<(), Failure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.0]);
        feed(command, batch.text(), true)
    }
}

/// A program that is run for each page.
#[derive(Debug)]
pub(super) struct EachPage(Vec<String>);

impl EachPage {
    /// The words of `command`; nothing where no `{}` is in it.
    pub(crate) fn parse(command: &str) -> anyhow::Result<Option<EachPage>> {
        if !command.contains(URL) {
            return Ok(None);
        }
        let words = words(command).map_err(|why| UsageError::because(format!("--exec {command:?}: {why}")))?;
        let refuse = |why: &str| Err(UsageError::because(format!("--exec: {why}")));
        match words.first() {
            Some(program) if !program.contains(URL) => {}
            _ => return refuse("a page cannot say which program is run; put a name before {}"),
        }
        if let Some(longer) = words.iter().find(|word| word.contains(URL) && *word != URL) {
            return refuse(&format!("{{}} is within {longer:?}: {SAFELY}"));
        }
        if is_script(&words) {
            return refuse(&format!("a shell would run the URL itself: {SAFELY}"));
        }
        Ok(Some(EachPage(words)))
    }

    pub(crate) fn deliver(&self, url: &str, line: &[u8]) -> Result<(), Failure> {
        let mut command = Command::new(&self.0[0]);
        command.args(self.0[1..].iter().map(|word| if word == URL { url } else { word }));
        feed(command, line, false)
    }
}

/// True if the URL would be run by a shell: `sh -c {}`.
fn is_script(words: &[String]) -> bool {
    let is_shell = words.iter().any(|word| word.ends_with("sh"));
    let asks = |option: &String| option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
    is_shell && words.windows(2).any(|pair| asks(&pair[0]) && pair[1] == URL)
}

/// Runs `command` with `input`, all of which it has to read if so said, and waits for its end.
fn feed(mut command: Command, input: &[u8], has_to_read: bool) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |what: &str, e: io::Error| Failure::because(format!("{what} {name}: {e}"));
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(|e| failed("cannot run", e))?;
    let mut to = child.stdin.take().expect("its input is a pipe");
    let written = to.write_all(input);
    drop(to);
    let status = child.wait().map_err(|e| failed("cannot wait for", e))?;
    match (written, status.success()) {
        (Ok(()), true) => Ok(()),
        (Err(e), true) if !has_to_read && e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        (_, false) => Err(Failure::because(format!("the program of --exec failed: {status}"))),
        (Err(_), true) => Err(Failure::because("the program of --exec ended before it had read everything")),
    }
}

/// Takes a command line apart: blanks part words, quotes join them, and in double quotes and outside of quotes a
/// backslash makes the next character an ordinary one.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().push(rest.next().ok_or("a backslash is its last character")?),
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(lines: &[&str]) -> Batch {
        let mut batch = Batch::default();
        lines.iter().for_each(|line| batch.push("http://a.example/", line));
        batch
    }

    #[test]
    fn a_command_line_is_taken_apart_as_a_shell_does_it() {
        let line = r#"index  'a b' "c \"d\"" e\ f --url={} '' "{}""#;
        assert_eq!(words(line).unwrap(), ["index", "a b", "c \"d\"", "e f", "--url={}", "", "{}"]);
        assert!(words("a 'b").is_err() && words("a\\").is_err());
        assert!(words("").unwrap().is_empty());
    }

    #[test]
    fn s3_what_a_url_says_is_one_word_and_no_shell_sees_it() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let program = format!("sh -c 'printf \"%s|\" \"$@\" > {}' sh {{}} --url {{}}", out.display());
        let each = EachPage::parse(&program).unwrap().unwrap();
        let url = "http://a.example/$(touch%20x)';`id`;\"{}";
        each.deliver(url, b"{}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), format!("{url}|--url|{url}|"));
        assert!(EachPage::parse("{} a").is_err());
        assert!(EachPage::parse("cat").unwrap().is_none());
    }

    #[test]
    fn s3_a_url_is_no_part_of_a_longer_word_which_may_be_a_script() {
        for command in [
            "sh -c 'echo {} >> urls'",
            "sh -c \"touch '{}'\"",
            "env bash -ec {}",
            "/bin/sh -c {}",
            "python3 -c 'print(\"{}\")'",
            "ssh host 'index {}'",
            "index --url={}",
            "index {}{}",
        ] {
            let refused = EachPage::parse(command).unwrap_err();
            assert!(
                refused.is::<UsageError>() && refused.to_string().contains("sh -c 'COMMAND"),
                "{command}: {refused}"
            );
        }
        for command in ["index {}", "index --url {}", "index \"{}\" {}", "sh -c 'index \"$1\"' sh {}", "wc -c {}"] {
            assert!(EachPage::parse(command).unwrap().is_some(), "{command}");
        }
    }

    #[test]
    fn a_program_has_dealt_with_a_batch_when_it_has_read_it_and_ends_with_0() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        Reader::new(&format!("cat > {}", out.display())).deliver(&batch(&["{1}", "{2}"])).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "{1}\n{2}\n");
        let failed = Reader::new("cat > /dev/null; exit 3").deliver(&batch(&["{1}"])).unwrap_err();
        assert!(failed.why.contains("exit status: 3"), "{}", failed.why);
        // more than a pipe holds
        let much = "x".repeat(1 << 20);
        let unread = Reader::new("exec true").deliver(&batch(&[&much])).unwrap_err();
        assert!(unread.why.contains("before it had read everything"), "{}", unread.why);
        assert!(EachPage(vec!["/no/such/program".to_owned()]).deliver("u", b"").is_err());
    }
}
