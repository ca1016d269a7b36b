//! `crawler completions SHELL` and `crawler man`: made from the definitions of the command line, so that they know
//! every command and option there is.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler completions bash > ~/.local/share/bash-completion/completions/crawler
  crawler completions zsh > ~/.zfunc/_crawler
  crawler completions fish > ~/.config/fish/completions/crawler.fish

For zsh write fpath+=~/.zfunc before compinit in ~/.zshrc.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler man | man -l -
  crawler man > ~/.local/share/man/man1/crawler.1
  crawler man export links | man -l -")]
pub(super) struct ManArgs {
    /// Page of this command; without it, one page for all commands
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl CompletionsArgs {
    pub(super) fn run(&self, mut command: Command) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "crawler", &mut script);
        print(&script)
    }
}

impl ManArgs {
    pub(super) fn run(&self, mut command: Command) -> anyhow::Result<Exit> {
        command.build();
        let mut page = Vec::new();
        if self.command.is_empty() {
            whole(&command, &mut page)?;
        } else {
            Man::new(find(command, &self.command)?).render(&mut page)?;
        }
        print(&page)
    }
}

/// The command of these names.
fn find(mut command: Command, names: &[String]) -> anyhow::Result<Command> {
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let problem = format!("{} has no command {name:?}; known commands: {known}", command.get_name());
            return Err(super::UsageError::because(problem));
        };
        command = found.clone();
    }
    // under its own name a page would be taken for that of another program
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    Ok(command.display_name(name))
}

/// The page of the program: what clap_mangen makes of it, with the options of every command behind.
fn whole(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    man.render_subcommands_section(page)?;
    for subcommand in command.get_subcommands() {
        of_command(subcommand, page)?;
    }
    man.render_extra_section(page)?;
    man.render_version_section(page)
}

/// The section of a command, and of those below it.
fn of_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    writeln!(page, ".SH {}", name.to_uppercase().replace('-', "\\-"))?;
    let man = Man::new(command.clone());
    for (from, to) in [("SYNOPSIS", ""), ("DESCRIPTION", ""), ("OPTIONS", "Options"), ("EXTRA", "")] {
        let mut section = Vec::new();
        match from {
            "SYNOPSIS" => man.render_synopsis_section(&mut section)?,
            "DESCRIPTION" => man.render_description_section(&mut section)?,
            "OPTIONS" if command.get_arguments().any(|argument| !argument.is_hide_set()) => {
                man.render_options_section(&mut section)?;
            }
            "EXTRA" if command.get_after_help().is_some() => man.render_extra_section(&mut section)?,
            _ => continue,
        }
        // its heading becomes one of this section's, or a paragraph
        let text = String::from_utf8_lossy(&section);
        let below = text.find(&format!(".SH {from}")).map_or(&*text, |at| &text[at..]);
        let below = below.split_once('\n').map_or("", |(_, rest)| rest);
        let heading = if to.is_empty() { ".PP\n".to_owned() } else { format!(".SS {to}\n") };
        page.extend(heading.as_bytes());
        page.extend(below.as_bytes());
    }
    for subcommand in command.get_subcommands() {
        of_command(subcommand, page)?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> anyhow::Result<Exit> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Exit::Done)
}
