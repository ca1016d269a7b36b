//! `crawler identity show`: the keys of a directory, and whether settings fit to them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{KeysArg, now, settings};
use crate::cli::exit::{Exit, UsageError};
use crate::clock::Time;
use crate::signature::{Jwk, SigningKey};
use crate::text::escape::Escaped;

#[derive(Debug, Args)]
#[command(after_help = "\
With --config it also checks that the key of the settings is in the key directory and holds; the exit code is 1 where \
it does not.

Examples:
  crawler identity show
  crawler identity show --config my.toml")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    keys: KeysArg,
    /// Settings in TOML, whose key is checked
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ShowArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let ((_, directory), private, now) = (self.keys.read()?, self.keys.keys()?, now());
        let mut out = io::stdout().lock();
        for key in &directory.keys {
            let own = private.iter().find(|(_, own)| own.thumbprint() == key.kid);
            let file = own.map_or("no private key here".to_owned(), |(path, _)| path.display().to_string());
            writeln!(out, "{}  {}  {}", key.kid, validity(key, now), Escaped(&file))?;
        }
        for (path, key) in &private {
            if !directory.keys.iter().any(|listed| listed.kid == key.thumbprint()) {
                let path = path.display().to_string();
                writeln!(out, "{}  not in the key directory  {}", key.thumbprint(), Escaped(&path))?;
            }
        }
        let Some(path) = &self.config else { return Ok(Exit::Done) };
        let identity = settings(Some(path))?.identity;
        if identity.key_file.is_empty() {
            return Err(UsageError::because(format!("{} has no identity.key_file: it signs nothing", path.display())));
        }
        let key = SigningKey::load(Path::new(&identity.key_file));
        let key = key.map_err(|error| UsageError::because(format!("identity.key_file: {error}")))?;
        let listed = directory.keys.iter().find(|listed| listed.kid == key.thumbprint());
        let (words, exit) = match listed {
            None => ("which is not in the key directory", Exit::Internal),
            Some(listed) if !holds(listed, now) => ("which does not hold now", Exit::Internal),
            Some(_) => ("which is in the key directory", Exit::Done),
        };
        writeln!(out, "requests are signed for {} by {}, {words}", identity.signature_agent, key.thumbprint())?;
        Ok(exit)
    }
}

fn holds(key: &Jwk, now: Time) -> bool {
    !key.has_ended(now) && key.nbf.is_none_or(|start| start <= now.ms() / 1_000)
}

fn validity(key: &Jwk, now: Time) -> String {
    let day = |seconds: u64| {
        let (year, month, day, hour, minute, ..) = Time::from_ms(seconds.saturating_mul(1_000)).civil();
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}Z")
    };
    match (key.nbf, key.exp) {
        (_, Some(end)) if key.has_ended(now) => format!("ended {}", day(end)),
        (Some(start), _) if !holds(key, now) => format!("from {}", day(start)),
        (_, Some(end)) => format!("until {}", day(end)),
        _ => "without end".to_owned(),
    }
}
