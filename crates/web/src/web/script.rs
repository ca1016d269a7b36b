//! Modules that a script imports by a specifier that is written there literally: `import "./x.js"`, `import x from
//! "./x.js"`, `export x from "./x.js"`, `import("./x.js")`.
//!
//! A script is searched, not parsed: whether a slash begins an expression or divides depends on the whole grammar
//! before it. So an import that is in a comment or in a string is taken too, and one whose specifier is computed is
//! not. Only specifiers that name a URL by themselves count: those that begin with `./`, `../`, `/` or a scheme (HTML
//! standard, "resolve a module specifier"); bare ones depend on an import map. Takes time linear in the script.
//!
//! And, only where the crawl asks for it, file names: strings such as `"search.js"` that look like the name of a file
//! that a page loads. What a script does with a string is not known: some are parts of longer names, some are no URLs
//! at all, and a script may prepend a directory. So it is a guess, as Heritrix makes it for all strings with a dot or a
//! slash; here only those that end like scripts, sheets, pictures, fonts and data are taken.

use memchr::{memchr_iter, memmem};

/// Ends of the names that pages load.
const FILE_ENDS: [&str; 17] = [
    "js", "mjs", "css", "json", "wasm", "png", "gif", "jpg", "jpeg", "svg", "webp", "avif", "ico", "woff", "woff2",
    "ttf", "otf",
];
/// A longer string is no file name.
const FILE_NAME_MAX: usize = 256;

/// Hands the specifiers of `script` to `found`, as they are written.
pub fn imports(script: &str, found: &mut dyn FnMut(&str)) {
    for at in memmem::find_iter(script.as_bytes(), "import") {
        let after = script[at + "import".len()..].trim_ascii_start();
        let after = after.strip_prefix('(').map_or(after, str::trim_ascii_start);
        if begins_a_word(script, at) {
            specifier(after).into_iter().for_each(&mut *found);
        }
    }
    for at in memmem::find_iter(script.as_bytes(), "from") {
        let after = script[at + "from".len()..].trim_ascii_start();
        if begins_a_word(script, at) {
            specifier(after).into_iter().for_each(&mut *found);
        }
    }
}

/// Hands the strings of `script` that look like file names to `found`, as they are written.
///
/// The name before its end is looked at backwards, no further than `FILE_NAME_MAX`: the time is linear.
pub(crate) fn file_names(script: &str, found: &mut dyn FnMut(&str)) {
    let bytes = script.as_bytes();
    for dot in memchr_iter(b'.', bytes) {
        let after = &bytes[dot + 1..];
        let end = after.iter().take_while(|byte| byte.is_ascii_alphanumeric()).take(8).count();
        let is_end = FILE_ENDS.iter().any(|name| after[..end].eq_ignore_ascii_case(name.as_bytes()));
        let Some(quote) = after.get(end).filter(|byte| is_end && matches!(byte, b'"' | b'\'' | b'`')) else { continue };
        let from = dot.saturating_sub(FILE_NAME_MAX);
        let length = bytes[from..dot].iter().rev().take_while(|&&byte| is_of_file_name(byte)).count();
        let start = dot - length;
        let is_whole = start > 0 && bytes[start - 1] == *quote;
        if is_whole && script[start..dot].contains(|c: char| c.is_ascii_alphanumeric()) {
            found(&script[start..dot + 1 + end]);
        }
    }
}

/// The source map that a script names in a comment (ECMA-426), the last one where there are several; none where the map
/// is in the script.
pub(crate) fn source_map(script: &str) -> Option<&str> {
    const NAME: &str = "# sourceMappingURL=";
    let at = memmem::rfind(script.as_bytes(), NAME.as_bytes())?;
    let url = script[at + NAME.len()..]
        .split(|end: char| end.is_ascii_whitespace() || matches!(end, '*' | '"' | '\''))
        .next()?;
    (!url.is_empty() && !url.starts_with("data:")).then_some(url)
}

fn is_of_file_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'~' | b'%' | b'@' | b'+' | b':')
}

/// True if no longer name, no member and no rule of CSS ends at `at`.
fn begins_a_word(script: &str, at: usize) -> bool {
    let before = script[..at].bytes().next_back();
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'$' | b'.' | b'#' | b'@' | b'-'))
}

/// The specifier in quotes that `text` starts with, if it names a URL and is written without escapes.
fn specifier(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let names_a_url = ["./", "../", "/", "http://", "https://"].iter().any(|start| text[1..].starts_with(start));
    if !names_a_url {
        return None;
    }
    let (specifier, _) = text[1..].split_once(quote)?;
    (!specifier.contains(['\\', '\n'])).then_some(specifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(script: &str) -> String {
        let mut found = Vec::new();
        imports(script, &mut |specifier| found.push(specifier.to_owned()));
        found.join(" ")
    }

    #[test]
    fn a_source_map_is_the_last_that_a_script_names() {
        assert_eq!(
            source_map("a\n//# sourceMappingURL=a.js.map\nb\n//# sourceMappingURL=b.js.map\n"),
            Some("b.js.map")
        );
        assert_eq!(source_map("a{}/*# sourceMappingURL=a.css.map*/"), Some("a.css.map"));
        for none in
            ["", "sourceMappingURL=a", "//# sourceMappingURL=", "//# sourceMappingURL=data:a", "# sourceMappingURL= a"]
        {
            assert_eq!(source_map(none), None, "{none}");
        }
    }

    #[test]
    fn literal_imports_are_found_in_all_their_forms() {
        for (script, expected) in [
            ("import './a.js';", "./a.js"),
            ("import\"../a.js\"", "../a.js"),
            ("import a, {b as c} from '/a.js'", "/a.js"),
            ("import*as a from\"./a.js\";export{b}from'./b.js'", "./a.js ./b.js"),
            ("export * from 'https://h/a.js'", "https://h/a.js"),
            ("x = await import( './a.js' )", "./a.js"),
            ("import a from './a.json' with {type: 'json'}", "./a.json"),
        ] {
            assert_eq!(named(script), expected, "{script}");
        }
    }

    #[test]
    fn what_is_computed_bare_or_part_of_a_name_is_passed_over() {
        for script in [
            "import vue from 'vue'",
            "import(`./${name}.js`)",
            "import('./' + name)x",
            "reimport './a.js'",
            "a.from('./a')",
            "Array.from './a'",
            "import.meta.url",
            "@import './a.css'",
            "import './a\\.js'",
            "import './a",
            "importScripts('./a.js')",
        ] {
            let found = named(script);
            // a part of an expression is a prefix of it, and harmless
            assert!(found.is_empty() || script.contains("'./' +"), "{script}: {found}");
        }
    }

    fn files(script: &str) -> String {
        let mut found = Vec::new();
        file_names(script, &mut |name| found.push(name.to_owned()));
        found.join(" ")
    }

    #[test]
    fn strings_that_look_like_files_are_found() {
        for (script, expected) in [
            ("createElem(doc, tag, 'search.js');", "search.js"),
            ("a = \"img/sync_on.PNG\", b=`/d/x.woff2`", "img/sync_on.PNG /d/x.woff2"),
            ("load(root + '../jquery-3.6.1.min.js')", "../jquery-3.6.1.min.js"),
            ("u = 'https://cdn.example/a%20b.css'", "https://cdn.example/a%20b.css"),
            ("x = 'a.js' + 'b.js'", "a.js b.js"),
        ] {
            assert_eq!(files(script), expected, "{script}");
        }
    }

    #[test]
    fn strings_that_are_no_files_are_passed_over() {
        let long = format!("'{}.js'", "x".repeat(FILE_NAME_MAX + 1));
        for script in [
            "a.js",
            "'.js'",
            "'../.js'",
            "'a b.js'",
            "\"a.js'",
            "'a.html'",
            "'a.java'",
            "'a.jsx'",
            "`${n}.png`",
            "'.png",
            "'a.js?v=1'",
            "a.js'",
            &long,
        ] {
            assert_eq!(files(script), "", "{script}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let pieces = ["import", "from", "'", "\"", "./", "/", "(", " ", "é", "\\", "\n", "x", ";", ".js", "`"];
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let script = (0..random.usize(..16)).map(|_| pieces[random.usize(..pieces.len())]).collect::<String>();
            named(&script);
            files(&script);
        }
        for piece in ["import './", "from\"/", "import(", "from '/\"", "import    ", ".js'", "a.js"] {
            named(&piece.repeat(100_000));
            files(&piece.repeat(100_000));
        }
    }
}
