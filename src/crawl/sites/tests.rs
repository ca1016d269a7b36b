//! Tests of which table counts, held to a plain model, and of what follows from it.

use super::*;
use crate::config::Bytes;

fn tables(text: &str) -> Arc<SiteTables> {
    SiteTables::of(&Config::parse(text, "my.toml").unwrap(), None).unwrap().unwrap()
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

#[test]
fn without_tables_nobody_is_asked() {
    assert!(SiteTables::of(&Config::default(), None).unwrap().is_none());
}

#[test]
fn of_each_setting_the_first_table_counts_that_holds_and_has_it() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(5);
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let kinds = [
        ("host = \"a.example\"", "//a.example/", true),
        ("host = \"b.a.example\"", "//b.a.example/", true),
        ("domain = \"a.example\"", "a.example/", true),
        ("prefix = \"https://a.example/p/\"", "//a.example/p/", false),
        ("pattern = \"/p/\"", "/p/", false),
    ];
    let urls = ["https://a.example/", "https://a.example/p/1", "https://b.a.example/", "https://b.a.example/p/2"];
    for _ in 0..300 {
        let mut text = String::new();
        let mut model = Vec::new();
        for number in 0..random.usize(1..7) {
            let (which, holds, is_whole) = kinds[random.usize(..kinds.len())];
            text.push_str(&format!("[[site]]\n{which}\n"));
            let delay = random.bool().then(|| 1 + random.u64(..20)).filter(|_| is_whole);
            let body = random.bool().then(|| 1 + random.u64(..9));
            let language = random.bool().then(|| format!("l{number}"));
            let rank = random.bool().then(|| random.u8(..9));
            delay.iter().for_each(|delay| text.push_str(&format!("delay_min = \"{delay}s\"\n")));
            body.iter().for_each(|body| text.push_str(&format!("max_body = \"{body}MiB\"\n")));
            language.iter().for_each(|language| text.push_str(&format!("accept_language = \"{language}\"\n")));
            rank.iter().for_each(|rank| text.push_str(&format!("priority = {rank}\n")));
            model.push((holds, delay, body, language, rank));
        }
        let tables = tables(&text);
        for at in urls {
            let url = url(at);
            // each of these kinds holds where its text is part of the URL
            let holding = || model.iter().filter(|(holds, ..)| at.contains(holds));
            let request = Sites::request(&*tables, &url).unwrap_or_else(|| tables.usual());
            let body = holding().find_map(|(_, _, body, ..)| *body).unwrap_or(16);
            assert_eq!(request.body_max, Bytes::mib(body).as_usize(), "{at}\n{text}");
            let language = holding().find_map(|(.., language, _)| language.clone());
            let field =
                request.fields.iter().find(|(name, _)| name == "accept-language").map(|(_, value)| value.clone());
            assert_eq!(field, language, "{at}\n{text}");
            let rank = holding().find_map(|(.., rank)| *rank).map_or(Rank::Usual, Rank::At);
            assert_eq!(tables.rank(at), rank, "{at}\n{text}");
            let delay = holding().find_map(|(_, delay, ..)| *delay).unwrap_or(1);
            let treatment = Treatments::of(&*tables, url.host());
            let there = treatment.map_or(Duration::from_secs(1), |treatment| treatment.politeness.delay_min);
            assert_eq!(there, Duration::from_secs(delay), "{at}\n{text}");
        }
    }
}

#[test]
fn what_a_table_does_not_say_is_as_for_all() {
    let tables = tables(
        "[politeness]\ndelay_max = \"2m\"\n[fetch]\nheaders = { X-All = \"1\" }\n\
                         [[site]]\nhost = \"a.example\"\nobey = false\nuser_agent = \"own/2\"\n",
    );
    let request = Sites::request(&*tables, &url("http://a.example/")).unwrap();
    assert_eq!((&*request.user_agent, &*request.agent_token), ("own/2", "own"));
    assert_eq!(request.fields, [("x-all".to_owned(), "1".to_owned())]);
    assert!(Sites::request(&*tables, &url("http://b.example/")).is_none());
    assert_eq!((tables.obeys_robots("a.example"), tables.obeys_robots("b.example")), (Some(false), None));
    let treatment = Treatments::of(&*tables, "a.example").unwrap();
    assert_eq!(treatment.politeness.delay_max, Duration::from_secs(120));
    assert!(Treatments::of(&*tables, "b.example").is_none());
}
