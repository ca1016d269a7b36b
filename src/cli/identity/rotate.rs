//! `crawler identity rotate`: a key that takes over from the last one, while both are in the directory.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use super::{KeysArg, duration, now, serving};
use crate::cli::exit::Exit;
use crate::signature::SigningKey;
use crate::text::escape::Escaped;

#[derive(Debug, Args)]
#[command(after_help = "\
Writes the next private key (key-2.pem and so on) and adds its public half to the key directory. Keys from before get \
an end there, those whose end has passed leave it. Serve the new directory first, wait until caches have it, and only \
then sign with the new key: the crawl keeps the old one until its settings name the other and it is started again.

Example:
  crawler identity rotate --overlap 7d")]
pub(super) struct RotateArgs {
    #[command(flatten)]
    keys: KeysArg,
    /// Time for which earlier keys still hold
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    overlap: Duration,
}

impl RotateArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (_, mut directory) = self.keys.read()?;
        let path = self.keys.key_path(self.keys.keys()?.len() + 1);
        let key = SigningKey::create(&path)?;
        directory.rotate(key.jwk(), now(), self.overlap);
        self.keys.write(&directory)?;
        let mut out = io::stdout().lock();
        let path = path.canonicalize().unwrap_or(path);
        writeln!(out, "{}: the next private key", Escaped(&path.to_string_lossy()))?;
        writeln!(out, "thumbprint: {}", key.thumbprint())?;
        write!(out, "1. {}", serving(&self.keys, ""))?;
        writeln!(out, "2. wait a day, until verifiers have read it")?;
        writeln!(out, "3. set identity.key_file to the next key, and start the crawl again")?;
        Ok(Exit::Done)
    }
}
