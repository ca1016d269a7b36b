//! Mistakes of operators, and what is away: each is said at once, and by the exit code.

use super::*;

#[test]
fn a_second_crawl_in_a_store_is_made_only_where_that_is_said() {
    let Some(cluster) = Cluster::new(1, web(108)) else { return };
    let another = "cluster init --another --seeds seeds.txt --shards 6 --store STORE --registry ETCD";
    cluster.refuses(&another.replace(" --another", ""), "--another makes one beside it");
    assert!(cluster.status().is_some(), "there is one crawl");
    cluster.does(another);
    cluster.refuses("cluster status --store STORE --registry ETCD", "name one by --crawl ID");
}

/// Checks a crawl before the first checkpoint, and before any machine takes part.
#[test]
fn a_crawl_without_a_page_has_an_empty_list() {
    let Some(cluster) = Cluster::new(1, web(109)) else { return };
    assert_eq!(cluster.does("list --store STORE"), "");
}

#[test]
fn members_of_etcd_may_be_named_in_one_word_and_status_says_soon_that_all_are_away() {
    let Some(mut cluster) = Cluster::new(3, web(110)) else { return };
    let members = cluster.members.endpoints().join(",");
    let line = format!("cluster status --store STORE --registry {members}");
    cluster.does(&line);
    (0..3).for_each(|member| cluster.members.kill(member));
    let start = Instant::now();
    let said = cluster.command(&line);
    let took = start.elapsed();
    let told = String::from_utf8(said.stderr).unwrap();
    assert!(said.status.code() == Some(4) && told.contains("etcd gives no clear answer"), "{told}");
    assert!(took < Duration::from_secs(20), "it took {took:?}");
}
