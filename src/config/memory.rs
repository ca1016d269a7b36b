//! The settings of memory that follow from `crawl.memory` where nobody has set them.
//!
//! They are in proportion to it, and their defaults are those of a crawl with 8 GiB. How many requests may be in
//! progress beside that is found while the crawl runs, within what is left of `crawl.memory` (`crawl::memory`).

use super::{Bytes, Config};

/// The memory that the defaults are for.
const OF_DEFAULTS: u64 = 8 << 30;

/// Sets what follows from `crawl.memory` and is not `is_set`; returns the keys.
pub(super) fn derive(config: &mut Config, is_set: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let Some(memory) = config.crawl.memory else { return Vec::new() };
    let mut derived = Vec::new();
    let mut is_free = |key: &'static str| {
        let is_free = !is_set(key);
        derived.extend(is_free.then_some(key));
        is_free
    };
    let part = |of: u64| u64::try_from(u128::from(of) * u128::from(memory.get()) / u128::from(OF_DEFAULTS));
    let part = |of: u64| part(of).unwrap_or(u64::MAX);
    let count = |of: &mut usize, most: usize| *of = (part(*of as u64) as usize).clamp(1, most);
    // whole ones are easier to read
    let bytes = |of: &mut Bytes| *of = Bytes((part(of.get()) >> 20).clamp(4, 16 << 10) << 20);
    if is_free("fetch.slow_workers") {
        count(&mut config.fetch.slow_workers, 10_000);
    }
    if is_free("seen.lru_entries") {
        count(&mut config.seen.lru_entries, 1 << 28);
    }
    for (key, value) in [
        ("drum.merge_memory", &mut config.drum.merge_memory),
        ("seen.bloom_memory", &mut config.seen.bloom_memory),
        ("container.digest_memory", &mut config.container.digest_memory),
        ("container.slot_memory", &mut config.container.slot_memory),
        ("frontier.memory", &mut config.frontier.memory),
    ] {
        if is_free(key) {
            bytes(value);
        }
    }
    if derived.contains(&"frontier.memory") {
        config.frontier.memory = config.frontier.memory.max(Bytes::mib(8));
    }
    derived
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Origin};
    use super::*;

    fn read(text: &str) -> (Config, super::super::Origins) {
        Config::parse_with_origins(text, "my.toml").unwrap()
    }

    #[test]
    fn settings_of_memory_follow_from_that_of_the_crawl_unless_they_are_set() {
        let default = Config::default();
        assert_eq!(read("[crawl]\nmemory = \"unlimited\"\n").0, default);
        let (half, origins) = read("[crawl]\nmemory = \"4GiB\"\n[seen]\nbloom_memory = \"1GiB\"\n");
        assert_eq!(half.frontier.memory, Bytes(default.frontier.memory.get() / 2));
        assert_eq!(half.fetch.slow_workers, default.fetch.slow_workers / 2);
        assert_eq!(half.seen.bloom_memory, Bytes::gib(1));
        assert_eq!(origins.of("frontier.memory"), Origin::Memory);
        assert_eq!(origins.of("frontier.memory").to_string(), "crawl.memory");
        assert!(matches!(origins.of("seen.bloom_memory"), Origin::File(_)));
        assert_eq!(origins.of("fetch.max_body"), Origin::Default);
    }

    #[test]
    fn what_follows_is_within_the_limits_of_each_setting() {
        for memory in ["256MiB", "300MiB", "1GiB", "8GiB", "64GiB", "4TiB", "8000TiB"] {
            let (config, _) = read(&format!("[crawl]\nmemory = \"{memory}\"\n"));
            assert_eq!(config.check().map_err(|error| error.to_string()), Ok(()), "{memory}");
        }
        assert_eq!(read("[crawl]\nmemory = \"8GiB\"\n").0.seen, Config::default().seen);
    }
}
