//! `crawler config`: the settings that a crawl would have, as TOML, each with where it comes from.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::exit::Exit;
use super::run::LimitArgs;
use crate::config::{Config, Origin};
use crate::crawl::sites;
use crate::text::escape::is_terminal_control;
use crate::web::url::CanonicalUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
The output is itself a settings file. A comment on each line says where the value comes from: default, FILE:LINE, or \
an option of the command line. User names and passwords of proxies are left out.

Examples:
  crawler config                              all settings, their defaults
  crawler config --config my.toml --changed   what my.toml changes
  crawler config --for https://example.org/   as they hold for a URL
  crawler config > my.toml                    a file to start from")]
pub(super) struct ConfigArgs {
    /// Settings in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Only settings that differ from their default
    #[arg(long)]
    changed: bool,
    /// The settings for this URL, with the [[site]] tables that hold for it
    #[arg(long = "for", value_name = "URL")]
    of_url: Option<String>,
}

impl ConfigArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (config, origins) = self.limits.configure(self.config.as_deref())?;
        let tables = self.tables(&config)?;
        let shown = if self.of_url.is_some() { sites::overlaid(&config, &tables) } else { config.clone() };
        let shortened = shown.keys_with_secrets();
        let comment = |key: &str, _: &str| {
            let by_site = tables.iter().find_map(|&number| {
                let own = config.site[usize::from(number)].sets(key)?;
                Some(origins.of(&format!("site.{number}.{own}")))
            });
            let origin = by_site.unwrap_or_else(|| origins.of(key));
            let left_out = if shortened.contains(key) { "; its user name and password are left out here" } else { "" };
            (!self.changed || origin != Origin::Default).then(|| format!("{origin}{left_out}"))
        };
        let mut out = io::stdout().lock();
        out.write_all(inert(&shown.to_toml_with(comment)).as_bytes())?;
        let priority = tables.iter().find_map(|&number| {
            let site = &config.site[usize::from(number)];
            site.priority
                .map(|_| origins.of(&format!("site.{number}.priority")))
                .map(|origin| (site.line(number.into()), origin))
        });
        if let Some((line, origin)) = priority {
            writeln!(out, "\n# priority ({origin}): {}", inert(&line))?;
        }
        Ok(out.flush().map(|()| Exit::Done)?)
    }
}

impl ConfigArgs {
    /// The tables that hold for the URL that is asked about.
    fn tables(&self, config: &Config) -> anyhow::Result<Vec<u16>> {
        let Some(url) = &self.of_url else { return Ok(Vec::new()) };
        let url = CanonicalUrl::parse(url).map_err(|error| anyhow::anyhow!("--for {url}: {error}"))?;
        Ok(sites::index(config)?.of_url(url.as_str()))
    }
}

/// TOML that means the same, with what a terminal would obey written by its code.
fn inert(toml: &str) -> String {
    let mut text = String::with_capacity(toml.len());
    for c in toml.chars() {
        match c {
            '\n' => text.push(c),
            c if is_terminal_control(c) && (c as u32) < 0x1_0000 => text.push_str(&format!("\\u{:04X}", c as u32)),
            c if is_terminal_control(c) => text.push_str(&format!("\\U{:08X}", c as u32)),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_by_its_code_and_means_the_same() {
        let mut config = Config::default();
        config.scope.exclude = vec!["a\u{1b}b\u{202e}c\u{e0041}d\u{85}e".to_owned()];
        let text = inert(&config.to_toml());
        assert!(!text.chars().any(|c| c != '\n' && is_terminal_control(c)), "{text}");
        assert_eq!(Config::parse(&text, "x").unwrap(), config);
    }
}
