//! Random acts, against a plain list of versions.

use std::collections::BTreeMap;

use super::*;

#[test]
fn whatever_is_stored_forgotten_and_compacted_the_archive_has_what_a_plain_list_has() {
    beside_a_list(fastrand::u64(..));
}

#[test]
fn a_304_behind_one_that_nothing_asked_for_has_the_body_of_the_version_before_both() {
    beside_a_list(22_662_095_085_178_762);
}

fn beside_a_list(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..8 {
        let coding = CODINGS[random.usize(..3)];
        let mut archive = Archive::new(random.u64(500..6_000), coding);
        let urls: Vec<String> = (0..4).map(|n| format!("http://{n}.example/page")).collect();
        // newest last
        let mut model: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut forgotten: Vec<String> = Vec::new();
        for step in 0..60 {
            let context = format!("seed {seed} round {round} step {step}");
            let url = random.choice(&urls).unwrap().clone();
            match random.u8(..20) {
                0 => {
                    archive.forget_url(&url);
                    forgotten.push(url.clone());
                    model.remove(&url);
                }
                1..=4 => {
                    archive.close();
                    let versions = random.u8(1..4);
                    archive.compact(Keep::Versions(versions));
                    for bodies in model.values_mut() {
                        let gone = bodies.len().saturating_sub(usize::from(versions));
                        bodies.drain(..gone);
                    }
                    archive.assert_sound(&context);
                    archive.reopen();
                }
                _ if forgotten.contains(&url) => {}
                kind => {
                    let text = long(&format!("text {} ", random.u8(..5)));
                    let before = model.get(&url).filter(|bodies| !bodies.is_empty());
                    let body = match before {
                        Some(bodies) if kind < 9 => {
                            // one that was not asked for has no body, and says nothing about the versions before it
                            let known = bodies.iter().rfind(|body| !body.is_empty()).cloned().unwrap_or_default();
                            let is_known = archive.store(&url, 304, "").not_modified;
                            if is_known { known } else { String::new() }
                        }
                        _ => {
                            archive.store(&url, 200, &text);
                            text
                        }
                    };
                    model.entry(url).or_default().push(body);
                }
            }
            for url in &urls {
                let bodies: Vec<String> = archive.bodies(url).into_iter().map(|(_, body)| body).rev().collect();
                assert_eq!(bodies, model.get(url).cloned().unwrap_or_default(), "{context}: {url}");
            }
        }
    }
}
