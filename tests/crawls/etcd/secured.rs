//! etcd with users and passwords.

use crawler::cluster::{ClusterError, EtcdCrawl, EtcdError, EtcdOptions, Ownership};
use data_encoding::BASE64;

use super::server::Members;
use super::{claimed, head, made, name, node_options, options};

#[test]
fn a_user_with_a_role_takes_part_and_others_are_refused() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let (from, to) = (BASE64.encode(b"/crawler/"), BASE64.encode(b"/crawler0"));
    let permission = format!(
        r#"{{"name":"crawler","perm":{{"permType":"READWRITE","key":"{from}","range_end":"{to}"}}}}"#
    );
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
        user: user.map(|(name, password)| (name.to_owned(), password.to_owned())),
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
