//! `crawler robots FILE --agent NAME URL...`: what a robots.txt says to an agent, with the line that decides.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, UsageError};
use crate::config::Config;
use crate::text::escape::{Escaped, json_line};
use crate::web::robots::{RobotsFile, whole_lines};

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the rules as a crawl reads them (RFC 9309): the groups that name the agent, or else those of *; the longest \
pattern decides, and Allow if two are equally long. A URL may be absolute or begin with its path. Only the first 500 \
KiB of a file are read, as in a crawl by default.

Examples:
  crawler robots robots.txt --agent mybot /private/x /public/
  crawler get https://a.example/robots.txt | crawler robots - --agent me /b

Exit codes: 0 all are allowed, 1 at least one is disallowed, 2 usage.")]
pub(super) struct RobotsArgs {
    /// The robots.txt; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the agent; a version after it (NAME/1.0) is ignored
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// URLs to check
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Print group, delay and sitemaps too
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RobotsReport<'a> {
    agent: &'a str,
    group: Option<&'a str>,
    crawl_delay_seconds: Option<f64>,
    crawl_delay_line: Option<u32>,
    sitemaps: &'a [String],
    urls: Vec<Asked<'a>>,
}

#[derive(Serialize)]
struct Asked<'a> {
    url: &'a str,
    allowed: bool,
    line: Option<u32>,
    rule: Option<&'a str>,
    group: Option<&'a str>,
}

impl RobotsArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let bytes = self.read()?;
        self.print(&bytes, &mut io::stdout().lock())
    }

    /// The product token, as a crawl of this name has it.
    fn token(&self) -> anyhow::Result<&str> {
        Config::token_of(&self.agent).ok_or_else(|| {
            UsageError::because(format!(
                "--agent {}: a name has only letters, - and _, with an optional version after a / or a blank, as in \
                 mybot/1.0: robots.txt files use such names, and a crawl rejects any other",
                Escaped(&self.agent)
            ))
        })
    }

    fn read(&self) -> anyhow::Result<Vec<u8>> {
        let is_stdin = self.file == Path::new("-");
        let name = if is_stdin { "standard input".to_owned() } else { self.file.display().to_string() };
        let refuse = |e: io::Error| UsageError::because(format!("cannot read {name}: {e}"));
        let source: Box<dyn Read> =
            if is_stdin { Box::new(io::stdin()) } else { Box::new(fs::File::open(&self.file).map_err(refuse)?) };
        let max = Config::default().robots.max_bytes.get();
        let mut bytes = Vec::new();
        source.take(max + 1).read_to_end(&mut bytes).map_err(refuse)?;
        if bytes.len() as u64 > max {
            let _ =
                writeln!(io::stderr(), "crawler: {} is longer than {max} bytes: the rest was not read", Escaped(&name));
        }
        let lines = whole_lines(&bytes, None, false, usize::try_from(max).unwrap_or(usize::MAX));
        let damaged = || UsageError::because(format!("cannot read {}: it is gzipped and damaged", Escaped(&name)));
        Ok(lines.ok_or_else(damaged)?.text.into_owned())
    }

    fn print(&self, bytes: &[u8], out: &mut dyn Write) -> anyhow::Result<Exit> {
        let agent = self.token()?;
        let file = RobotsFile::parse(agent, bytes);
        let delay = file.delay();
        let urls: Vec<Asked<'_>> = self.urls.iter().map(|url| ask(&file, url)).collect();
        let exit = if urls.iter().all(|asked| asked.allowed) { Exit::Done } else { Exit::Internal };
        if self.json {
            let (group, sitemaps) = (file.group(), file.sitemaps());
            let crawl_delay_seconds = delay.map(|stated| stated.delay.as_secs_f64());
            let crawl_delay_line = delay.map(|stated| stated.number);
            let answer = RobotsReport { agent, group, crawl_delay_seconds, crawl_delay_line, sitemaps, urls };
            writeln!(out, "{}", json_line(&answer)?)?;
            return Ok(exit);
        }
        for asked in &urls {
            let word = if asked.allowed { "allowed" } else { "disallowed" };
            let why = match (asked.line, asked.rule, asked.group) {
                (Some(line), Some(rule), Some(group)) => {
                    format!("line {line} \"{}\" (group {})", Escaped(rule), Escaped(group))
                }
                _ => "no rule matches".to_owned(),
            };
            writeln!(out, "{word}\t{}\t{why}", Escaped(asked.url))?;
        }
        if self.verbose {
            let group = file.group().unwrap_or("none that applies");
            writeln!(out, "agent\t{}\ngroup\t{}", Escaped(agent), Escaped(group))?;
            match delay {
                Some(stated) => {
                    let seconds = stated.delay.as_secs_f64();
                    writeln!(out, "delay\t{seconds} s\tline {} \"{}\"", stated.number, Escaped(&stated.text))?;
                }
                None => writeln!(out, "delay\tnone")?,
            }
            for sitemap in file.sitemaps() {
                writeln!(out, "sitemap\t{}", Escaped(sitemap))?;
            }
        }
        out.flush()?;
        Ok(exit)
    }
}

fn ask<'a>(file: &'a RobotsFile, url: &'a str) -> Asked<'a> {
    let decision = file.decide(url);
    Asked {
        url,
        allowed: decision.allowed,
        line: decision.line.map(|line| line.number),
        rule: decision.line.map(|line| line.text.as_str()),
        group: decision.line.map(|line| line.group.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: RobotsArgs,
    }

    const FILE: &[u8] = b"User-agent: mybot\nDisallow: /a\x1b[2J\nDisallow: /b\nAllow: /b/c\nCrawl-delay: 2.5\n\
                          Sitemap: http://h/map.xml\n\nUser-agent: *\nDisallow: /\n";

    fn asked(args: &[&str]) -> (Exit, String) {
        let cli = Cli::parse_from([&["robots", "robots.txt"], args].concat());
        let mut out = Vec::new();
        let exit = cli.args.print(FILE, &mut out).unwrap();
        (exit, String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_url_is_answered_with_the_line_that_decides() {
        let (exit, said) = asked(&["--agent", "MyBot/3.0 (x)", "/b/x", "http://h/b/c/d", "/else", "/robots.txt"]);
        let expected = "disallowed\t/b/x\tline 3 \"Disallow: /b\" (group mybot)\n\
                        allowed\thttp://h/b/c/d\tline 4 \"Allow: /b/c\" (group mybot)\n\
                        allowed\t/else\tno rule matches\nallowed\t/robots.txt\tno rule matches\n";
        assert_eq!((exit, said.as_str()), (Exit::Internal, expected));
        assert_eq!(asked(&["--agent", "mybot", "/b/c"]).0, Exit::Done);
        assert_eq!(asked(&["--agent", "other", "/b/c"]).0, Exit::Internal);
    }

    #[test]
    fn verbose_and_json_tell_of_group_delay_and_sitemaps() {
        let (_, said) = asked(&["--agent", "mybot", "--verbose"]);
        let expected = "agent\tmybot\ngroup\tmybot\ndelay\t2.5 s\tline 5 \"Crawl-delay: 2.5\"\n\
                        sitemap\thttp://h/map.xml\n";
        assert_eq!(said, expected);
        let (exit, said) = asked(&["--agent", "mybot", "--json", "/a\u{1b}[2Jx"]);
        assert_eq!(exit, Exit::Internal);
        assert!(!said.contains('\x1b'), "{said}");
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(json["urls"][0]["line"], 2);
        assert_eq!(json["crawl_delay_seconds"], 2.5);
        assert_eq!(json["sitemaps"][0], "http://h/map.xml");
    }

    #[test]
    fn what_the_file_says_cannot_move_the_cursor_and_an_agent_needs_a_name() {
        let (_, said) = asked(&["--agent", "mybot", "/a\u{1b}[2J"]);
        assert!(said.contains("Disallow: /a\\x1b[2J") && !said.contains('\x1b'), "{said}");
    }

    #[test]
    fn n20_an_agent_that_a_crawl_would_refuse_is_refused() {
        for agent in ["/1.0", "AB42bot", "my.bot", "bot2", "möbot/1", "mybot;x", " mybot", ""] {
            let cli = Cli::parse_from(["robots", "f", "--agent", agent]);
            let error = cli.args.print(FILE, &mut Vec::new()).unwrap_err();
            assert!(error.is::<UsageError>() && error.to_string().contains("mybot/1.0"), "{agent}: {error}");
            let mut config = Config::default();
            config.crawl.user_agent = agent.to_owned();
            assert!(config.check().is_err(), "{agent}");
        }
        for agent in ["mybot", "my-bot_x/1.0", "mybot (x)"] {
            let mut config = Config::default();
            config.crawl.user_agent = agent.to_owned();
            assert_eq!(Config::token_of(agent), config.check().is_ok().then(|| config.agent_token()), "{agent}");
        }
    }
}
