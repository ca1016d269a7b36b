//! Held against the test vectors of RFC 9421, RFC 8037 and of the drafts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::signature::{ED25519, UnparsedPublicKey};

use super::base::{Parameter, base, input};
use super::*;
use crate::clock::Time;
use crate::contract::RequestSigner;
use crate::web::url::CanonicalUrl;

/// RFC 9421, appendix B.1.4.
const RFC_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
                       -----END PRIVATE KEY-----\n";
const RFC_SECRET: &str = "J+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF";
const RFC_THUMBPRINT: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";

fn file(dir: &Path, text: &str, mode: u32) -> PathBuf {
    let path = dir.join("key.pem");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    path
}

fn rfc_key() -> SigningKey {
    let dir = tempfile::tempdir().unwrap();
    SigningKey::load(&file(dir.path(), RFC_KEY, 0o600)).unwrap()
}

/// One nonce, again and again.
#[derive(Debug)]
struct Same([u8; NONCE_BYTES]);

impl Nonces for Same {
    fn next(&self) -> [u8; NONCE_BYTES] {
        self.0
    }
}

fn signer(form: AgentForm, lifetime_s: u64, nonce: &str) -> Signer {
    let options = SignerOptions {
        agent: "https://signature-agent.test".to_owned(),
        form,
        components: vec![Component::Authority],
        lifetime: Duration::from_secs(lifetime_s),
    };
    let nonce = BASE64.decode(nonce.as_bytes()).unwrap().try_into().unwrap();
    Signer::new(Arc::new(rfc_key()), options, Arc::new(Same(nonce)))
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

#[test]
fn rfc_9421_b_2_6_is_signed_as_there() {
    let covered = [
        ("\"date\"", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("\"@method\"", "POST"),
        ("\"@path\"", "/foo"),
        ("\"@authority\"", "example.com"),
        ("\"content-type\"", "application/json"),
        ("\"content-length\"", "18"),
    ];
    let parameters = [("created", Parameter::Number(1_618_884_473)), ("keyid", Parameter::Text("test-key-ed25519"))];
    let input = input(&covered, &parameters);
    let expected = "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\")\
                    ;created=1618884473;keyid=\"test-key-ed25519\"";
    assert_eq!(input, expected);
    let signature = rfc_key().sign(&base(&covered, &input));
    assert_eq!(signature, "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==");
}

#[test]
fn the_thumbprints_of_rfc_8037_and_of_the_key_of_rfc_9421_are_as_there() {
    let x = BASE64URL_NOPAD.decode(b"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
    assert_eq!(Jwk::of_public_key(&x).kid, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let key = rfc_key();
    assert_eq!((key.thumbprint(), &*key.jwk().x), (RFC_THUMBPRINT, "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"));
}

#[test]
fn both_forms_of_requests_are_signed_as_in_the_vectors_of_the_drafts() {
    let at = Time::from_ms(1_735_689_600_000);
    let nonce = "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";
    let fields = signer(AgentForm::String, 3_600, nonce).sign("GET", &url("https://example.com/path"), at);
    let input = format!(
        "sig1=(\"@authority\" \"signature-agent\");created=1735689600;keyid=\"{RFC_THUMBPRINT}\";alg=\"ed25519\"\
         ;expires=1735693200;nonce=\"{nonce}\";tag=\"web-bot-auth\""
    );
    let signature = "sig1=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:";
    let expected = [
        ("signature-agent", "\"https://signature-agent.test\"".to_owned()),
        ("signature-input", input),
        ("signature", signature.to_owned()),
    ];
    assert_eq!(fields, expected);
    // the vector of the dictionary has another label for the member of the sender, which is part of what is signed
    let nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";
    let covered =
        [("\"@authority\"", "example.com"), ("\"signature-agent\";key=\"agent2\"", "\"https://signature-agent.test\"")];
    let parameters = [
        ("created", Parameter::Number(1_735_689_600)),
        ("keyid", Parameter::Text(RFC_THUMBPRINT)),
        ("alg", Parameter::Text("ed25519")),
        ("expires", Parameter::Number(4_889_289_600)),
        ("nonce", Parameter::Text(nonce)),
        ("tag", Parameter::Text("web-bot-auth")),
    ];
    let there = base::input(&covered, &parameters);
    let signature = rfc_key().sign(&base(&covered, &there));
    assert_eq!(signature, "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==");
    let [agent, (_, own), _] =
        signer(AgentForm::Dictionary, 3_153_600_000, nonce).sign("GET", &url("https://example.com/path"), at);
    assert_eq!(agent.1, "sig1=\"https://signature-agent.test\"");
    assert_eq!(own, format!("sig1={}", there.replace("agent2", "sig1")));
}

#[test]
fn the_answer_with_a_directory_is_signed_as_in_the_vector_of_the_draft() {
    let body = format!(
        "{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{RFC_THUMBPRINT}\",\
         \"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\",\"use\":\"sig\"}}]}}"
    );
    let read = KeyDirectory::parse(body.as_bytes()).unwrap();
    assert_eq!(read.keys, [rfc_key().jwk().clone()]);
    let (at, lifetime) = (Time::from_ms(1_735_689_600_000), Duration::from_secs(3_153_600_000));
    let [digest, input, signature] =
        possession_fields(body.as_bytes(), "signature-agent.test", &[rfc_key()], at, lifetime);
    assert_eq!(digest.1, "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:");
    let expected = format!(
        "binding0=(\"@authority\";req \"content-digest\");created=1735689600;expires=4889289600\
         ;keyid=\"{RFC_THUMBPRINT}\";tag=\"http-message-signatures-directory\""
    );
    assert_eq!(input.1, expected);
    let expected =
        "binding0=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:";
    assert_eq!(signature.1, expected);
}

#[test]
fn every_component_has_the_value_of_the_request() {
    let values = |text: &str| Component::ALL.map(|part| part.value("GET", &url(text)));
    assert_eq!(
        values("https://Example.com:8443/a/b?c=d&e"),
        ["example.com:8443", "GET", "/a/b", "?c=d&e", "https://example.com:8443/a/b?c=d&e"]
    );
    assert_eq!(values("http://example.com:80"), ["example.com", "GET", "/", "?", "http://example.com/"]);
    assert_eq!(values("http://example.com/a#~POST&&b")[4], "http://example.com/a");
    assert_eq!(values("https://[::1]:443/")[0], "[::1]");
    assert_eq!(values("http://[::1]:443/")[0], "[::1]:443");
}

#[test]
fn a_key_is_for_its_owner_alone_and_is_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.pem");
    let made = SigningKey::create(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(SigningKey::load(&path).unwrap(), made);
    let public = BASE64URL_NOPAD.decode(made.jwk().x.as_bytes()).unwrap();
    let signature = BASE64.decode(made.sign("words").as_bytes()).unwrap();
    UnparsedPublicKey::new(&ED25519, public).verify(b"words", &signature).unwrap();
    assert!(matches!(SigningKey::create(&path), Err(KeyError::Write { .. })), "a key is never overwritten");
    assert_eq!(SigningKey::load(&path).unwrap(), made);
}

#[test]
fn a_key_that_others_may_read_or_that_is_none_is_refused_and_its_text_is_told_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o644, 0o640, 0o602, 0o601] {
        let said = SigningKey::load(&file(dir.path(), RFC_KEY, mode)).unwrap_err().to_string();
        assert!(said.contains(&format!("(mode {mode:04o}): chmod 600")), "{said}");
    }
    for text in ["", &RFC_KEY.replace("MC4C", "MC4D"), &RFC_KEY.replace("-----END", "----END"), &RFC_KEY[..90]] {
        let error = SigningKey::load(&file(dir.path(), text, 0o400)).unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains("has no Ed25519 key in PEM"), "{said}");
        assert!(!said.contains(&RFC_SECRET[..8]), "{said}");
    }
    assert!(SigningKey::load(&dir.path().join("none")).unwrap_err().to_string().contains("cannot read"));
    let nonce = BASE64.encode(&[0; NONCE_BYTES]);
    let shown = format!("{:?} {:?}", rfc_key(), signer(AgentForm::String, 60, &nonce));
    assert!(shown.contains(RFC_THUMBPRINT) && !shown.contains(&RFC_SECRET[..8]), "{shown}");
}

#[test]
fn a_key_takes_over_from_another_and_one_that_ended_goes() {
    let dir = tempfile::tempdir().unwrap();
    let key = |name: &str| SigningKey::create(&dir.path().join(name)).unwrap().jwk().clone();
    let (first, second, third) = (key("1"), key("2"), key("3"));
    let mut directory = KeyDirectory { keys: vec![first.clone()] };
    let (at, day) = (Time::from_ms(1_000_000_000), Duration::from_secs(86_400));
    directory.rotate(&second, at, day * 7);
    let ends = |directory: &KeyDirectory| {
        directory.keys.iter().map(|key| (key.kid.clone(), key.nbf, key.exp)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&directory), [(first.kid, None, Some(1_604_800)), (second.kid.clone(), Some(1_000_000), None)]);
    directory.rotate(&third, at + day * 7, day);
    let later = (second.kid, Some(1_000_000), Some(1_691_200));
    assert_eq!(ends(&directory), [later, (third.kid, Some(1_604_800), None)]);
    assert_eq!(KeyDirectory::parse(directory.to_json().as_bytes()).unwrap(), directory);
    let other = directory.to_json().replacen("\"x\": \"", "\"x\": \"A", 1);
    assert!(KeyDirectory::parse(other.as_bytes()).unwrap_err().contains("thumbprint"));
}
