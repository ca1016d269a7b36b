//! Change files of documents in an object store.

use std::fs;
use std::process::{Command, Output, Stdio};

use super::contract::listed;
use super::makes::MOTO;
use super::server::Server;
use crate::site::{RUSH, Site};
use crawler::simweb::SimOptions;
use crawler::store::open;

/// A crawl whose documents go into a store.
struct Lake {
    site: Site,
    server: Server,
}

impl Lake {
    fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(words).current_dir(self.site.crawl.dir.path()).stdin(Stdio::null());
        command.envs(self.server.options(self.server.port).environment).output().unwrap()
    }

    #[track_caller]
    fn succeeds(&self, words: &[&str]) -> String {
        let output = self.command(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {}{said}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stdout).unwrap()
    }
}

const RUN: [&str; 7] = ["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "--quiet"];
const VERIFY: [&str; 4] = ["sink", "verify", "--config", "crawler.toml"];

#[test]
fn documents_go_into_change_files_of_a_store_and_are_read_back() {
    let Some(server) = Server::start(&MOTO) else { return };
    let options = SimOptions { seed: 5, hosts: 3, pages: 60, ..SimOptions::default() };
    let sink = format!("[sink.lake]\nkind = \"parquet\"\nurl = \"{}\"\nbatch = 7\n", server.address("lake"));
    let lake = Lake { site: Site::new(options.smooth(), &format!("{RUSH}{sink}")), server };
    lake.succeeds(&RUN);
    let documents = lake.succeeds(&["list", "--documents"]);
    assert!(documents.lines().count() > 20, "{documents}");
    assert_eq!(lake.succeeds(&VERIFY), "");

    let store = open(&lake.server.address("lake"), &lake.server.options(lake.server.port)).unwrap();
    let names: Vec<_> = listed(&*store, "").into_iter().map(|(name, _)| name).collect();
    assert!(names.len() >= documents.lines().count() / 7);
    assert!(names.iter().all(|name| name.starts_with("date=20") && name.ends_with(".parquet")), "{names:?}");
    // a file that is gone is missing, and comes back
    store.delete(&names[0]).unwrap();
    let missing = lake.command(&VERIFY);
    assert_eq!((missing.status.code(), String::from_utf8(missing.stdout).unwrap().lines().count()), (Some(1), 7));
    lake.command(&["sink", "repair", "--config", "crawler.toml"]);
    assert_eq!(lake.succeeds(&VERIFY), "");
    // the cursor is lost: all batches come again
    fs::remove_dir_all(lake.site.crawl.path("crawl/feed/sinks")).unwrap();
    lake.succeeds(&["sink", "run", "--config", "crawler.toml"]);
    assert_eq!(lake.succeeds(&VERIFY), "");

    let config = lake.site.crawl.path("crawler.toml");
    let refused = format!("{}ca_file = \"authorities.pem\"\n", fs::read_to_string(&config).unwrap());
    fs::write(&config, refused).unwrap();
    let output = lake.command(&VERIFY);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("comes from the environment"), "{said}");
}
