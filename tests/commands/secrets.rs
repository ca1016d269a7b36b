//! Secrets in settings and in addresses of the command line: no output, no log and no file repeats one, whether it is
//! taken or refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::site::Crawl;

/// The secret that is looked for.
const MARKER: &str = "open-sesame";
/// The files that the test itself writes.
const INPUTS: [&str; 3] = ["seeds.txt", "crawler.toml", "secret"];

/// A secret in a setting, or in the command line, and the commands that see it. `SECRET` is the marker.
struct Case {
    settings: &'static str,
    lines: &'static [&'static str],
    /// True if commands refuse it.
    is_refused: bool,
}

const CRAWL: &str = "--seeds seeds.txt --dir crawl --max-time 2s --json end.json --config crawler.toml";
const EXPLAIN: &str = "explain http://127.0.0.1:9/ --dir crawl --config crawler.toml";

const CASES: &[Case] = &[
    Case {
        settings: "[fetch]\nproxy = \"http://me:SECRET@127.0.0.1:9\"\n",
        lines: &[CRAWL, "config --config crawler.toml", EXPLAIN, "report summary --dir crawl"],
        is_refused: false,
    },
    Case {
        settings: "[[site]]\nhost = \"127.0.0.1\"\nproxy = \"socks5://me:SECRET@127.0.0.1:9\"\n",
        lines: &[CRAWL, "config --config crawler.toml", EXPLAIN],
        is_refused: false,
    },
    Case {
        settings: "[[site]]\nhost = \"127.0.0.1\"\nauth = { user = \"me\", password = \"${file:secret}\" }\n",
        lines: &[CRAWL, "config --config crawler.toml", EXPLAIN],
        is_refused: false,
    },
    refused("[fetch]\nproxy = \"ftp://me:SECRET@127.0.0.1:9\"\n"),
    refused("[fetch]\nproxy = \"http://me:SECRET@127.0.0.1:9\n"),
    refused("[fetch]\nproxy = [\"http://me:SECRET@127.0.0.1:9\"]\n"),
    refused("[cluster]\nstore = \"s3://ID:SECRET@bucket/crawls\"\n"),
    refused("[cluster]\nstore = \"az://container/crawls?sig=SECRET\"\n"),
    refused("[cluster]\nstore = \"ID:SECRET@bucket\"\n"),
    refused("[cluster]\nregistry = [\"http://root:SECRET@127.0.0.1:9\"]\n"),
    refused("[cluster]\nregistry = [\"root:SECRET@127.0.0.1:9\"]\n"),
    refused("[cluster]\nregistry = \"http://root:SECRET@127.0.0.1:9\"\n"),
    refused("[[site]]\nhost = \"127.0.0.1\"\nauth = \"SECRET\"\n"),
    refused("[[site]]\nhost = \"127.0.0.1\"\nlogin = \"SECRET\"\n"),
    refused("[[site]]\nhost = \"127.0.0.1\"\nheaders = \"SECRET\"\n"),
    refused("[[site]]\nhost = \"127.0.0.1\"\nauth = { user = \"me\", password = \"SECRET\" }\n"),
    Case {
        settings: "",
        lines: &[
            "--seeds seeds.txt --dir crawl --store s3://ID:SECRET@bucket/crawls",
            "list --store s3://ID:SECRET@bucket/crawls",
            "verify --store az://container/crawls?sig=SECRET",
            "cluster list --store s3://ID:SECRET@bucket/crawls",
            "cluster status --store file:///nowhere --registry http://root:SECRET@127.0.0.1:9",
            "follow --webhook https://me:SECRET@127.0.0.1:9/hook --secret-file secret",
            "follow --webhook http://a.example/SECRET --secret-file secret",
            "follow --webhook https://me:SECRET@:x/ --secret-file secret",
        ],
        is_refused: true,
    },
];

const fn refused(settings: &'static str) -> Case {
    Case { settings, lines: &[CRAWL, "config --config crawler.toml"], is_refused: true }
}

/// All files below `dir` with the marker in their content or name.
fn marked_files(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().unwrap().is_dir() {
            marked_files(&path, found);
        } else if !INPUTS.contains(&name.as_str()) && entry.file_type().unwrap().is_file() {
            let content = fs::read(&path).unwrap();
            if name.contains(MARKER) || content.windows(MARKER.len()).any(|bytes| bytes == MARKER.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
}

#[test]
fn no_secret_of_a_setting_or_an_address_is_in_an_output_a_log_or_a_file() {
    for Case { settings, lines, is_refused } in CASES {
        let settings = settings.replace("SECRET", MARKER);
        let all = format!("{settings}\n[network]\nallow = [\"127.0.0.1\"]\n");
        let crawl = Crawl::new("http://127.0.0.1:9/\n", &all);
        let secret = crawl.path("secret");
        fs::write(&secret, MARKER.repeat(3)).unwrap();
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        for line in *lines {
            let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
            command.args(line.replace("SECRET", MARKER).split(' ')).current_dir(crawl.dir.path());
            let output = command.stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!said.contains(MARKER), "{line} with {settings}says\n{said}");
            assert!(!is_refused || output.status.code() == Some(2), "{line} with {settings}: {said}");
        }
        let mut found = Vec::new();
        marked_files(crawl.dir.path(), &mut found);
        assert!(found.is_empty(), "{settings}is in {found:?}");
        assert_eq!(crawl.path("crawl").exists(), !is_refused, "{settings}");
    }
}
