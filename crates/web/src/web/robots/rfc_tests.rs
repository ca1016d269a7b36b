//! The examples that RFC 9309 itself gives, by its sections.

use super::RobotsRules;

fn allows(agent: &str, file: &str, url: &str) -> bool {
    RobotsRules::parse(agent, file.as_bytes()).allows(url)
}

fn disallowing(pattern: &str, url: &str) -> bool {
    !allows("ourbot", &format!("User-agent: *\nDisallow: {pattern}\n"), url)
}

#[test]
fn rfc_2_2_1_the_product_token_is_found_whatever_its_case() {
    let file = "user-agent: examplebot\ndisallow: /foo\n";
    assert!(!allows("ExampleBot", file, "/foo") && allows("ExampleBot", file, "/bar"));
    assert!(allows("OtherBot", file, "/foo"));
}

#[test]
fn rfc_2_2_1_groups_for_the_same_agent_are_combined() {
    let file = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n";
    for path in ["/foo", "/bar", "/baz"] {
        assert!(!allows("examplebot", file, path), "{path}");
    }
    assert!(allows("examplebot", file, "/qux"));
}

#[test]
fn rfc_2_2_1_without_a_matching_group_the_star_is_obeyed_and_without_one_nothing() {
    let file = "user-agent: *\ndisallow: /foo\n\nuser-agent: ExampleBot\ndisallow: /bar\n";
    assert!(allows("ExampleBot", file, "/foo") && !allows("ExampleBot", file, "/bar"));
    assert!(!allows("OtherBot", file, "/foo") && allows("OtherBot", file, "/bar"));
    assert!(allows("OtherBot", "user-agent: ExampleBot\ndisallow: /", "/foo"));
}

#[test]
fn rfc_2_2_2_components_are_compared_percent_encoded() {
    for (path, encoded, to_match) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ] {
        for pattern in [path, encoded] {
            for url in [path, encoded, to_match] {
                assert!(disallowing(pattern, url), "{pattern} {url}");
                assert!(disallowing(pattern, &format!("https://www.example.com{url}/more")), "{pattern} {url}");
            }
        }
    }
}

#[test]
fn r5_escapes_behind_the_question_mark_mean_what_they_stand_for_and_before_it_they_do_not() {
    for (pattern, url) in [
        ("/go?to=http%3a%2f%2fh%2F", "/go?to=http://h/x"),
        ("/go?to=http://h/", "/go?to=http%3A%2F%2Fh/x"),
        ("/*?*/x$", "/a?b=%2fx"),
        ("/*=%2F", "/a?b=%2f"),
        ("/*=/", "/a?b=/"),
    ] {
        assert!(disallowing(pattern, url), "{pattern} {url}");
    }
    for (pattern, url) in [("/a%2Fb?c", "/a/b?c=/"), ("/a/b?c=/", "/a%2Fb?c=%2F"), ("/go?to=/x", "/go?to=x/")] {
        assert!(!disallowing(pattern, url), "{pattern} {url}");
    }
}

#[test]
fn rfc_2_2_2_the_longest_match_counts_and_allow_where_both_are_equal() {
    let file = "user-agent: *\nallow: /a/b\ndisallow: /a\ndisallow: /a/b\n";
    assert!(allows("x", file, "/a/b/c") && !allows("x", file, "/a/c") && allows("x", file, "/robots.txt"));
}

#[test]
fn rfc_2_2_3_special_characters_have_their_meaning() {
    let file = "# comment on its own line\nuser-agent: *\ndisallow: / # comment in line\nallow: /this/path/exactly$\n\
                allow: /that/*/exactly\n";
    assert!(!allows("x", file, "/other"));
    assert!(allows("x", file, "/this/path/exactly") && !allows("x", file, "/this/path/exactly/not"));
    for path in ["/that/a/exactly", "/that/a/b/exactly", "/that//exactly/and/more"] {
        assert!(allows("x", file, path), "{path}");
    }
    assert!(!allows("x", file, "/that/exactly"));
}

#[test]
fn rfc_2_2_3_special_characters_are_matched_verbatim_where_they_are_encoded() {
    for (pattern, url, other) in [
        ("/path/file-with-a-%2A.html", "https://www.example.com/path/file-with-a-*.html", "/path/file-with-a-b.html"),
        ("/path/foo-%24", "https://www.example.com/path/foo-$", "/path/foo-"),
    ] {
        assert!(disallowing(pattern, url), "{pattern}");
        assert!(!disallowing(pattern, other), "{pattern}");
    }
}

const SIMPLE: &str = "\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
";

#[test]
fn rfc_5_1_the_simple_example_means_what_its_text_says() {
    for (agent, path, expected) in [
        ("anybot", "/publications/", true),
        ("anybot", "/publications/a.html", true),
        ("anybot", "/example/", false),
        ("anybot", "/example/page.html", false),
        ("anybot", "/a/b.gif", false),
        ("anybot", "/a/b.gifs", true),
        ("anybot", "/", true),
        ("foobot", "/example/page.html", true),
        ("foobot", "/example/allowed.gif", true),
        ("foobot", "/example/other.gif", false),
        ("foobot", "/publications/", false),
        ("foobot", "/", false),
        ("barbot", "/example/page.html", false),
        ("bazbot", "/example/page.html", false),
        ("barbot", "/example/other.html", true),
        ("bazbot", "/a/b.gif", true),
        ("quxbot", "/example/page.html", true),
        ("quxbot", "/a/b.gif", true),
    ] {
        assert_eq!(allows(agent, SIMPLE, path), expected, "{agent} {path}");
    }
}

#[test]
fn rfc_5_2_the_longest_match_decides() {
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert!(!allows("foobot", file, "/example/page/disallowed.gif"));
    assert!(allows("foobot", file, "/example/page/allowed.gif"));
}

#[test]
fn r7_a_line_of_a_megabyte_is_one_rule_and_the_lines_around_it_are_others() {
    for filler in ["a", "*", "%41", "%", " ", ":", "#", "\u{fffd}"] {
        let long = filler.repeat((1 << 20) / filler.len());
        let file = format!("User-agent: *\nDisallow: /a\nDisallow: /{long}\n{long}\n{long}: {long}\nDisallow: /b");
        let rules = RobotsRules::parse("ourbot", file.as_bytes());
        assert!(!rules.allows("/a") && !rules.allows("/b"), "{filler}");
    }
}
