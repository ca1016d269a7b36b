//! The settings that are a machine's own, where many machines share a crawl. All others belong to the crawl: they
//! decide what it fetches, how gently and in which form, so they are the same for every machine and fixed when the
//! crawl is made.

use super::{Config, ConfigError, Origin, Origins, SITE};

/// Keys that each machine may set for itself; of a name with `.` at its end all of the section. What it does not set is
/// as the crawl was made with.
const OWN: [&str; 22] = [
    "crawl.checkpoint_interval",
    "crawl.disk_floor",
    "crawl.memory",
    "crawl.readable_by",
    "identity.key_file",
    "fetch.workers",
    "fetch.slow_workers",
    "fetch.spool_max",
    "fetch.proxy",
    "fetch.ca_file",
    "dns.nameservers",
    "dns.hosts",
    "network.allow",
    "drum.ram_per_bucket",
    "drum.merge_",
    "seen.",
    "frontier.",
    "container.digest_memory",
    "container.slot_memory",
    "container.dedup_against",
    "cluster.",
    "report.",
];

fn is_own(key: &str) -> bool {
    OWN.iter().any(|own| key == *own || (own.ends_with(['.', '_']) && key.starts_with(own)))
}

impl Config {
    /// Returns these settings, which are a crawl's, as they are on a machine with the file of `own`; and the keys in
    /// that file that are the crawl's and say something else there, with their places.
    pub(crate) fn on_machine(&self, own: &Config, origins: &Origins) -> Result<(Config, Vec<String>), ConfigError> {
        let (mut text, mut section, mut ignored) = (String::new(), String::new(), Vec::new());
        for ((key, of_crawl), (_, of_machine)) in self.entries().into_iter().zip(own.entries()) {
            let origin = origins.of(&key);
            let is_set = origin != Origin::Default;
            if is_set && !is_own(&key) && of_crawl != of_machine {
                ignored.push(format!("{key} ({origin})"));
            }
            let value = if is_set && is_own(&key) { of_machine } else { of_crawl };
            let (of, name) = key.split_once('.').expect("a key has a section");
            if of != section {
                of.clone_into(&mut section);
                text.push_str(&format!("[{section}]\n"));
            }
            text.push_str(&format!("{name} = {value}\n"));
        }
        // passwords are not the crawl's to keep: tables that differ in nothing else bring them
        let is_same = own.without_secrets().site == self.without_secrets().site;
        if !own.site.is_empty() && !is_same {
            ignored.push(format!("[[{SITE}]] ({})", origins.of(&format!("{SITE}.0"))));
        }
        let mut config = Config::parse(&text, "the settings of the crawl")?;
        let site = if is_same { &own.site } else { &self.site };
        config.site.clone_from(site);
        // what is written has no secrets
        let of = |key: &str| if origins.of(key) == Origin::Default { self } else { own };
        config.fetch.proxy.clone_from(&of("fetch.proxy").fetch.proxy);
        config.cluster.store.clone_from(&of("cluster.store").cluster.store);
        config.cluster.registry.clone_from(&of("cluster.registry").cluster.registry);
        Ok((config, ignored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_decides_about_itself_and_the_crawl_about_all_else() {
        let crawl = "[crawl]\nmax_depth = 3\nshards = 4\n[fetch]\nworkers = 9\nca_file = \"/a\"\n[scope]\n\
                     mode = \"any\"\n[recrawl]\nmode = \"adaptive\"\n[[recrawl.patterns]]\ninclude = '\\.pdf$'\n\
                     mode = \"off\"\n";
        let crawl = Config::parse(crawl, "crawl").unwrap();
        let own = "[crawl]\nmax_depth = 7\ndisk_floor = \"1GiB\"\n[fetch]\nca_file = \"/b\"\nmax_body = \"16MiB\"\n\
                   [cluster]\nname = \"one\"\n[drum]\nbuckets = 64\nmerge_share = 0.5\n";
        let (own, origins) = Config::parse_with_origins(own, "own.toml").unwrap();
        let (config, ignored) = crawl.on_machine(&own, &origins).unwrap();
        assert_eq!(ignored[0], "crawl.max_depth (own.toml:2)");
        assert!(ignored.iter().all(|key| !key.starts_with("fetch.max_body")), "it says the same: {ignored:?}");
        let mut expected = crawl.clone();
        expected.crawl.disk_floor = own.crawl.disk_floor;
        expected.fetch.ca_file = "/b".to_owned();
        expected.cluster.name = "one".to_owned();
        expected.drum.merge_share = 0.5;
        assert_eq!(config, expected);
        let (same, ignored) = crawl.on_machine(&Config::default(), &Origins::default()).unwrap();
        assert_eq!((same, ignored.len()), (crawl.clone(), 0));
        let proxy = "[fetch]\nproxy = \"socks5://me:x@127.0.0.1:1\"\n";
        let (of_machine, origins) = Config::parse_with_origins(proxy, "own.toml").unwrap();
        let (config, _) = crawl.on_machine(&of_machine, &origins).unwrap();
        assert_eq!(config.fetch.proxy, "socks5://me:x@127.0.0.1:1", "a password is not lost on the way");
        let table = |proxy: &str| format!("[[site]]\nhost = \"a.example\"\nproxy = \"{proxy}\"\n");
        let of_crawl = Config::parse(&table("socks5://127.0.0.1:1"), "crawl").unwrap();
        for (proxy, is_taken) in [("socks5://me:x@127.0.0.1:1", true), ("socks5://me:x@127.0.0.1:2", false)] {
            let (own, origins) = Config::parse_with_origins(&table(proxy), "own.toml").unwrap();
            let (config, ignored) = of_crawl.on_machine(&own, &origins).unwrap();
            assert_eq!(config.site, if is_taken { own.site } else { of_crawl.site.clone() });
            assert_eq!(ignored.is_empty(), is_taken, "{ignored:?}");
        }
        for own in OWN {
            assert!(Config::keys().iter().any(|key| key.starts_with(own)), "{own}");
        }
    }
}
