//! The authority and its certificates, as a client of TLS that trusts it sees them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

use super::*;

fn leaves(dir: &Path, hosts_max: usize) -> Leaves {
    let authority = Authority::open(dir, SystemClock::new().now()).unwrap();
    Leaves::new(authority, Box::new(SystemClock::new()), hosts_max).unwrap()
}

/// Shakes hands for `asked` with the server of `host`, as a client that trusts the authority of `trusted`.
fn shake(leaves: &Leaves, host: &str, asked: &str, trusted: &Leaves) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.authority().certificate().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(asked.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    let mut server = ServerConnection::new(leaves.config(host).unwrap()).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut &*bytes).unwrap();
        server.process_new_packets()?;
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut &*bytes).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

#[test]
fn an_authority_is_made_once_for_its_owner_alone_and_a_lost_certificate_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = leaves(dir.path(), 1);
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("serve"), mode("serve/authority.key")), (0o700, 0o600));
    let second = leaves(dir.path(), 1);
    assert_eq!(first.authority().certificate(), second.authority().certificate());
    assert_eq!(first.authority().pin(), second.authority().pin());
    let file = dir.path().join("serve/authority.pem");
    for text in [None, Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")] {
        fs::remove_file(&file).unwrap();
        text.into_iter().for_each(|text| fs::write(&file, text).unwrap());
        let again = leaves(dir.path(), 1);
        // who trusts one trusts the other
        shake(&again, "a.example", "a.example", &first).unwrap();
        shake(&first, "a.example", "a.example", &again).unwrap();
    }
}

#[test]
fn a_key_that_is_damaged_or_open_to_others_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    drop(leaves(dir.path(), 1));
    let file = dir.path().join("serve/authority.key");
    let refusal = || Authority::open(dir.path(), SystemClock::new().now()).err().unwrap().to_string();
    let key = fs::read_to_string(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refusal().contains("is open to others (mode 0644)"), "{}", refusal());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    for text in ["", &key[..key.len() / 2], "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        fs::write(&file, text).unwrap();
        let said = refusal();
        assert!(said.contains("authority.key has no ECDSA P-256 key") && said.contains("remove it"), "{said}");
    }
}

#[test]
fn a_certificate_is_for_its_host_whatever_kind_of_name_it_has() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (leaves, foreign) = (leaves(dir.path(), HOSTS_MAX), leaves(other.path(), 1));
    for (host, asked) in [
        ("a.example", "a.example"),
        ("A.Example.", "a.example"),
        ("b_c.a.example", "b_c.a.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "2001:db8::1"),
    ] {
        shake(&leaves, host, asked, &leaves).unwrap_or_else(|error| panic!("{host}: {error}"));
        assert!(shake(&leaves, host, "b.example", &leaves).is_err(), "{host}");
        assert!(shake(&leaves, host, asked, &foreign).is_err(), "{host}");
    }
    for host in ["", "a b", "[::1", "a.example:443"] {
        assert!(leaves.config(host).is_err(), "{host:?}");
    }
}

#[test]
fn certificates_are_kept_for_the_hosts_that_were_asked_for_last() {
    let dir = tempfile::tempdir().unwrap();
    let leaves = leaves(dir.path(), 3);
    let config = |host: &str| leaves.config(host).unwrap();
    let (a, b) = (config("a.example"), config("b.example"));
    config("c.example");
    assert!(Arc::ptr_eq(&a, &config("a.example")));
    config("d.example");
    assert!(Arc::ptr_eq(&a, &config("A.EXAMPLE")) && !Arc::ptr_eq(&b, &config("b.example")));
    ["e.example", "f.example", "g.example"].into_iter().for_each(|host| drop(config(host)));
    assert!(!Arc::ptr_eq(&a, &config("a.example")));
}

#[test]
fn a_request_asks_for_a_url_of_its_own_or_for_a_path_within_a_tunnel() {
    let tunnel = Scope::Server { scheme: "https", authority: "a.example:443".to_owned() };
    let target = |scope: &Scope, uri: &str, host: Option<&'static str>| {
        scope.target(&uri.parse().unwrap(), host.map(HeaderValue::from_static).as_ref())
    };
    let proxy = |uri| target(&Scope::Proxy, uri, Some("a.example"));
    assert_eq!(proxy("http://a.example/b?c").as_deref(), Some("http://a.example/b?c"));
    assert_eq!(proxy("/b"), None);
    assert_eq!(proxy("*"), None);
    let within = |uri, host| target(&tunnel, uri, host).unwrap();
    assert_eq!(within("/b?c", Some("b.example:444")), "https://b.example:444/b?c");
    assert_eq!(within("/b?c", None), "https://a.example:443/b?c");
    assert_eq!([host("a.example:443"), host("[::1]:443"), host("[::1]")], ["a.example", "[::1]", "[::1]"]);
}
