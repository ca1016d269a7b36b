//! `crawler identity`: the key that signs requests, the directory with its public half, and a page about the bot.
//!
//! A directory has all of it: `key.pem`, `key-2.pem` and so on, for their owner alone, and the key directory, which a
//! web server serves. Nothing here talks to the network, and no private key is printed.

mod init;
mod page;
mod response;
mod rotate;
mod show;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError};
use crate::clock::{Clock, SystemClock, Time};
use crate::config::{Config, parse_duration};
use crate::disk::{Aside, Disk};
use crate::signature::{DIRECTORY_PATH, DIRECTORY_TYPE, KeyDirectory, SigningKey};

/// The key directory among the keys, by the name under which it is served.
const DIRECTORY_FILE: &str = "http-message-signatures-directory";

#[derive(Debug, Args)]
pub(super) struct IdentityArgs {
    #[command(subcommand)]
    command: IdentityCommand,
}

#[derive(Debug, Subcommand)]
enum IdentityCommand {
    /// Make a key, and the directory with its public half
    Init(init::InitArgs),
    /// Make the next key, which takes over from the last one
    Rotate(rotate::RotateArgs),
    /// Show the keys, and until when they hold
    Show(show::ShowArgs),
    /// Print the fields of the answer with which the directory is served
    Response(response::ResponseArgs),
    /// Print a page about the bot, for those who find it in their logs
    Page(page::PageArgs),
}

impl IdentityArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        match &self.command {
            IdentityCommand::Init(args) => args.run(),
            IdentityCommand::Rotate(args) => args.run(),
            IdentityCommand::Show(args) => args.run(),
            IdentityCommand::Response(args) => args.run(),
            IdentityCommand::Page(args) => args.run(),
        }
    }
}

/// The directory with the keys.
#[derive(Debug, Args)]
struct KeysArg {
    /// Directory with the keys and the key directory
    #[arg(long, value_name = "DIR", default_value = "identity")]
    dir: PathBuf,
}

impl KeysArg {
    fn directory_path(&self) -> PathBuf {
        self.dir.join(DIRECTORY_FILE)
    }

    /// The key directory as bytes and as keys.
    fn read(&self) -> anyhow::Result<(Vec<u8>, KeyDirectory)> {
        let path = self.directory_path();
        let json = Disk::real().read(&path).map_err(|error| match error.is_not_found() {
            true => UsageError::because(format!("{} is not there: crawler identity init makes it", path.display())),
            false => error.into(),
        })?;
        let directory = KeyDirectory::parse(&json);
        let directory = directory.map_err(|why| UsageError::because(format!("{}: {why}", path.display())))?;
        Ok((json, directory))
    }

    fn write(&self, directory: &KeyDirectory) -> anyhow::Result<()> {
        Ok(Aside::put(&self.directory_path(), directory.to_json().as_bytes())?)
    }

    /// The private keys, the oldest one first.
    fn keys(&self) -> anyhow::Result<Vec<(PathBuf, SigningKey)>> {
        let mut keys = Vec::new();
        for number in 1.. {
            let path = self.key_path(number);
            if !path.exists() {
                break;
            }
            let key = SigningKey::load(&path).map_err(|error| UsageError::because(error.to_string()))?;
            keys.push((path, key));
        }
        Ok(keys)
    }

    /// Returns the path of the `number`-th key, from 1 on.
    fn key_path(&self, number: usize) -> PathBuf {
        self.dir.join(if number == 1 { "key.pem".to_owned() } else { format!("key-{number}.pem") })
    }
}

/// The settings that `path` names, or the defaults.
fn settings(path: Option<&Path>) -> anyhow::Result<Config> {
    Ok(Config::load(path)?)
}

/// The moment by the machine's clock.
fn now() -> Time {
    SystemClock::new().wall()
}

/// The host, with a port that is not the usual one, of an https origin.
fn authority(agent: &str) -> anyhow::Result<&str> {
    let mut config = Config::default();
    agent.clone_into(&mut config.identity.signature_agent);
    config.check()?;
    agent.strip_prefix("https://").ok_or_else(|| UsageError::because("--agent must be an https origin"))
}

/// Returns instructions for serving a new key directory.
fn serving(keys: &KeysArg, agent: &str) -> String {
    let agent = if agent.is_empty() { "https://YOUR-BOT.example" } else { agent };
    format!(
        "serve {} as {agent}{DIRECTORY_PATH}\n  with Content-Type: {DIRECTORY_TYPE}\n  \
         and Cache-Control: max-age=86400\n",
        keys.directory_path().display()
    )
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "write a number with a unit, such as 7d or 24h".to_owned())
}

/// Makes the directory of the keys.
fn create(dir: &Path) -> anyhow::Result<()> {
    Ok(fs::create_dir_all(dir).map_err(|error| crate::disk::Error::io("create", dir, error))?)
}
