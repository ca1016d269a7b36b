//! `crawler identity init`: the first key. Nothing is overwritten.

use std::io::{self, Write};

use clap::Args;

use super::{KeysArg, authority, create, serving};
use crate::cli::exit::{Exit, UsageError};
use crate::report::closing::shell_word;
use crate::signature::{KeyDirectory, SigningKey};
use crate::text::escape::Escaped;

#[derive(Debug, Args)]
#[command(after_help = "\
The private key is for its owner alone (mode 0600), is never printed and never overwritten. The other file has the \
public half only, and is to be served by your web server.

Examples:
  crawler identity init --agent https://bot.example
  crawler identity init --dir /etc/crawler/identity --agent https://bot.example")]
pub(super) struct InitArgs {
    #[command(flatten)]
    keys: KeysArg,
    /// The https origin that will serve the public half; for what is printed
    #[arg(long, value_name = "URL", default_value = "")]
    agent: String,
}

impl InitArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        if !self.agent.is_empty() {
            authority(&self.agent)?;
        }
        create(&self.keys.dir)?;
        let path = self.keys.key_path(1);
        for there in [&path, &self.keys.directory_path()] {
            if there.symlink_metadata().is_ok() {
                let there = there.display();
                let advice = "crawler identity rotate makes the next key";
                return Err(UsageError::because(format!("{there} exists already and was not changed: {advice}")));
            }
        }
        let key = SigningKey::create(&path)?;
        self.keys.write(&KeyDirectory { keys: vec![key.jwk().clone()] })?;
        let agent = if self.agent.is_empty() { "https://YOUR-BOT.example" } else { &self.agent };
        let shown = path.canonicalize().unwrap_or(path);
        let mut out = io::stdout().lock();
        writeln!(out, "{}: the private key; keep it to yourself", Escaped(&shown.to_string_lossy()))?;
        writeln!(out, "thumbprint: {}", key.thumbprint())?;
        write!(out, "{}", serving(&self.keys, &self.agent))?;
        writeln!(out, "  and the fields that crawler identity response --dir {} prints", shell_word(&self.keys.dir))?;
        writeln!(out, "settings:\n  [identity]")?;
        writeln!(out, "  key_file = \"{}\"", toml_text(&shown.to_string_lossy()))?;
        writeln!(out, "  signature_agent = \"{agent}\"")?;
        Ok(Exit::Done)
    }
}

/// `text` within the quotes of a string of TOML, safe for a terminal.
fn toml_text(text: &str) -> String {
    Escaped(&text.replace('\\', "\\\\").replace('"', "\\\"")).to_string()
}
