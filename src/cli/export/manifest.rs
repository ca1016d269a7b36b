//! `crawler export manifest`: what is in the archive, under which terms each page was fetched, and a seal.
//!
//! A line of JSON for each page, in the order of the archive. The last line seals those before it: their number, their
//! SHA-256, and the signature of that by the key of the crawler's identity, with its public half. The same archive, key
//! and version of the program give the same bytes: nothing depends on the time of the export.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Common;
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage, Entry};
use crate::cli::exit::{Exit, UsageError};
use crate::cli::origin_files::OriginFiles;
use crate::cli::preferences::stated;
use crate::cli::reservations::Reservations;
use crate::cli::selection::KindChoice;
use crate::signature::{Jwk, SigningKey};
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::iso_ms;
use crate::warc::digest;
use crate::web::kind::Kind;

/// Bytes of a line that is checked.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The beginning of the text that is signed; no request has a signature over such a text.
const SIGNED: &str = "crawler-manifest sha256:";

#[derive(Debug, Args)]
#[command(after_help = "\
A line of JSON for each page: its URL, time, status and digest, the place of its record, the robots.txt that was in \
effect, robots directives, usage preferences, licences and price. The last line has the SHA-256 of the others, signed \
by the key of the crawler's identity (see crawler identity); without --key it is not signed. The same archive \
gives the same bytes.

--check says whether a manifest is as it was sealed, and by which key. Whose key that is, its directory says.

Examples:
  crawler export manifest --key identity/key.pem --output manifest.jsonl
  crawler export manifest --check manifest.jsonl")]
pub(super) struct ManifestArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// The private key of the identity, which signs the manifest
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Check this manifest; no archive is read
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "all", "output"])]
    check: Option<PathBuf>,
}

/// A page.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    time: String,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(skip_serializing_if = "str::is_empty")]
    mime: &'a str,
    digest: String,
    file: String,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    robots: Option<RobotsInEffect>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    directives: Vec<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    preferences: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    price: &'a str,
}

/// The answer of an origin to the request for robots.txt that was the newest when a page was fetched.
#[derive(Clone, Serialize)]
struct RobotsInEffect {
    time: String,
    status: u16,
    digest: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct Seal {
    lines: u64,
    sha256: String,
    software: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Jwk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// The lines so far.
#[derive(Default)]
struct Sealed {
    lines: u64,
    sha256: Sha256,
}

impl Sealed {
    fn take(&mut self, line: &[u8]) {
        self.lines += 1;
        self.sha256.update(line);
    }

    fn seal(self, key: Option<&SigningKey>) -> Seal {
        let sha256 = HEXLOWER.encode(&self.sha256.finalize());
        let signature = key.map(|key| key.sign(&format!("{SIGNED}{sha256}")));
        let software = concat!("crawler/", env!("CARGO_PKG_VERSION")).to_owned();
        Seal { lines: self.lines, sha256, software, key: key.map(|key| key.jwk().clone()), signature }
    }
}

impl ManifestArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        if let Some(path) = &self.check {
            return check(path, &mut io::stdout().lock());
        }
        let key = self.key.as_deref().map(SigningKey::load).transpose();
        let key = key.map_err(|error| UsageError::because(error.to_string()))?;
        self.common.with(open_archive, false, |archive, out, warnings| self.write(archive, key.as_ref(), out, warnings))
    }

    fn write(
        &self,
        archive: &dyn Archive,
        key: Option<&SigningKey>,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let (mut damage, mut sealed) = (Damage::default(), Sealed::default());
        let reservations = Reservations::new();
        let robots = OriginFiles::new("/robots.txt", |_, _, entry| {
            Ok(RobotsInEffect { time: iso_ms(entry.time), status: entry.status, digest: digest(entry.digest_sha1) })
        });
        let selection = self.common.selection(KindChoice::All);
        selection.each(archive, self.all, &mut damage, warnings, |entry, damage, warnings| {
            match line(archive, &entry, &robots, &reservations) {
                Ok(line) => {
                    sealed.take(line.as_bytes());
                    out.write_all(line.as_bytes())?;
                }
                Err(e) => damage.note(e, warnings),
            }
            Ok(())
        })?;
        writeln!(out, "{}", json_line(&sealed.seal(key))?)?;
        Ok(damage.or(Exit::Done, warnings))
    }
}

/// The line of a page, with its end.
fn line(
    archive: &dyn Archive,
    entry: &Entry,
    robots: &OriginFiles<RobotsInEffect>,
    reservations: &Reservations,
) -> anyhow::Result<String> {
    let mut stated = stated(archive, entry)?;
    reservations.add_to(archive, entry, &mut stated)?;
    let place = archive.place(entry)?;
    let in_effect = if entry.robots { None } else { robots.look(archive, entry, Clone::clone)? };
    let line = Line {
        url: &entry.url,
        time: iso_ms(entry.time),
        status: entry.status,
        kind: entry.kind,
        mime: &entry.mime,
        digest: digest(entry.digest_sha1),
        file: place.file,
        offset: place.offset,
        robots: in_effect,
        directives: stated.directives().collect(),
        preferences: stated.preferences().to_string(),
        licenses: stated.licenses().collect(),
        price: stated.price(),
    };
    Ok(json_line(&line)? + "\n")
}

/// Says whether the manifest at `path` is as it was sealed.
fn check(path: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let fault = |error: io::Error| UsageError::because(format!("cannot read {}: {error}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(fault)?);
    let (mut sealed, mut last, mut next) = (Sealed::default(), Vec::new(), Vec::new());
    loop {
        next.clear();
        let bytes = io::Read::take(&mut file, LINE_BYTES_MAX).read_until(b'\n', &mut next).map_err(fault)?;
        if bytes == 0 {
            break;
        }
        if !last.is_empty() {
            sealed.take(&last);
        }
        std::mem::swap(&mut last, &mut next);
    }
    match verdict(sealed, &last) {
        Ok(said) => {
            writeln!(out, "{said}")?;
            Ok(Exit::Done)
        }
        Err(why) => {
            writeln!(out, "NOT as it was sealed: {why}")?;
            Ok(Exit::Damaged)
        }
    }
}

/// Compares the lines of a manifest with the last one, which seals them.
fn verdict(sealed: Sealed, last: &[u8]) -> Result<String, String> {
    let seal: Seal = serde_json::from_slice(last).map_err(|error| format!("its last line is no seal ({error})"))?;
    let found = sealed.seal(None);
    if (seal.lines, &seal.sha256) != (found.lines, &found.sha256) {
        let (is, was) = (found, Escaped(&seal.sha256));
        return Err(format!("{} lines with the SHA-256 {}, not {} with {was}", is.lines, is.sha256, seal.lines));
    }
    match (&seal.key, &seal.signature) {
        (Some(key), Some(signature)) if key.verifies(&format!("{SIGNED}{}", seal.sha256), signature) => {
            Ok(format!("{} lines as they were sealed, signed by the key {}", seal.lines, Escaped(&key.kid)))
        }
        (None, None) => Ok(format!("{} lines as they were sealed; nobody signed them", seal.lines)),
        _ => Err("the signature does not fit".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::Response;
    use crate::cli::archive::tests::FakeArchive;
    use crate::clock::Time;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ManifestArgs,
    }

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        archive.page("https://a.example/robots.txt", 200, "text/plain", b"User-agent: *\n");
        archive.page("https://a.example/.well-known/tdmrep.json", 200, "application/json", {
            br#"[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/policy"}]"#
        });
        let headers = vec![field("X-Robots-Tag", "noai, noarchive")];
        archive.store("https://a.example/", "text/html", Response { status: 200, headers, ..Response::default() });
        archive.page("https://b.example/\u{202e}", 404, "text/html", b"");
        for (number, (entry, _)) in archive.stored.iter_mut().enumerate() {
            entry.time = Time::from_ms(1_700_000_000_000 + number as u64 * 1_000);
        }
        archive
    }

    fn written(key: Option<&SigningKey>) -> String {
        let mut out = Vec::new();
        Cli::parse_from(["manifest"]).args.write(&archive(), key, &mut out, &mut Vec::new()).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn checked(text: &str) -> (Exit, String) {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut out) = (dir.path().join("m"), Vec::new());
        std::fs::write(&path, text).unwrap();
        let exit = check(&path, &mut out).unwrap();
        (exit, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_line_says_under_which_terms_a_page_was_fetched() {
        let text = written(None);
        assert_eq!(text, written(None), "the same archive gives the same bytes");
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let page = &lines[1];
        assert_eq!((page["url"].as_str(), page["status"].as_u64()), (Some("https://a.example/"), Some(200)));
        assert_eq!(page["robots"]["status"], 200);
        assert_eq!(page["robots"]["time"], "2023-11-14T22:13:20.000Z");
        assert_eq!(page["directives"], serde_json::json!(["noai", "noarchive"]));
        assert_eq!(page["preferences"], "ai-input=n, ai-train=n, tdm=n");
        assert_eq!(page["licenses"], serde_json::json!(["https://a.example/policy"]));
        assert_eq!(lines[2].get("robots"), None, "its origin has none");
        assert_eq!(lines[3]["lines"], 3);
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn a_change_of_any_line_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (key, other) =
            (SigningKey::create(&dir.path().join("a")).unwrap(), SigningKey::create(&dir.path().join("b")));
        let signed = written(Some(&key));
        assert_eq!(signed, written(Some(&key)));
        let (exit, said) = checked(&signed);
        assert!(exit == Exit::Done && said.contains(key.thumbprint()), "{said}");
        assert!(checked(&written(None)).1.contains("nobody signed"));
        let seal = signed.lines().last().unwrap();
        let kid = other.unwrap().jwk().clone();
        for forged in [
            signed.replace("noarchive", "noarchivf"),
            signed.split_once('\n').unwrap().1.to_owned(),
            signed.replace(seal, ""),
            signed.replace(&key.jwk().x, &kid.x),
            signed.replace(&key.jwk().x, &kid.x).replace(&key.jwk().kid, &kid.kid),
            signed.replace("\"signature\":\"", "\"signature\":\"AA"),
            format!("{signed}{seal}\n"),
            String::new(),
        ] {
            assert_eq!(checked(&forged).0, Exit::Damaged, "{forged}");
        }
    }
}
