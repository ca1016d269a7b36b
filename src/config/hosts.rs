//! `dns.hosts`: addresses of names, said by the operator.
//!
//! ```toml
//! [dns]
//! hosts = { "www.example.org" = "192.0.2.1", "new.example.org" = ["192.0.2.2", "2001:db8::2"] }
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::value::{OneOrMore, Setting, inline_table, named};
use crate::web::address::AddressGuard;

/// Addresses of names, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hosts(pub BTreeMap<String, Vec<String>>);

/// A file of this many names is one for a name server.
const NAMES_MAX: usize = 10_000;
/// Addresses of a name.
const ADDRESSES_MAX: usize = 8;

impl Hosts {
    /// The names with their addresses; those that are none are left out.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, Vec<IpAddr>)> {
        let parsed = |list: &Vec<String>| list.iter().filter_map(|text| text.parse().ok()).collect();
        self.0.iter().map(move |(name, list)| (name.as_str(), parsed(list)))
    }

    /// Returns what is wrong with the addresses where only the public internet and `allow` may be connected to; `None`
    /// where all may be used.
    pub(super) fn problem(&self, allow: &[String]) -> Option<String> {
        let ranges: Vec<_> = allow.iter().filter_map(|range| FromStr::from_str(range).ok()).collect();
        let guard = AddressGuard::new(&ranges);
        let many = (self.0.len() > NAMES_MAX).then(|| format!("must be at most {NAMES_MAX} names"));
        many.or_else(|| self.0.iter().find_map(|(name, list)| wrong(name, list, &guard)))
    }
}

fn wrong(name: &str, list: &[String], guard: &AddressGuard) -> Option<String> {
    let is_plain = url::Host::parse(name).is_ok_and(|host| host.to_string() == name);
    if !is_plain || name.parse::<IpAddr>().is_ok() || name.starts_with('[') {
        return Some(format!(
            "{name:?} is not a name; write it in lower case, without scheme, port and path, such as \
             {{ \"www.example.org\" = \"192.0.2.1\" }}"
        ));
    }
    if list.is_empty() || list.len() > ADDRESSES_MAX {
        return Some(format!("{name:?} has {} addresses; write from 1 to {ADDRESSES_MAX}", list.len()));
    }
    list.iter().find_map(|text| match text.parse::<IpAddr>() {
        Err(_) => Some(format!("{text:?} of {name:?} is not an address; write one such as \"192.0.2.1\" or \"::1\"")),
        Ok(address) if !guard.permits(address) => Some(format!(
            "{text} of {name:?} is outside of the public internet; add \"{text}\" to network.allow if it may be fetched"
        )),
        Ok(_) => None,
    })
}

impl Setting for Hosts {
    const EXPECTED: &'static str = "a table of names with an address or a list of addresses, all strings";
    const EXAMPLE: &'static str = "{ \"www.example.org\" = \"192.0.2.1\" }";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        named(value, |value| OneOrMore::from_toml(value).map(|list| list.0)).map(Hosts)
    }

    fn to_toml(&self) -> String {
        inline_table(self.0.iter().map(|(name, list)| (name.to_toml(), OneOrMore(list.clone()).to_toml())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn said(hosts: &str, allow: &str) -> String {
        let text = format!("[dns]\nhosts = {hosts}\n[network]\nallow = [{allow}]\n");
        Config::parse(&text, "my.toml").map_or_else(|error| error.to_string(), |config| config.dns.hosts.to_toml())
    }

    use super::Setting as _;

    #[test]
    fn addresses_are_read_and_written_alone_or_in_lists() {
        assert_eq!(said("{}", ""), "{}");
        let hosts = "{ \"a.example\" = \"8.8.8.8\", \"b.example\" = [\"8.8.4.4\", \"::1\"] }";
        assert_eq!(said(hosts, "\"::1\""), hosts);
        assert_eq!(said("{ a = [\"8.8.8.8\"] }", ""), "{ \"a\" = \"8.8.8.8\" }");
    }

    #[test]
    fn what_is_wrong_is_said_with_key_and_value_and_what_to_write() {
        for (hosts, words) in [
            ("5", "dns.hosts: expected a table of names with an address"),
            ("{ \"a.example\" = 5 }", "write for example: hosts = { \"www.example.org\" = \"192.0.2.1\" }"),
            ("{ \"a.example\" = \"b.example\" }", "dns.hosts: \"b.example\" of \"a.example\" is not an address"),
            ("{ \"a.example\" = [] }", "\"a.example\" has 0 addresses; write from 1 to 8"),
            ("{ \"A.example\" = \"8.8.8.8\" }", "\"A.example\" is not a name; write it in lower case"),
            ("{ \"http://a.example\" = \"8.8.8.8\" }", "is not a name"),
            ("{ \"127.0.0.1\" = \"8.8.8.8\" }", "\"127.0.0.1\" is not a name"),
            ("{ \"[::1]\" = \"8.8.8.8\" }", "is not a name"),
            ("{ \"a.example\" = [\"8.8.8.8\", \"10.0.0.1\"] }", "10.0.0.1 of \"a.example\" is outside of the public"),
            ("{ \"a.example\" = \"10.0.0.1\" }", "add \"10.0.0.1\" to network.allow"),
        ] {
            let error = said(hosts, "\"127.0.0.0/8\"");
            assert!(error.starts_with("my.toml:2: dns.hosts: ") && error.contains(words), "{hosts}: {error}");
        }
    }
}
