//! `cargo bench --bench signatures`: what signing a request costs the thread that makes it, in nanoseconds of its CPU;
//! with what is covered by default, and with all that can be. The least and the median of the rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use crawler::clock::Time;
use crawler::contract::RequestSigner;
use crawler::signature::{AgentForm, Component, Signer, SignerOptions, SigningKey, SystemNonces};
use crawler::web::url::CanonicalUrl;

#[path = "crawl/thread.rs"]
mod thread;

use thread::cpu_s;

const ROUNDS: usize = 9;
const REQUESTS: usize = 5_000;

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let key = Arc::new(SigningKey::create(&dir.path().join("key.pem"))?);
    let url = CanonicalUrl::parse("https://docs.example/manual/chapter-12/section-3.html?language=en&version=4")?;
    println!("{:40} {:>8} {:>8}", "ns per request", "least", "median");
    for (name, components) in [("@authority", vec![Component::Authority]), ("everything", Component::ALL.to_vec())] {
        for form in [AgentForm::Dictionary, AgentForm::String] {
            let options = SignerOptions {
                agent: "https://bot.example".to_owned(),
                form,
                components: components.clone(),
                lifetime: Duration::from_secs(300),
            };
            let signer = Signer::new(key.clone(), options, Arc::new(SystemNonces));
            let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(&signer, &url)).collect();
            rounds.sort_by(f64::total_cmp);
            println!("{:40} {:8.0} {:8.0}", format!("{name}, {form:?}"), rounds[0], rounds[ROUNDS / 2]);
        }
    }
    Ok(())
}

/// Nanoseconds a request.
fn round(signer: &Signer, url: &CanonicalUrl) -> f64 {
    let before = cpu_s();
    for second in 0..REQUESTS {
        black_box(signer.sign("GET", black_box(url), Time::from_ms(second as u64 * 1_000)));
    }
    (cpu_s() - before) * 1e9 / REQUESTS as f64
}
