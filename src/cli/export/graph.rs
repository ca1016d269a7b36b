//! `crawler export graph`: which host, or which domain, links to which, with their centrality, in the files of Common
//! Crawl's web graphs.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use flate2::Compression as Level;
use flate2::write::GzEncoder;

use crate::archive::LinkFinder;
use crate::cli::archive::{Archive, Damage, Entry, Response};
use crate::cli::exit::{Exit, UsageError};
use crate::cli::output::{Output, memory};
use crate::cli::selection::{KindArgs, KindChoice, Selection};
use crate::cli::{ArchiveArg, OpenArchive};
use crate::graph::{Builder, Graph, Rank};
use crate::web::url::CanonicalUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the newest version of all pages with status 200, or with the status of --status, and redirects, and writes three \
files of Common Crawl's web graphs into the directory of --output:
  host-vertices.txt.gz   number and name; of domains also how many hosts
  host-edges.txt.gz      numbers of two hosts; the first links to the second
  host-ranks.txt.gz      places by harmonic centrality and by PageRank, values,
                         name, of domains how many hosts, in-degree
With --level domain their names begin with domain-.

Names are in reverse notation without www: org.example.news. Every link counts, also those of images and scripts; \
links within a host do not, and addresses are no names. Harmonic centrality is exact for up to 16,384 hosts and \
estimated above (by HyperLogLog counters with a standard error of 6.5 %). Memory stays at --memory; the rest is sorted \
in temporary files (in TMPDIR), at least 600 bytes per host.

Examples:
  crawler export graph --output graph
  crawler export graph --level domain --memory 1GiB -o graph
  zcat graph/host-ranks.txt.gz | head")]
pub(super) struct GraphArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// Directory for the files; it is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Kind of the vertices
    #[arg(long, value_enum, default_value = "host")]
    level: Vertices,
    /// Memory for sorting and for the states of a pass
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = memory)]
    memory: usize,
}

/// The kind of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Vertices {
    /// A host name
    Host,
    /// A registrable domain, by the public suffix list
    Domain,
}

impl Vertices {
    fn name(self) -> &'static str {
        match self {
            Vertices::Host => "host",
            Vertices::Domain => "domain",
        }
    }

    /// The vertex of a URL, and its host; none of an address.
    fn of(self, url: &CanonicalUrl) -> Option<(String, String)> {
        if url.literal_address().is_some() {
            return None;
        }
        let host = reversed(url.host());
        let vertex = match self {
            Vertices::Host => host.clone(),
            Vertices::Domain => reversed(url.registrable_domain()),
        };
        Some((vertex, host)).filter(|(vertex, _)| !vertex.is_empty())
    }
}

/// A name with its labels in reverse, without a first one of `www`.
fn reversed(name: &str) -> String {
    let name = name.trim_end_matches('.');
    let bare = name.strip_prefix("www.").unwrap_or(name);
    let labels: Vec<&str> = bare.rsplit('.').collect();
    labels.join(".")
}

impl GraphArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let archive = self.archive.open(open_archive)?;
        let made = fs::create_dir_all(&self.output);
        made.map_err(|e| UsageError::because(format!("cannot make {}: {e}", self.output.display())))?;
        // what cannot be written is reported before the work
        let [vertices, edges, ranks] = ["vertices", "edges", "ranks"].map(|what| self.file(what));
        let (mut vertices, mut edges, mut ranks) = (vertices?, edges?, ranks?);
        let (graph, damage) = self.graph(&*archive, &mut std::io::stderr())?;
        self.write(&graph, &mut vertices, &mut edges, &mut ranks)?;
        [vertices, edges, ranks].into_iter().try_for_each(Output::finish)?;
        damage.or(Exit::Done, &mut std::io::stderr())
    }

    fn file(&self, what: &str) -> anyhow::Result<Output> {
        let name = format!("{}-{what}.txt.gz", self.level.name());
        Output::open(&self.output.join(name), Path::new(&self.archive.dir.dir), true)
    }

    /// The graph of all selected pages.
    fn graph(&self, archive: &dyn Archive, warnings: &mut dyn Write) -> anyhow::Result<(Graph, Damage)> {
        let (mut damage, mut finder) = (Damage::default(), LinkFinder::new(fastrand::u64(..)));
        let mut builder = Builder::new(self.memory);
        let selection = self.kind.narrow(&self.selection, KindChoice::Unjudged);
        selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
            if !selection.may_link(&entry) {
                return Ok(());
            }
            match archive.shown(&entry) {
                Ok(response) => self.page(archive, &entry, &response, &mut finder, &mut builder)?,
                Err(e) => damage.note(e, warnings),
            }
            Ok(())
        })?;
        Ok((builder.finish()?, damage))
    }

    fn page(
        &self,
        archive: &dyn Archive,
        entry: &Entry,
        response: &Response,
        finder: &mut LinkFinder,
        builder: &mut Builder,
    ) -> anyhow::Result<()> {
        let Ok(url) = CanonicalUrl::parse(&entry.url) else { return Ok(()) };
        let Some((from, host)) = self.level.of(&url) else { return Ok(()) };
        builder.host(&from, &host)?;
        let mut seen = HashSet::from([host]);
        let hops = || archive.history(entry).map(|history| history.hops);
        let content_type = response.content_type();
        for target in finder.targets(&response.linking(&url, content_type.as_deref()), hops)? {
            let Some((to, host)) = self.level.of(&target) else { continue };
            if !seen.contains(&host) {
                builder.host(&to, &host)?;
                builder.link(&from, &to)?;
                seen.insert(host);
            }
        }
        Ok(())
    }

    fn write(
        &self,
        graph: &Graph,
        vertices: &mut impl Write,
        edges: &mut impl Write,
        ranks: &mut impl Write,
    ) -> anyhow::Result<()> {
        let is_domain = self.level == Vertices::Domain;
        let mut out = GzEncoder::new(vertices, Level::default());
        for (number, name) in graph.names.each().enumerate() {
            let name = name?;
            let members = if is_domain { format!("\t{}", name.members) } else { String::new() };
            writeln!(out, "{number}\t{}{members}", name.name)?;
        }
        out.finish()?;
        let mut out = GzEncoder::new(edges, Level::default());
        for edge in graph.edges.each() {
            let (from, to) = edge?;
            writeln!(out, "{from}\t{to}")?;
        }
        out.finish()?;
        let mut out = GzEncoder::new(ranks, Level::default());
        let members = if is_domain { "\t#n_hosts" } else { "" };
        let level = self.level.name();
        writeln!(out, "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#{level}_rev{members}\t#in_degree")?;
        for rank in graph.ranks()? {
            let Rank { name, members, harmonic_place, harmonic, page_rank_place, page_rank, in_degree } = rank?;
            let members = if is_domain { format!("\t{members}") } else { String::new() };
            let places = format!("{harmonic_place}\t{harmonic}\t{page_rank_place}\t{page_rank}");
            writeln!(out, "{places}\t{name}{members}\t{in_degree}")?;
        }
        out.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use clap::Parser;
    use flate2::read::GzDecoder;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: GraphArgs,
    }

    fn text(bytes: &[u8]) -> String {
        let mut text = String::new();
        GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
        text
    }

    /// Vertices, edges and ranks of an archive of four pages.
    fn files(args: &[&str]) -> [String; 3] {
        let mut archive = FakeArchive::default();
        let links = "<a href='https://www.b.example/'><img src='http://img.b.example/x'><a href='/y'>\
                     <a href='http://10.0.0.1/'><a rel=nofollow href='https://b.example./2'>";
        archive.page("https://a.example/", 200, "text/html", links.as_bytes());
        archive.page("https://a.example/2", 200, "text/html", links.as_bytes());
        archive.page("https://b.example/", 200, "text/html", b"<a href='https://c.co.uk/'>");
        archive.page("https://gone.example/", 404, "text/html", b"<a href='https://d.example/'>");
        let args = Cli::parse_from([&["graph", "-o", "x"], args].concat()).args;
        let (graph, _) = args.graph(&archive, &mut Vec::new()).unwrap();
        let (mut vertices, mut edges, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
        args.write(&graph, &mut vertices, &mut edges, &mut ranks).unwrap();
        [text(&vertices), text(&edges), text(&ranks)]
    }

    #[test]
    fn hosts_have_names_in_reverse_and_the_files_fit_each_other() {
        let [vertices, edges, ranks] = files(&[]);
        assert_eq!(vertices, "0\texample.a\n1\texample.b\n2\texample.b.img\n3\tuk.co.c\n");
        assert_eq!(edges, "0\t1\n0\t2\n1\t3\n");
        let lines: Vec<&str> = ranks.lines().collect();
        assert_eq!(lines[0], "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#in_degree");
        let without_rank = |line: &str| {
            let parts: Vec<&str> = line.split('\t').collect();
            format!("{} {} {} {}", parts[0], parts[1], parts[4], parts[5])
        };
        let told: Vec<String> = lines[1..].iter().map(|line| without_rank(line)).collect();
        assert_eq!(told, ["1 1.5 uk.co.c 1", "2 1 example.b 1", "3 1 example.b.img 1", "4 0 example.a 0"]);
    }

    #[test]
    fn domains_tell_how_many_hosts_they_have() {
        let [vertices, edges, ranks] = files(&["--level", "domain"]);
        assert_eq!(vertices, "0\texample.a\t1\n1\texample.b\t2\n2\tuk.co.c\t1\n");
        assert_eq!(edges, "0\t1\n1\t2\n");
        assert!(
            ranks.starts_with("#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#domain_rev\t#n_hosts\t#in_degree\n")
        );
        assert!(ranks.contains("\tuk.co.c\t1\t1\n"), "{ranks}");
        let [vertices, ..] = files(&["--status", "404", "--level", "domain"]);
        assert_eq!(vertices, "0\texample.d\t1\n1\texample.gone\t1\n");
    }
}
