//! etcd with users and passwords, and over TLS with certificates of both sides.

use std::path::Path;
use std::time::Duration;

use crawler::cluster::{ClusterError, EtcdCrawl, EtcdError, EtcdOptions, Ownership};
use crawler::web::secret::Secret;
use data_encoding::BASE64;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use super::server::Members;
use super::{claimed, head, made, name, node_options, options};

#[test]
fn a_user_with_a_role_takes_part_and_others_are_refused() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let (from, to) = (BASE64.encode(b"/crawler/"), BASE64.encode(b"/crawler0"));
    let permission =
        format!(r#"{{"name":"crawler","perm":{{"permType":"READWRITE","key":"{from}","range_end":"{to}"}}}}"#);
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"r00t"}"#),
        ("role/add", r#"{"name":"root"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/add", r#"{"name":"crawler","password":"secret"}"#),
        ("user/add", r#"{"name":"nobody","password":"secret"}"#),
        ("role/add", r#"{"name":"crawler"}"#),
        ("role/grant", permission.as_str()),
        ("user/grant", r#"{"user":"crawler","role":"crawler"}"#),
        ("enable", "{}"),
    ] {
        let answer = members.ask(0, &format!("/v3/auth/{path}"), body).unwrap();
        assert!(answer["header"].is_object(), "{path}: {answer}");
    }
    let as_user = |user: Option<(&str, &str)>| EtcdOptions {
        user: user.map(|(name, password)| (name.to_owned(), Secret::new(password))),
        // passwords are compared slowly on purpose
        timeout: Duration::from_secs(30),
        ..options(members.endpoints())
    };
    for user in [None, Some(("crawler", "wrong")), Some(("nobody", "secret"))] {
        let refused = EtcdCrawl::open(&as_user(user), &name());
        assert!(matches!(&refused, Err(ClusterError::Etcd(EtcdError::Refused { .. }))), "{user:?}: {refused:?}");
    }
    let etcd = as_user(Some(("crawler", "secret")));
    assert!(!format!("{etcd:?}").contains("secret"));
    let node = super::EtcdOwnership::start(super::NodeOptions { etcd, ..node_options(Vec::new(), "a") }).unwrap();
    let mine = claimed(&node, 0);
    node.commit(&mine, &head(&mine, 1)).unwrap();
    super::view_when(&node, "the head", |view| view.heads[0].as_ref().unwrap().record.number == 1);
    node.release(&mine).unwrap();
}

/// Puts the certificate and key of `name` into `dir`, signed by `authority`, for both sides of a connection.
fn put_certificate(dir: &Path, authority: &CertifiedIssuer<'static, KeyPair>, name: &str) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::write(dir.join(format!("{name}.pem")), certificate.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

#[test]
fn both_sides_show_certificates_and_strangers_are_refused() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let files = tempfile::tempdir().unwrap();
    let path = |name: &str| files.path().join(name);
    std::fs::write(path("ca.pem"), authority.pem()).unwrap();
    for name in ["server", "client"] {
        put_certificate(files.path(), &authority, name);
    }
    let started = Members::secured(|_| {
        let file = |name: &str| path(name).to_str().unwrap().to_owned();
        let flags = [("cert-file", "server.pem"), ("key-file", "server.key"), ("trusted-ca-file", "ca.pem")];
        let flags = flags.map(|(flag, name)| format!("--{flag}={}", file(name)));
        flags.into_iter().chain(["--client-cert-auth".to_owned()]).collect()
    });
    let Some(members) = started else { return };
    let certificate = Some((path("client.pem"), path("client.key")));
    let etcd = EtcdOptions { ca: Some(path("ca.pem")), certificate, ..options(members.endpoints()) };
    // also waits until it is ready
    let beginning = super::Beginning { heads: vec![super::HeadRecord::default()], ..super::Beginning::default() };
    EtcdCrawl::create(&etcd, &name(), &beginning).unwrap();
    let node = super::NodeOptions { etcd: etcd.clone(), ..node_options(Vec::new(), "a") };
    let node = super::EtcdOwnership::start(node).unwrap();
    let mine = claimed(&node, 0);
    node.commit(&mine, &head(&mine, 1)).unwrap();
    // one without a certificate, and one that does not know who signed: single calls, which say why
    let strangers = [EtcdOptions { certificate: None, ..etcd.clone() }, EtcdOptions { ca: None, ..etcd.clone() }];
    for options in strangers {
        let ask = || crawler::cluster::etcd::Etcd::new(&options).unwrap().get("/crawler/");
        // a server that closes at once may do so before it has said why
        let unsaid = |refused: &Result<_, EtcdError>| match refused {
            Err(EtcdError::Unclear(why)) => !why.contains("ertificate"),
            _ => false,
        };
        let refused = (0..20).map(|_| ask()).find(|refused| !unsaid(refused)).unwrap_or_else(ask);
        assert!(matches!(&refused, Err(EtcdError::Unclear(why)) if why.contains("ertificate")), "{refused:?}");
    }
    let missing = EtcdOptions { ca: Some(path("none.pem")), ..etcd };
    let error = crawler::cluster::etcd::Etcd::new(&missing).unwrap_err().to_string();
    assert!(error.contains("none.pem"), "{error}");
}
