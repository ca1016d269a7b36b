//! Names of hosts: those that exist, those that do not, and as people type them.

/// `bücher` in the alphabet of the DNS.
const BUECHER: &str = "xn--bcher-kva";
/// The name of a host: half of them sub-domains of a few domains, half of them in separate domains of up to four hosts.
pub(super) fn host_name(host: u32, hosts: usize) -> String {
    let domains = hosts as u32 / 100 + 1;
    match host % 8 {
        0..4 => format!("h{host:04}.sim{}.test", host / 8 % domains),
        4 => format!("www.s{}.example", host / 8),
        5 => format!("s{}.example", host / 8),
        6 => format!("{BUECHER}.s{}.example", host / 8),
        _ => format!("blog.s{}.example", host / 8),
    }
}

/// The name of a host, where each of this many registrable domains has about as many hosts as the others.
pub(super) fn host_name_in(domains: usize, host: u32) -> String {
    let (domain, nth) = (host as usize % domains, host as usize / domains);
    if nth == 0 { format!("www.d{domain}.example") } else { format!("h{nth}.d{domain}.example") }
}

/// A name that does not exist.
pub(super) fn gone_name(gone: u32) -> String {
    if gone.is_multiple_of(2) { format!("gone{gone}.sim0.test") } else { format!("nowhere{gone}.example") }
}

/// A host name as people type it: with the umlaut.
pub(super) fn typed_name(name: &str) -> String {
    name.replace(BUECHER, "bücher")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_parse_to_themselves() {
        let mut seen = HashSet::new();
        let in_domains = (0..5_000).map(|host| host_name_in(1_700, host));
        let names = (0..5_000).map(|host| host_name(host, 5_000)).chain((0..100).map(gone_name)).chain(in_domains);
        for name in names {
            for typed in [typed_name(&name), name.to_uppercase()] {
                let parsed = url::Url::parse(&format!("http://{typed}/")).unwrap();
                assert_eq!(parsed.host_str(), Some(name.as_str()));
            }
            assert!(seen.insert(name));
        }
    }
}
