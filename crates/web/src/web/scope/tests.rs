//! Tests of what belongs to a crawl, case by case.

use super::*;

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn scope(mode: ScopeMode, seeds: &[&str]) -> Scope {
    let seeds: Vec<CanonicalUrl> = seeds.iter().map(|seed| url(seed)).collect();
    Scope::new(&ScopeOptions { mode, max_repeated_segments: 2, ..ScopeOptions::default() }, seeds.iter()).unwrap()
}

fn judge(scope: &Scope, text: &str) -> Result<(), Reason> {
    scope.judge(&url(text), 0, 0)
}

#[test]
fn a_domain_holds_its_subdomains_but_no_neighbours() {
    let scope = scope(ScopeMode::Domain, &["http://www.example.co.uk/x"]);
    for inside in ["https://example.co.uk/", "http://deep.sub.example.co.uk:8080/"] {
        assert_eq!(judge(&scope, inside), Ok(()), "{inside}");
    }
    for outside in ["http://other.co.uk/", "http://notexample.co.uk/", "http://example.co.uk.evil.com/"] {
        assert_eq!(judge(&scope, outside), Err(Reason::Scope), "{outside}");
    }
}

#[test]
fn a_host_holds_all_its_ports_and_nothing_else() {
    let scope = scope(ScopeMode::Host, &["http://www.example.com/", "http://127.0.0.1:8080/"]);
    for inside in ["https://www.example.com/x", "http://www.example.com:81/", "http://127.0.0.1:9/"] {
        assert_eq!(judge(&scope, inside), Ok(()), "{inside}");
    }
    assert_eq!(judge(&scope, "http://example.com/"), Err(Reason::Scope));
}

#[test]
fn a_prefix_ends_at_the_last_slash_of_the_seeds_path() {
    let scope = scope(
        ScopeMode::Prefix,
        &["http://h/docs/index.html?a=/b/", "http://h/docs/deep/", "http://h/doc", "http://g/a/"],
    );
    assert_eq!(judge(&scope, "http://h/docs/x/y?z"), Ok(()));
    assert_eq!(judge(&scope, "http://h/other"), Ok(()), "the seed /doc lies in /");
    assert_eq!(judge(&scope, "http://g/a/b"), Ok(()));
    for outside in ["http://g/a", "http://g/b/", "https://h/docs/", "http://h:8080/docs/"] {
        assert_eq!(judge(&scope, outside), Err(Reason::Scope), "{outside}");
    }
}

#[test]
fn the_right_one_of_many_prefixes_is_found() {
    let seeds: Vec<String> = (0..200).map(|number| format!("http://h/{number}/x")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let scope = scope(ScopeMode::Prefix, &seeds);
    for number in 0..200 {
        assert_eq!(judge(&scope, &format!("http://h/{number}/zzz")), Ok(()));
        assert_eq!(judge(&scope, &format!("http://h/{number}.")), Err(Reason::Scope));
    }
}

#[test]
fn patterns_add_to_the_scope_and_take_away_from_it() {
    let options = ScopeOptions {
        include: vec![r"^https?://cdn\.".into()],
        exclude: vec![r"\.iso$".into(), "logout".into()],
        ..ScopeOptions::default()
    };
    let scope = Scope::new(&options, [url("http://example.com/")].iter()).unwrap();
    assert_eq!(judge(&scope, "http://cdn.net/x"), Ok(()));
    assert_eq!(judge(&scope, "http://cdn.net/x.iso"), Err(Reason::Scope));
    assert_eq!(judge(&scope, "http://example.com/x?do=logout"), Err(Reason::Scope));
    assert_eq!(judge(&scope, "http://example.com/x.iso.txt"), Ok(()));
}

#[test]
fn a_pattern_that_is_broken_or_too_large_is_named() {
    for (pattern, why) in [("(", "unclosed group"), (r"\w{1000}{1000}", "size limit"), (r"(a)\1", "backreference")] {
        let options = ScopeOptions { exclude: vec!["fine".into(), pattern.into()], ..ScopeOptions::default() };
        let error = Scope::new(&options, std::iter::empty()).unwrap_err();
        assert_eq!((error.list, error.regex.as_str()), ("exclude", pattern));
        assert!(error.why.contains(why), "{}", error.why);
    }
}

#[test]
fn traps_are_recognised_by_their_paths() {
    let scope = scope(ScopeMode::Any, &[]);
    for trap in [
        "http://h/a/b/a/b/a/b/",
        "http://h/a/a/a",
        "http://h/a/x/a/y/a/z",
        "http://h////",
        &format!("http://h/{}", (0..21).map(|number| number.to_string()).collect::<Vec<_>>().join("/")),
    ] {
        assert_eq!(judge(&scope, trap), Err(Reason::Trap), "{trap}");
    }
    for fine in [
        "http://h/",
        "http://h/a/b/a/b",
        "http://h/2011/11/11/",
        "http://h/x?path=/a/a/a/a/a",
        &format!("http://h/{}/", (0..20).map(|number| number.to_string()).collect::<Vec<_>>().join("/")),
    ] {
        assert_eq!(judge(&scope, fine), Ok(()), "{fine}");
    }
}

#[test]
fn length_redirects_and_depth_have_limits() {
    let options = ScopeOptions { max_depth: Some(3), max_redirects: 2, max_url_length: 30, ..ScopeOptions::default() };
    let scope = Scope::new(&options, [url("http://h/")].iter()).unwrap();
    assert_eq!(scope.judge(&url("http://h/"), 3, 2), Ok(()));
    assert_eq!(scope.judge(&url("http://h/"), 4, 2), Err(Reason::Depth));
    assert_eq!(scope.judge(&url("http://h/"), 3, 3), Err(Reason::Redirects));
    assert_eq!(scope.judge(&url("http://h/67890123456789012345678901"), 0, 0), Err(Reason::TooLong));
    assert_eq!(scope.judge(&url("http://g/"), 9, 9), Err(Reason::Scope));
}

#[test]
fn a_sitemap_of_the_same_domain_passes_but_for_exclusions_traps_lengths_and_depth() {
    let options = ScopeOptions {
        mode: ScopeMode::Prefix,
        exclude: vec!["secret".into()],
        max_depth: Some(2),
        max_redirects: 1,
        max_repeated_segments: 2,
        ..ScopeOptions::default()
    };
    let scope = Scope::new(&options, [url("http://www.example.com/docs/")].iter()).unwrap();
    let judge = |text: &str, depth, redirects| {
        scope.judge_sitemap(&url(text), &url("http://www.example.com/docs/x"), depth, redirects)
    };
    assert_eq!(judge("http://maps.example.com/s.xml", 1, 1), Ok(()));
    assert_eq!(scope.judge(&url("http://maps.example.com/s.xml"), 1, 1), Err(Reason::Scope));
    assert_eq!(judge("http://maps.example.com/s.xml", 2, 0), Err(Reason::Depth));
    assert_eq!(judge("http://maps.example.com/s.xml", 0, 2), Err(Reason::Redirects));
    let moved = |text: &str, from: &str| scope.judge_moved(&url(text), &url(from), 1, 1);
    assert_eq!(moved("http://maps.example.com/t.xml", "http://maps.example.com/s.xml"), Ok(()));
    assert_eq!(
        moved("http://maps.example.com/t", "http://www.example.com/docs/x"),
        Err(Reason::Scope),
        "a page moves out"
    );
    assert_eq!(judge("http://example.org/s.xml", 0, 0), Err(Reason::Scope));
    assert_eq!(judge("http://www.example.com/secret.xml", 0, 0), Err(Reason::Scope));
    assert_eq!(judge("http://www.example.com/a/a/a/s.xml", 0, 0), Err(Reason::Trap));
    assert_eq!(judge(&format!("http://www.example.com/{}", "s".repeat(3_000)), 0, 0), Err(Reason::TooLong));
}

#[test]
fn a_query_parameter_that_comes_again_and_again_is_a_trap_and_a_choice_of_several_values_is_none() {
    let scope = scope(ScopeMode::Domain, &["http://a.example/"]);
    for (query, is_trap) in [
        ("p=2&p=3&p=2", true),
        ("x=1&p=2&p=2&p=2", true),
        ("p=2&q=1&p=3&q=1&p=2", true),
        ("p=2&p=2", false),
        ("colour=red&colour=blue&colour=green&colour=black", false),
        ("a=1&b=1&c=1&d=1", false),
        ("a=&a=&a=&a&a&a", false),
        ("&&&&", false),
    ] {
        let expected = if is_trap { Err(Reason::Trap) } else { Ok(()) };
        assert_eq!(judge(&scope, &format!("http://a.example/shop?{query}")), expected, "{query}");
    }
    let trap = url("http://a.example/shop?p=2&p=3&p=2");
    let said = scope.explain(&trap, 0, 0).rule.to_string();
    assert_eq!(said, "a query parameter more often than scope.max_repeated_segments = 2, with one value twice");
}

#[test]
fn an_embed_lies_anywhere_is_as_deep_as_its_page_and_beyond_the_bound_is_a_link() {
    let options = ScopeOptions { max_depth: Some(2), requisite_hops: 3, ..ScopeOptions::default() };
    let seed = url("http://a.example/");
    let page = Scope::new(&options, [&seed].into_iter()).unwrap();
    let only_scope =
        Scope::new(&ScopeOptions { requisites: Requisites::Scope, ..options }, [&seed].into_iter()).unwrap();
    let far = url("http://cdn.example.org/x.css");
    for (embeds, is_requisite) in [(0, false), (1, true), (2, true), (3, true), (4, false), (9, false)] {
        assert_eq!(page.is_requisite(embeds), is_requisite);
        assert!(!only_scope.is_requisite(embeds));
        assert_eq!(page.judge_embedded(&far, embeds, 2, 0).is_ok(), is_requisite, "{embeds}");
        assert_eq!(only_scope.judge_embedded(&far, embeds, 2, 0), Err(Reason::Scope));
        assert_eq!(page.depth_below(2, embeds), if is_requisite { 2 } else { 3 });
        assert_eq!(only_scope.depth_below(2, embeds), 3);
    }
    assert!(page.takes_in(&seed) && !page.takes_in(&far));
}

#[test]
fn an_origin_has_pages_of_the_crawl_where_a_seed_takes_in_some_of_it() {
    for mode in [ScopeMode::Domain, ScopeMode::Host, ScopeMode::Prefix, ScopeMode::Any] {
        let scope =
            scope(mode, &["http://www.a.example/docs/x", "http://b.example/"]).with_seed(&url("http://c.example/d/"));
        for origin in ["http://www.a.example/", "http://b.example/", "http://c.example/"] {
            assert!(scope.has_pages_at(&url(origin)), "{mode} {origin}");
        }
        assert_eq!(scope.has_pages_at(&url("http://cdn.example.org/")), mode == ScopeMode::Any);
        assert_eq!(
            scope.has_pages_at(&url("http://maps.a.example/")),
            matches!(mode, ScopeMode::Any | ScopeMode::Domain)
        );
    }
}

#[test]
fn a_redirected_seed_takes_its_target_into_a_new_scope() {
    for mode in [ScopeMode::Domain, ScopeMode::Host, ScopeMode::Prefix] {
        let mut scope = scope(mode, &["http://seed.com/"]);
        let before = scope.clone();
        for number in 0..100 {
            scope = scope.with_seed(&url(&format!("http://target{number}.org/a/")));
            scope = scope.with_seed(&url(&format!("http://target{number}.org/a/")));
        }
        assert!(scope.seeds.layers.len() <= 8);
        for number in 0..100 {
            let target = format!("http://target{number}.org/a/b");
            assert_eq!(judge(&scope, &target), Ok(()), "{mode:?}");
            assert_eq!(judge(&before, &target), Err(Reason::Scope), "{mode:?}");
        }
        assert_eq!(judge(&scope, "http://seed.com/x"), Ok(()));
    }
}

#[test]
fn a_seed_of_a_prefix_that_redirects_to_another_site_takes_in_what_begins_with_its_target() {
    let seed = url("http://some.example/path/");
    let joined = |mode, target: &str| {
        let scope = scope(mode, &[seed.as_str()]);
        scope.joined_by(&seed, &url(target)).as_str().to_owned()
    };
    for (target, expected) in [
        ("https://www.some.example/path/", "https://www.some.example/path/"),
        ("https://some.example/de/start?x", "https://some.example/de/"),
        ("https://network.example/some?ref=1", "https://network.example/some"),
        ("https://network.example/people/some/", "https://network.example/people/some/"),
    ] {
        assert_eq!(joined(ScopeMode::Prefix, target), expected);
        assert_eq!(joined(ScopeMode::Domain, target), target);
        let moved = scope(ScopeMode::Prefix, &[seed.as_str()]).with_joined(&url(expected));
        assert_eq!(judge(&moved, target), Ok(()), "{target}");
        let mut again = Scope::begin(&ScopeOptions { mode: ScopeMode::Prefix, ..ScopeOptions::default() }).unwrap();
        again.add_joined(&url(expected));
        assert_eq!(judge(&again.finish(), target), Ok(()), "{target} after a start");
        assert!(ScopeMode::Prefix.takes_in_joined(&url(expected), &url(target)), "{target}");
    }
    let moved = scope(ScopeMode::Prefix, &[seed.as_str()]).with_joined(&url("https://network.example/some"));
    assert_eq!(judge(&moved, "https://network.example/some/photos"), Ok(()));
    for other in ["https://network.example/", "https://network.example/fb1"] {
        assert_eq!(judge(&moved, other), Err(Reason::Scope), "{other}");
    }
}
