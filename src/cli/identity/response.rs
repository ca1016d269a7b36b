//! `crawler identity response`: what a web server sends with the key directory. The fields prove that it is of those
//! who have the keys; they are made ahead, so that any server of files can send them.

use std::io::{self, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{DIRECTORY_PATH, DIRECTORY_TYPE, KeysArg, authority, duration, now};
use crate::cli::exit::{Exit, UsageError};
use crate::signature::possession_fields;

#[derive(Debug, Args)]
#[command(after_help = "\
Make them again before they end, and whenever the key directory changes: they hold for these very bytes only.

Examples:
  crawler identity response --agent https://bot.example
  crawler identity response --agent https://bot.example --form nginx")]
pub(super) struct ResponseArgs {
    #[command(flatten)]
    keys: KeysArg,
    /// The https origin that serves the key directory
    #[arg(long, value_name = "URL")]
    agent: String,
    /// Time for which the signatures hold
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = duration)]
    valid: Duration,
    /// Form of the fields
    #[arg(long, value_enum, default_value = "fields")]
    form: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// As lines of HTTP
    Fields,
    /// As a location of nginx
    Nginx,
}

impl ResponseArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let authority = authority(&self.agent)?;
        let ((body, directory), now) = (self.keys.read()?, now());
        let mut keys: Vec<_> = self.keys.keys()?.into_iter().map(|(_, key)| key).collect();
        keys.retain(|key| directory.keys.iter().any(|listed| listed.kid == key.thumbprint() && !listed.has_ended(now)));
        if keys.is_empty() {
            return Err(UsageError::because("no private key here is of a key in the key directory that holds"));
        }
        let fields = possession_fields(&body, authority, &keys, now, self.valid);
        let mut out = io::stdout().lock();
        match self.form {
            Form::Fields => {
                writeln!(out, "Content-Type: {DIRECTORY_TYPE}\nCache-Control: max-age=86400")?;
                fields.iter().try_for_each(|(name, value)| writeln!(out, "{name}: {value}"))?;
            }
            Form::Nginx => {
                writeln!(out, "location = {DIRECTORY_PATH} {{\n    types {{ }}\n    default_type {DIRECTORY_TYPE};")?;
                writeln!(out, "    add_header Cache-Control max-age=86400;")?;
                // they have no single quotes, backslashes or dollar signs
                fields.iter().try_for_each(|(name, value)| writeln!(out, "    add_header {name} '{value}';"))?;
                writeln!(out, "}}")?;
            }
        }
        Ok(Exit::Done)
    }
}
