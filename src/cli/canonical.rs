//! `crawler canonical URL...`: the forms of a URL: as it is fetched, as it is known, as archives sort it.

use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, UsageError};
use super::run;
use crate::config::Config;
use crate::crawl;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::fingerprint::Fingerprinter;
use crate::text::escape::{Escaped, json_line};
use crate::web::surt::surt;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Longest line of standard input.
const LINE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints one line per URL, separated by tabs: fetch form, key form, origin, registrable domain, SURT, and with --dir the \
fingerprints of key form, origin, host and domain, and the shard if the crawl has several. A crawl treats two URLs \
with the same key form as the same URL. The key form leaves out the query parameters that the crawl in --dir, the \
file of --config or the default settings name.

Examples:
  crawler canonical 'HTTP://Example.COM:80/a/../b?utm_source=x#top'
  cut -f1 links.tsv | crawler canonical - --json
  crawler canonical https://example.com/ --dir news

Exit codes: 0 all are URLs, 2 at least one is not a URL (the others are printed).")]
pub(super) struct CanonicalArgs {
    /// URLs; - reads them from standard input, one per line
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Settings in TOML; only scope.strip_query_params is used here
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    config: Option<PathBuf>,
    /// Crawl directory whose fingerprints and query parameters to use
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long, visible_alias = "jsonl")]
    json: bool,
}

#[derive(Serialize)]
struct Forms<'a> {
    url: &'a str,
    key_form: String,
    origin: String,
    domain: &'a str,
    surt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprints: Option<Fingerprints>,
}

/// A crawl's fingerprints; the shard, where it has several.
#[derive(Serialize)]
struct Fingerprints {
    key: String,
    origin: String,
    host: String,
    domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
}

/// The output, and whether a line was refused so far because it is no URL.
struct Printer<'a> {
    keys: KeyMaker,
    crawl: Option<CrawlDirs>,
    json: bool,
    out: &'a mut dyn Write,
    errors: &'a mut dyn Write,
    refused: bool,
}

impl CanonicalArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let mut out = BufWriter::new(io::stdout().lock());
        self.print(&mut io::stdin().lock(), &mut out, &mut io::stderr())
    }

    fn key_maker(&self) -> anyhow::Result<(KeyMaker, Option<CrawlDirs>)> {
        if let Some(dir) = &self.dir {
            run::require_crawl(dir)?;
            let dirs = CrawlDirs::find(&Disk::real(), dir)?;
            return Ok((dirs.keys().map_or_else(|| crawl::key_maker(dir), |keys| Ok(keys.clone()))?, Some(dirs)));
        }
        let config = Config::load(self.config.as_deref())?;
        // fingerprints are of a crawl: without one they are not shown
        Ok((KeyMaker::new(Fingerprinter::random(0), &config.scope.strip_query_params), None))
    }

    fn print(&self, input: &mut dyn BufRead, out: &mut dyn Write, errors: &mut dyn Write) -> anyhow::Result<Exit> {
        let (keys, crawl) = self.key_maker()?;
        let mut printer = Printer { keys, crawl, json: self.json, out, errors, refused: false };
        for url in &self.urls {
            if url != "-" {
                printer.line(url)?;
                continue;
            }
            let mut line = Vec::new();
            while (&mut *input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
                let text = String::from_utf8_lossy(&line).into_owned();
                if !text.trim().is_empty() {
                    printer.line(text.trim())?;
                }
                line.clear();
            }
        }
        printer.out.flush()?;
        Ok(if printer.refused { Exit::Usage } else { Exit::Done })
    }
}

impl Printer<'_> {
    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        let url = match parse(text) {
            Ok(url) => url,
            Err(why) => {
                self.refused = true;
                writeln!(self.errors, "crawler: {}", Escaped(&why.to_string()))?;
                return Ok(());
            }
        };
        let forms = self.forms(&url);
        if self.json {
            return Ok(writeln!(self.out, "{}", json_line(&forms)?)?);
        }
        write!(self.out, "{}\t{}\t{}\t{}\t{}", forms.url, forms.key_form, forms.origin, forms.domain, forms.surt)?;
        if let Some(prints) = &forms.fingerprints {
            write!(self.out, "\t{}\t{}\t{}\t{}", prints.key, prints.origin, prints.host, prints.domain)?;
            prints.shard.iter().try_for_each(|shard| write!(self.out, "\t{shard}"))?;
        }
        Ok(writeln!(self.out)?)
    }

    /// A serialised URL has no tabs, no line ends and no control characters.
    fn forms<'a>(&self, url: &'a CanonicalUrl) -> Forms<'a> {
        let hex = |print: crate::fingerprint::Fingerprint| format!("{:016x}", print.bits());
        let prints = self.keys.keys(url);
        Forms {
            url: url.as_str(),
            key_form: self.keys.key_text(url),
            origin: url.origin(),
            domain: url.registrable_domain(),
            surt: surt(url),
            fingerprints: self.crawl.as_ref().map(|crawl| Fingerprints {
                key: hex(prints.key),
                origin: hex(prints.origin),
                host: hex(prints.host),
                domain: hex(prints.domain),
                shard: crawl.name(crawl.place_of(prints.domain)),
            }),
        }
    }
}

/// A URL as a crawl has it, or why it is none.
pub(super) fn parse(text: &str) -> anyhow::Result<CanonicalUrl> {
    CanonicalUrl::parse(text).map_err(|why| {
        let hint = if text.contains("://") { String::new() } else { "; write it with its scheme".to_owned() };
        UsageError::because(format!("{text}: {why}{hint}"))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: CanonicalArgs,
    }

    fn canonical(args: &[&str], input: &str) -> (Exit, String, String) {
        let cli = Cli::parse_from([&["canonical"], args].concat());
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let exit = cli.args.print(&mut input.as_bytes(), &mut out, &mut errors).unwrap();
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(errors).unwrap())
    }

    #[test]
    fn the_forms_of_a_url_stand_in_a_line() {
        let (exit, out, errors) = canonical(&["HTTP://WWW.Example.co.uk:80/a/../%7Eb?utm_source=x&c=1#top"], "");
        let expected = "http://www.example.co.uk/%7Eb?utm_source=x&c=1\thttp://www.example.co.uk/~b?c=1\t\
                        http://www.example.co.uk:80\texample.co.uk\tuk,co,example)/~b?c=1&utm_source=x\n";
        assert_eq!((exit, out.as_str(), errors.as_str()), (Exit::Done, expected, ""));
    }

    #[test]
    fn what_is_no_url_is_told_and_the_others_are_printed() {
        let input = "http://a.example/\r\n\nnonsense\x1b[2J\nftp://a/\nhttp://b.example/";
        let (exit, out, errors) = canonical(&["-", "--json"], input);
        assert_eq!(exit, Exit::Usage);
        let urls: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            urls.iter().map(|line| &line["url"]).collect::<Vec<_>>(),
            ["http://a.example/", "http://b.example/"]
        );
        assert!(urls[0].get("fingerprints").is_none());
        assert_eq!(errors.lines().count(), 2, "{errors}");
        assert!(errors.contains("write it with its scheme") && errors.contains("only http and https"), "{errors}");
        assert!(!errors.contains('\x1b'));
    }
}
