//! `crawler export urls`: a URL a line, each once.

use std::io::Write;

use clap::Args;

use super::Common;
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage};
use crate::cli::exit::Exit;
use crate::cli::selection::KindChoice;
use crate::text::escape::Escaped;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints every URL once, in the order in which the newest versions were stored; filters apply to the newest version. The \
list can serve as the seeds of another crawl.

Examples:
  crawler export urls --status 200 --mime text/html
  crawler export urls --status 5xx --output again.txt")]
pub(super) struct UrlsArgs {
    #[command(flatten)]
    common: Common,
}

impl UrlsArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.common.with(open_archive, false, |archive, out, warnings| self.write(archive, out, warnings))
    }

    fn write(
        &self,
        archive: &dyn Archive,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let mut damage = Damage::default();
        self.common
            .selection(KindChoice::All)
            .each(archive, false, &mut damage, warnings, |entry, _, _| Ok(writeln!(out, "{}", Escaped(&entry.url))?))?;
        Ok(damage.or(Exit::Done, warnings))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: UrlsArgs,
    }

    #[test]
    fn every_url_comes_once_and_forges_no_line() {
        let mut archive = FakeArchive::default();
        for (url, status) in [("https://a/", 503), ("https://b/", 200), ("https://a/", 200), ("https://c/\nx", 200)] {
            archive.page(url, status, "text/html", b"");
        }
        let mut out = Vec::new();
        Cli::parse_from(["urls", "--status", "2xx"]).args.write(&archive, &mut out, &mut Vec::new()).unwrap().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "https://b/\nhttps://a/\nhttps://c/\\nx\n");
    }
}
