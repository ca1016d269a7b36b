//! `crawler init`: a file of seeds and one of settings, with comments, for a first crawl. Nothing is overwritten.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::exit::{Exit, UsageError};
use crate::disk;
use crate::report::closing::shell_word;
use crate::text::escape::Escaped;
use crate::web::seeds::parse_seeds;

const SEEDS_FILE: &str = "seeds.txt";
const CONFIG_FILE: &str = "crawler.toml";

const SEEDS: &str = "\
# Where the crawl begins: one URL per line. Lines that begin with # and blank lines are skipped.
# A host name alone is tried with https:// first, then with http://.
";

const CONFIG: &str = include_str!("init.toml");

#[derive(Debug, Args)]
#[command(after_help = "\
A file that exists already is not changed, and a message says so.

Examples:
  crawler init https://example.com/
  crawler init --into my-crawl example.com example.org")]
pub(super) struct InitArgs {
    /// Seeds to write into seeds.txt
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Directory for the two files; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    into: PathBuf,
}

impl InitArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let seeds = self.seeds()?;
        let here = self.into == Path::new(".");
        let place = |name: &str| if here { PathBuf::from(name) } else { self.into.join(name) };
        let (seeds_path, config_path) = (place(SEEDS_FILE), place(CONFIG_FILE));
        if !self.urls.is_empty() && seeds_path.symlink_metadata().is_ok() {
            let path = seeds_path.display();
            return Err(UsageError::because(format!("{path} exists already and was not changed: add the URLs to it")));
        }
        std::fs::create_dir_all(&self.into).map_err(|e| disk::Error::io("create", &self.into, e))?;
        let mut out = io::stdout().lock();
        let mut write = |path: &Path, text: &str, told: &str| -> anyhow::Result<()> {
            let told = if write_new(path, text)? { told } else { "exists already and was not changed" };
            Ok(writeln!(out, "{}: {told}", Escaped(&path.to_string_lossy()))?)
        };
        let of_seeds = if self.urls.is_empty() { "write the seed URLs into it" } else { "the seed URLs" };
        write(&seeds_path, &seeds, of_seeds)?;
        write(&config_path, CONFIG, "settings; set contact in it, so that webmasters can reach you")?;
        writeln!(out, "then: crawler --seeds {} --config {}", shell_word(&seeds_path), shell_word(&config_path))?;
        Ok(Exit::Done)
    }

    /// The file of seeds, every line of which is one.
    fn seeds(&self) -> anyhow::Result<String> {
        let mut text = SEEDS.to_owned();
        if self.urls.is_empty() {
            text.push_str("#\n# https://example.com/\n");
        }
        for url in &self.urls {
            let (seeds, problems) = parse_seeds(url.as_bytes());
            if seeds.len() != 1 || !problems.first.is_empty() {
                let why = problems.first.first().map_or("each word must be one URL", |problem| &problem.why);
                return Err(UsageError::because(format!("{url:?} cannot be a seed: {why}")));
            }
            text.push_str(url);
            text.push('\n');
        }
        Ok(text)
    }
}

/// Writes a file that was not there; returns whether it was not.
fn write_new(path: &Path, text: &str) -> anyhow::Result<bool> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(e) => return Err(disk::Error::io("create", path, e).into()),
    };
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).context(path.display().to_string())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_settings_that_it_writes_are_the_defaults_and_so_are_those_that_it_proposes() {
        assert_eq!(Config::parse(CONFIG, "init.toml").unwrap(), Config::default());
        let mut proposed = 0;
        let mut is_in_list = false;
        let mut uncommented = |line: &str| match line.strip_prefix('#') {
            Some(rest) if is_in_list => {
                is_in_list = rest != "]";
                format!("{rest}\n")
            }
            Some(rest) if rest.contains(" = ") && rest.starts_with(|c: char| c.is_ascii_lowercase()) => {
                proposed += 1;
                is_in_list = rest.ends_with('[');
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        };
        let all: String = CONFIG.lines().map(&mut uncommented).collect();
        assert_eq!(Config::parse(&all, "init.toml").unwrap(), Config::default());
        assert!(proposed > 8, "{proposed}");
        for key in ["favicon", "lazy_attributes", "requisites"] {
            assert!(CONFIG.contains(&format!("\n#{key} = ")), "{key} is not proposed");
        }
    }
}
