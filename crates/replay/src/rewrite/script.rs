//! Scripts that are shown at another origin: absolute URLs of modules, and the names by which a script knows its place.
//!
//! `location` becomes `replayLocation` and `top` becomes `replayTop`, wherever they are variables, and behind a point
//! where they may be those of a window. The script that is put before all others of a page defines both. A renamed
//! variable of the script's own is renamed everywhere, so that it means what it meant; keys, methods, fields and labels
//! keep their names. `import("https://...")` and `from "https://..."` lead elsewhere, and a computed name of a module
//! goes through `replayLead`.
//!
//! A tokenizer, not a parser: it knows strings, templates, comments, regular expressions and brackets. A script that it
//! does not understand to the end stays as it is.

use std::ops::Range;

use super::Edit;

/// Says where an absolute URL of a module leads.
type Lead<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Around the name of a module that is computed.
const LEADS: &[u8] = b"(self.replayLead||String)(";
/// Windows whose `top` is meant.
const WINDOWS: [&[u8]; 6] = [b"window", b"self", b"globalThis", b"parent", b"top", b"frames"];
/// Words behind which an expression begins.
const BEFORE_VALUE: [&[u8]; 15] = [
    b"return",
    b"typeof",
    b"case",
    b"in",
    b"of",
    b"delete",
    b"void",
    b"throw",
    b"new",
    b"else",
    b"do",
    b"instanceof",
    b"yield",
    b"await",
    b"default",
];

/// The edits of a script; none for one that is not understood.
pub(super) fn edits(script: &[u8], lead: &mut Lead<'_>) -> Vec<Edit> {
    let mut walk =
        Walk { script, at: 0, last: Token::START, before: Token::START, open: Vec::new(), edits: Vec::new() };
    match walk.walk(lead) {
        Some(()) => {
            walk.edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
            walk.edits
        }
        None => Vec::new(),
    }
}

/// The edits of the strings of JSON that are absolute URLs, as in an import map.
pub(super) fn strings(json: &[u8], lead: &mut Lead<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut from = None;
    for (at, _) in json.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
        let Some(start) = from.take() else {
            from = Some(at + 1);
            continue;
        };
        let text = std::str::from_utf8(&json[start..at]).unwrap_or_default();
        if let Some(new) = lead(text) {
            edits.push(Edit { range: start..at, text: new.into_bytes() });
        }
    }
    edits
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Start,
    Word,
    /// A literal.
    Value,
    Sign,
}

/// A token that means something.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a [u8],
    /// True where a value ends, so that a slash divides.
    ends_value: bool,
}

impl Token<'_> {
    const START: Token<'static> = Token { kind: Kind::Start, text: b"", ends_value: false };

    fn is(&self, text: &[u8]) -> bool {
        matches!(self.kind, Kind::Word | Kind::Sign) && self.text == text
    }

    fn is_one_of(&self, texts: &[&[u8]]) -> bool {
        texts.iter().any(|text| self.is(text))
    }
}

/// The content of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// `(` behind `if`, `while`, `for` or `with`.
    Condition,
    Round,
    Square,
    Block,
    Object,
    Class,
    Imported,
    Exported,
    /// `${` in a template.
    Template,
    /// `import(` with the place behind the bracket; false when it cannot be led.
    Import {
        from: usize,
        is_led: bool,
    },
}

struct Walk<'a> {
    script: &'a [u8],
    at: usize,
    last: Token<'a>,
    before: Token<'a>,
    open: Vec<Inside>,
    edits: Vec<Edit>,
}

impl<'a> Walk<'a> {
    fn walk(&mut self, lead: &mut Lead<'_>) -> Option<()> {
        let mut class_at = None;
        while let Some(start) = self.skipped(self.at)? {
            self.at = start;
            match self.script[start] {
                b'"' | b'\'' => self.string(lead)?,
                b'`' => {
                    self.at += 1;
                    self.template()?;
                }
                b'/' if !self.last.ends_value => self.expression()?,
                b'(' | b'[' | b'{' => self.open(&mut class_at)?,
                b')' | b']' | b'}' => self.close()?,
                byte if is_word(byte) => self.word(&mut class_at),
                _ => self.sign(),
            }
        }
        self.open.is_empty().then_some(())
    }

    /// The next place from `at` on that is neither blank nor comment; `None` if a comment does not end.
    #[expect(clippy::option_option, reason = "a script that ends differs from one that is not understood")]
    fn skipped(&self, mut at: usize) -> Option<Option<usize>> {
        loop {
            let rest = &self.script[at..];
            match rest {
                [] => return Some(None),
                [b'/', b'/', ..] => at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => at += 4 + rest[2..].windows(2).position(|two| two == b"*/")?,
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0x0b => at += 1,
                _ => return Some(Some(at)),
            }
        }
    }

    /// The next byte that means something, without going there.
    fn next(&self) -> u8 {
        self.skipped(self.at).flatten().map_or(0, |at| self.script[at])
    }

    fn take(&mut self, token: Token<'a>) {
        self.before = self.last;
        self.last = token;
    }

    fn text(&self, range: Range<usize>) -> &'a [u8] {
        &self.script[range]
    }

    fn string(&mut self, lead: &mut Lead<'_>) -> Option<()> {
        let (start, quote) = (self.at, self.script[self.at]);
        self.at += 1;
        loop {
            match *self.script.get(self.at)? {
                b'\\' => self.at += 2,
                b'\n' => return None,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        let is_static = self.last.is_one_of(&[b"from", b"import"]) && self.last.kind == Kind::Word;
        let is_only = matches!(self.open.last(), Some(Inside::Import { .. })) && self.last.is(b"(");
        let is_only = is_only && self.next() == b')';
        let inner = start + 1..self.at - 1;
        if is_static || is_only {
            if let Ok(url) = std::str::from_utf8(self.text(inner.clone()))
                && let Some(new) = lead(url)
            {
                self.edits.push(Edit { range: inner, text: new.into_bytes() });
            }
            if let Some(Inside::Import { is_led, .. }) = self.open.last_mut() {
                *is_led = false;
            }
        }
        let text = self.text(start..self.at);
        self.take(Token { kind: Kind::Value, text, ends_value: true });
        Some(())
    }

    /// The rest of a template, up to its end or to an expression in it.
    fn template(&mut self) -> Option<()> {
        loop {
            match *self.script.get(self.at)? {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    self.take(Token { kind: Kind::Value, text: b"`", ends_value: true });
                    return Some(());
                }
                b'$' if self.script.get(self.at + 1) == Some(&b'{') => {
                    self.at += 2;
                    self.open.push(Inside::Template);
                    self.take(Token { kind: Kind::Sign, text: b"${", ends_value: false });
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// A regular expression.
    fn expression(&mut self) -> Option<()> {
        let (start, mut is_class) = (self.at, false);
        self.at += 1;
        loop {
            match *self.script.get(self.at)? {
                b'\\' => self.at += 1,
                b'\n' => return None,
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        while self.script.get(self.at).is_some_and(|&byte| is_word(byte)) {
            self.at += 1;
        }
        let text = self.text(start..self.at);
        self.take(Token { kind: Kind::Value, text, ends_value: true });
        Some(())
    }

    fn open(&mut self, class_at: &mut Option<usize>) -> Option<()> {
        let byte = self.script[self.at];
        let inside = match byte {
            b'(' if self.last.is(b"import") && !self.before.is(b".") => {
                Inside::Import { from: self.at + 1, is_led: true }
            }
            b'(' if self.last.is_one_of(&[b"if", b"while", b"for", b"with"]) && !self.before.is(b".") => {
                Inside::Condition
            }
            b'(' => Inside::Round,
            b'[' => Inside::Square,
            _ if *class_at == Some(self.open.len()) => {
                *class_at = None;
                Inside::Class
            }
            _ => self.brace(),
        };
        self.at += 1;
        self.open.push(inside);
        let text = self.text(self.at - 1..self.at);
        self.take(Token { kind: Kind::Sign, text, ends_value: false });
        Some(())
    }

    /// The content of the curly bracket that begins here.
    fn brace(&self) -> Inside {
        let last = &self.last;
        if last.is(b"import") || last.is(b",") && self.open.is_empty() && self.is_importing() {
            return Inside::Imported;
        }
        if last.is(b"export") {
            return Inside::Exported;
        }
        let is_value = match last.kind {
            Kind::Start | Kind::Value => false,
            Kind::Word => {
                last.is_one_of(&[b"let", b"const", b"var", b"extends"])
                    || last.is_one_of(&BEFORE_VALUE) && !last.is_one_of(&[b"else", b"do"])
            }
            Kind::Sign => {
                !last.is_one_of(&[b")", b";", b"{", b"}", b"=>", b":"]) || last.is(b":") && self.is_in_value()
            }
        };
        if is_value { Inside::Object } else { Inside::Block }
    }

    /// True between a word and a comma of `import name, {`.
    fn is_importing(&self) -> bool {
        let head = &self.script[..self.at];
        let line = head.iter().rposition(|&byte| byte == b'\n' || byte == b';').map_or(0, |at| at + 1);
        head[line..].trim_ascii_start().starts_with(b"import ")
    }

    /// True where a colon is not that of a label or a case.
    fn is_in_value(&self) -> bool {
        self.open.last().is_some_and(|inside| !matches!(inside, Inside::Block))
    }

    fn close(&mut self) -> Option<()> {
        let byte = self.script[self.at];
        let inside = self.open.pop()?;
        let is_closed = match byte {
            b')' => matches!(inside, Inside::Condition | Inside::Round | Inside::Import { .. }),
            b']' => inside == Inside::Square,
            _ => !matches!(inside, Inside::Condition | Inside::Round | Inside::Square | Inside::Import { .. }),
        };
        if !is_closed {
            return None;
        }
        if let Inside::Import { from, is_led: true } = inside {
            self.edits.push(Edit { range: from..from, text: LEADS.into() });
            self.edits.push(Edit { range: self.at..self.at, text: b")".into() });
        }
        self.at += 1;
        if inside == Inside::Template {
            return self.template();
        }
        let text = self.text(self.at - 1..self.at);
        let ends_value = !matches!(inside, Inside::Condition | Inside::Block | Inside::Class);
        self.take(Token { kind: Kind::Sign, text, ends_value });
        Some(())
    }

    fn sign(&mut self) {
        let rest = &self.script[self.at..];
        let length = [&b"..."[..], b"=>", b"++", b"--", b"?.", b"=="].into_iter().find(|sign| rest.starts_with(sign));
        let length = length.map_or(1, |sign| sign.len());
        let text = self.text(self.at..self.at + length);
        self.at += length;
        if text == b"," {
            // an import with options
            if let Some(Inside::Import { is_led, .. }) = self.open.last_mut() {
                *is_led = false;
            }
        }
        let ends_value = matches!(text, b"++" | b"--") && self.last.ends_value;
        self.take(Token { kind: Kind::Sign, text, ends_value });
    }

    fn word(&mut self, class_at: &mut Option<usize>) {
        let start = self.at;
        while self.script.get(self.at).is_some_and(|&byte| is_word(byte)) {
            self.at += 1;
        }
        let text = self.text(start..self.at);
        let is_member = self.last.is_one_of(&[b".", b"?."]);
        match text {
            b"location" => self.rename(start..self.at, "replayLocation"),
            b"top" => self.rename(start..self.at, "replayTop"),
            b"class" if !is_member && self.next() != b':' => *class_at = Some(self.open.len()),
            _ => {}
        }
        let ends_value = is_member || !BEFORE_VALUE.contains(&text);
        self.take(Token { kind: Kind::Word, text, ends_value });
    }

    /// Renames a variable, or a member that may be that of a window.
    fn rename(&mut self, range: Range<usize>, name: &str) {
        let (last, next) = (self.last, self.next());
        let old = String::from_utf8_lossy(self.text(range.clone())).into_owned();
        let mut put = |text: String| self.edits.push(Edit { range: range.clone(), text: text.into_bytes() });
        if last.is_one_of(&[b".", b"?."]) {
            let is_windows = if old == "top" { self.before.is_one_of(&WINDOWS) } else { next != b'(' };
            if is_windows {
                put(name.to_owned());
            }
            return;
        }
        let inside = self.open.last().copied();
        let is_first = last.is_one_of(&[b"{", b","]);
        let begins = last.kind == Kind::Start || last.is_one_of(&[b"{", b";", b"}"]);
        let is_prefixed = last.is_one_of(&[b"static", b"get", b"set", b"async", b"*"]);
        let is_kept = match inside {
            Some(Inside::Class) => begins || is_prefixed,
            Some(Inside::Object) => is_first && matches!(next, b':' | b'(') || is_prefixed && next == b'(',
            _ => begins && next == b':',
        };
        if is_kept || last.is_one_of(&[b"break", b"continue", b"#", b"as"]) {
            return;
        }
        match inside {
            Some(Inside::Object) if is_first && matches!(next, b',' | b'}' | b'=') => put(format!("{old}:{name}")),
            Some(Inside::Imported) => put(format!("{old} as {name}")),
            Some(Inside::Exported) => put(format!("{name} as {old}")),
            _ => put(name.to_owned()),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'\\' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::spliced;

    fn rewritten(script: &str) -> String {
        let mut lead = |url: &str| url.strip_prefix("https://").map(|rest| format!("led/{rest}"));
        String::from_utf8(spliced(script.as_bytes(), &edits(script.as_bytes(), &mut lead))).unwrap()
    }

    #[test]
    fn names_of_the_place_are_renamed_where_they_are_variables_or_of_a_window() {
        for (script, new) in [
            ("location.href", "replayLocation.href"),
            ("a=window.location", "a=window.replayLocation"),
            ("t.location?.x", "t.replayLocation?.x"),
            ("window['location']", "window['location']"),
            ("x={location:1,top}", "x={location:1,top:replayTop}"),
            ("x={location(){}, get top(){return top}}", "x={location(){}, get top(){return replayTop}}"),
            ("f({location,a}){}", "f({location:replayLocation,a}){}"),
            ("const {location=1}=a", "const {location:replayLocation=1}=a"),
            ("a?location:top", "a?replayLocation:replayTop"),
            ("class A{location=5;static top(){}x=location}", "class A{location=5;static top(){}x=replayLocation}"),
            ("location:for(;;)break location", "location:for(;;)break location"),
            ("r.top+window.top+top", "r.top+window.replayTop+replayTop"),
            ("`${location}location${`${top}`}`", "`${replayLocation}location${`${replayTop}`}`"),
            ("/location/.test(location)/2/top", "/location/.test(replayLocation)/2/replayTop"),
            ("if(a)/top/.x;b=(a)/top/1", "if(a)/top/.x;b=(a)/replayTop/1"),
            ("function f(){}/top/.x;a={}/top/1", "function f(){}/top/.x;a={}/replayTop/1"),
            ("a++/top/1//top\n/*top*/'top'", "a++/replayTop/1//top\n/*top*/'top'"),
            (
                "import {location} from 'a';export {top}",
                "import {location as replayLocation} from 'a';export {replayTop as top}",
            ),
            ("b={a:{top:1}};{top}", "b={a:{top:1}};{replayTop}"),
            ("[location,...top]", "[replayLocation,...replayTop]"),
        ] {
            assert_eq!(rewritten(script), new, "{script}");
        }
    }

    #[test]
    fn absolute_modules_are_led_and_computed_ones_are_led_when_the_script_runs() {
        for (script, new) in [
            ("import a from\"https://b/c\"", "import a from\"led/b/c\""),
            ("import 'https://b/c';import d from './e'", "import 'led/b/c';import d from './e'"),
            ("export * from 'https://b'", "export * from 'led/b'"),
            ("import('https://b')", "import('led/b')"),
            ("import('/b')", "import('/b')"),
            ("import(a+'x').then()", "import((self.replayLead||String)(a+'x')).then()"),
            ("import(a,{with:b})", "import(a,{with:b})"),
            ("a.import(b)", "a.import(b)"),
            ("import.meta.url", "import.meta.url"),
        ] {
            assert_eq!(rewritten(script), new, "{script}");
        }
    }

    #[test]
    fn a_script_that_is_not_understood_stays_as_it_is() {
        for script in ["location)", "location 'x", "location /* x", "`${location", "location = /x", "[location}", "'\\"]
        {
            assert_eq!(rewritten(script), script);
        }
    }
}
