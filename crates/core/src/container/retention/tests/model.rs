//! Random acts, against a plain list of versions.

use std::collections::BTreeMap;

use super::*;

#[test]
fn whatever_is_stored_forgotten_and_compacted_the_archive_has_what_a_plain_list_has() {
    let seed = fastrand::u64(..);
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
                    let known = model.get(&url).and_then(|bodies| bodies.last()).cloned();
                    let body = match known {
                        Some(known) if kind < 9 && archive.store(&url, 304, "").not_modified => known,
                        Some(_) if kind < 9 => String::new(),
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
