//! Addresses that the operator says: they are before what name servers tell and what was learnt from them.
//!
//! Name servers are not asked for such names, and what is said here is kept in no store: other settings hold as soon as
//! they are read. A request goes to what is said when it is made; its addresses pass the guard as all do.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The frontier asks again after this long: it delays requests to an address, and may have an earlier one.
pub(crate) const SAID_FOR: Duration = Duration::from_secs(60);

/// Names with their addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts(HashMap<Box<str>, Arc<[IpAddr]>>);

impl Hosts {
    /// The addresses of `name`, with a dot at its end or without.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        if self.0.is_empty() { None } else { self.0.get(without_root(name)).cloned() }
    }
}

impl<'a> FromIterator<(&'a str, Vec<IpAddr>)> for Hosts {
    fn from_iter<T: IntoIterator<Item = (&'a str, Vec<IpAddr>)>>(hosts: T) -> Self {
        Hosts(hosts.into_iter().map(|(name, addresses)| (without_root(name).into(), addresses.into())).collect())
    }
}

/// A name without the dot that says that it is whole: name servers know no difference.
pub fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_addresses_with_a_dot_at_its_end_or_without() {
        let address = IpAddr::from([192, 0, 2, 1]);
        let hosts: Hosts = [("a.test", vec![address]), ("b.test.", vec![address])].into_iter().collect();
        for name in ["a.test", "a.test.", "b.test", "b.test."] {
            assert_eq!(hosts.get(name).as_deref(), Some(&[address][..]), "{name}");
        }
        assert_eq!(hosts.get("c.test."), None);
    }
}
