//! Main content as Markdown: CommonMark with the tables, tasks and struck text of GitHub.
//!
//! dom_query writes it. What the library does not know is prepared in its tree: what browsers part is parted, links are
//! absolute, code has its language, and a character reference that the page shows as text stays text. Struck text and
//! check boxes have nothing in the library that is written as theirs: they are noncharacters, which a page has no use
//! for, until the text is written.

use dom_query::{Document, NodeData, NodeRef};
use url::Url;

use crate::web::html::display::Display;

/// Mark at the beginning and at the end of struck text.
const STRUCK: char = '\u{fdd0}';
/// The check box of a task that is done.
const DONE: char = '\u{fdd1}';
/// The check box of a task that is to do.
const TO_DO: char = '\u{fdd2}';

/// Elements that are marked at both ends of their text.
const MARKED: &str = "b, strong, i, em, del, s, strike";
/// Prefixes of the name of a language in a class.
const LANGUAGE_PREFIXES: [&str; 4] = ["language-", "lang-", "highlight-source-", "highlight-"];
/// Names that say that there is no language.
const NO_LANGUAGES: [&str; 3] = ["default", "none", "text"];

/// The Markdown of a part of a page; links are resolved against `base`, where there is one.
pub(super) fn markdown(html: &str, base: Option<&Url>) -> String {
    let found = Document::fragment(html);
    found.select("dt, dd, summary, center").rename("p");
    found.select("a br").replace_with_html(" ");
    found.select("pre div, pre p").append_html("\n");
    found.select("img[src^='data:']").remove();
    resolve(&found, base);
    fit_code(&found);
    name_languages(&found);
    move_blanks_out(&found);
    strike(&found);
    // a link is written as text alone unless there is a picture in it; one without a source is not written
    found.select("a:has(b, strong, i, em, del, s, code)").append_html("<img>");
    escape_references(&found);
    let text = found.root().md(None);
    if !text.contains([STRUCK, DONE, TO_DO]) {
        return text.to_string();
    }
    let tasks = [(DONE, "[x] "), (TO_DO, "[ ] ")];
    tasks.iter().fold(text.replace(STRUCK, "~~"), |text, (mark, task)| {
        // the blank behind the box is in both
        text.replace(&format!("{mark} "), task).replace(*mark, task)
    })
}

/// Puts marks in the place of the check boxes of tasks: form fields are no main content.
pub(super) fn mark_tasks(page: &Document) {
    for field in page.select("li input[type=checkbox]").nodes() {
        if is_first_of_item(field) {
            let mark = if field.has_attr("checked") { DONE } else { TO_DO };
            field.replace_with(&page.tree.new_text(mark.to_string()));
        }
    }
}

/// A text without the marks of tasks.
pub(super) fn without_marks(text: String) -> String {
    if text.contains([DONE, TO_DO]) { text.replace([DONE, TO_DO], "") } else { text }
}

/// Returns whether nothing is before a node in the list item that it is in.
fn is_first_of_item(node: &NodeRef<'_>) -> bool {
    let mut node = *node;
    loop {
        let mut before = node.prev_sibling();
        while let Some(sibling) = before {
            if !sibling.text().trim().is_empty() {
                return false;
            }
            before = sibling.prev_sibling();
        }
        match node.parent() {
            Some(parent) if parent.has_name("li") => return true,
            Some(parent) => node = parent,
            None => return false,
        }
    }
}

/// Makes the addresses of links and pictures absolute; what is run by a click is no link.
fn resolve(found: &Document, base: Option<&Url>) {
    found.select("a[href^='javascript:']").remove_attr("href");
    let Some(base) = base else { return };
    for (selector, name) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in found.select(selector).nodes() {
            if let Ok(url) = base.join(node.attr_or(name, "").trim()) {
                node.set_attr(name, url.as_str());
            }
        }
    }
}

/// Makes code in the cells of tables fit there: a cell is one line. A table that is laid out around code alone, such as
/// one with the numbers of its lines, is that code.
fn fit_code(found: &Document) {
    for table in found.select("table:has(pre)").nodes() {
        let code = table.find(&["pre"]);
        let in_code: usize = code.iter().map(NodeRef::normalized_char_count).sum();
        if let Some(last) = code.last()
            && in_code == table.normalized_char_count()
            && table.find(&["tr"]).len() == 1
        {
            table.replace_with(last);
        }
    }
    for code in found.select("td pre, th pre, td code, th code").nodes() {
        let text = code.text();
        let is_block = code.has_name("pre");
        if !is_block && !text.trim().contains('\n') {
            continue;
        }
        for (number, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
            if number > 0 {
                code.insert_before(&code.tree.new_element("br"));
            }
            let written = code.tree.new_element("code");
            written.append_child(&code.tree.new_text(line));
            code.insert_before(&written);
        }
        code.remove_from_parent();
    }
}

/// Gives blocks of code the attribute that the library reads their language from.
fn name_languages(found: &Document) {
    for code in found.select("pre").nodes() {
        if code.has_attr("data-lang") {
            continue;
        }
        let inner = code.children_it(false).filter(|child| child.has_name("code"));
        let around = std::iter::once(*code).chain(inner).chain(code.ancestors_it(Some(2)));
        let names = around.filter_map(|node| node.class()).find_map(|classes| language(&classes));
        if let Some(name) = names {
            code.set_attr("data-lang", &name);
        }
    }
}

/// The language that classes name.
fn language(classes: &str) -> Option<String> {
    let mut names = classes
        .split_ascii_whitespace()
        .filter_map(|class| LANGUAGE_PREFIXES.iter().find_map(|prefix| class.strip_prefix(prefix)));
    names.find(|name| !NO_LANGUAGES.contains(name)).map(str::to_owned)
}

/// Moves the blanks at the ends of marked text out of it: a mark beside a blank that it encloses is none. A blank that
/// does not break a line is one, too, and so is the end of a line. What no marks can enclose is not marked.
fn move_blanks_out(found: &Document) {
    for marked in found.select(MARKED).nodes() {
        while let Some(blank) = blank_at(marked, NodeRef::first_child, str::trim_start) {
            marked.insert_before(&blank);
        }
        while let Some(blank) = blank_at(marked, NodeRef::last_child, str::trim_end) {
            marked.insert_after(&blank);
        }
        if !can_be_marked(marked) {
            marked.rename("span");
        }
    }
}

/// A blank at an end of marked text, taken out of it.
fn blank_at<'a>(
    marked: &NodeRef<'a>,
    child: fn(&NodeRef<'a>) -> Option<NodeRef<'a>>,
    trimmed: fn(&str) -> &str,
) -> Option<NodeRef<'a>> {
    let mut node = *marked;
    while let Some(inner) = child(&node) {
        node = inner;
    }
    if node.has_name("br") {
        node.remove_from_parent();
        return Some(node);
    }
    let text = if node.is_text() { node.text() } else { return None };
    let rest = trimmed(&text);
    match rest.len() {
        len if len == text.len() => return None,
        0 => node.remove_from_parent(),
        _ => node.replace_with(&node.tree.new_text(rest)),
    }
    let is_behind = text.starts_with(rest) && !rest.is_empty();
    let blank = if is_behind { &text[rest.len()..] } else { &text[..text.len() - rest.len()] };
    Some(node.tree.new_text(blank))
}

/// Returns whether marks around a text are taken for marks: not around blocks, and not where they are between a letter
/// outside and a punctuation mark within.
fn can_be_marked(marked: &NodeRef<'_>) -> bool {
    let is_block = |node: &NodeRef<'_>| {
        node.element_ref().is_some_and(|element| {
            !matches!(Display::of(&element.name.local), Display::None | Display::Inline | Display::Break)
        })
    };
    let text = marked.text();
    let before = marked.prev_sibling().and_then(|node| node.text().chars().last());
    let behind = marked.next_sibling().and_then(|node| node.text().chars().next());
    // a blank without width is none to a reader of Markdown
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '\u{200b}');
    let is_lost = |outside, within| is_letter(outside) && !is_letter(within);
    !is_lost(before, text.chars().next())
        && !is_lost(behind, text.chars().last())
        && !marked.descendants_it().any(|node| is_block(&node))
}

/// Puts the marks of struck text into it, if there is any, and if it is no code.
fn strike(found: &Document) {
    for struck in found.select("del, s, strike").nodes() {
        if is_code(struck) || struck.text().trim().is_empty() {
            continue;
        }
        struck.prepend_child(&struck.tree.new_text(STRUCK.to_string()));
        struck.append_child(&struck.tree.new_text(STRUCK.to_string()));
    }
}

/// Returns whether a node is within code, which is written as it is.
fn is_code(node: &NodeRef<'_>) -> bool {
    node.ancestors_it(None).any(|around| around.has_name("code") || around.has_name("pre"))
}

/// Escapes what a page shows as text and Markdown would take for a character.
fn escape_references(found: &Document) {
    for node in found.root().descendants() {
        let text = node.query_or(None, |node| match &node.data {
            NodeData::Text { contents } => escaped(contents),
            _ => None,
        });
        if let Some(text) = text.filter(|_| !is_code(&node)) {
            node.replace_with(&node.tree.new_text(text));
        }
    }
    for name in ["alt", "title"] {
        for node in found.select(&format!("[{name}*='&']")).nodes() {
            if let Some(text) = node.attr(name).and_then(|text| escaped(&text)) {
                node.set_attr(name, &text);
            }
        }
    }
}

/// A text with the references in it escaped, if there are any.
fn escaped(text: &str) -> Option<String> {
    let is_reference = |rest: &str| {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#');
        name.len() < rest.len() && name.starts_with(';')
    };
    let mut pieces = text.split('&');
    let mut written = pieces.next()?.to_owned();
    for piece in pieces {
        written.push_str(if is_reference(piece) { "&amp;" } else { "&" });
        written.push_str(piece);
    }
    (written.len() > text.len()).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(html: &str) -> String {
        let page = Document::from(html);
        mark_tasks(&page);
        markdown(&page.html(), Url::parse("https://h.example/d/").ok().as_ref()).trim().to_owned()
    }

    /// Cases that markdown-it (with GitHub's tables, struck text and tasks) shows as the page does.
    #[test]
    fn what_a_page_shows_is_what_a_reader_of_markdown_shows() {
        for (html, expected) in [
            (
                "<p>Write &amp;copy; for &copy;, &amp;#169;, AT&amp;T &amp; co;",
                "Write &amp;copy; for \u{a9}, &amp;#169;, AT&T & co;",
            ),
            ("<p><code>&amp;copy;</code>", "`&copy;`"),
            (
                "<p><a href=x>&amp;lt;</a> <img src=y alt='&amp;gt;'>",
                "[&amp;lt;](https://h.example/d/x) ![&amp;gt;](https://h.example/d/y)",
            ),
            ("<p>a <del>b</del> <s> c </s>d <del></del>", "a ~~b~~ ~~c~~ d"),
            ("<p><code>a<del>b</del></code>", "`ab`"),
            ("<p><i>foo&nbsp;</i>bar<b>&nbsp;baz</b>", "*foo*\u{a0}bar\u{a0}**baz**"),
            ("<p><b><i> x </i></b>y", "***x*** y"),
            ("<p>f<b>(x)</b> <b>(y)</b> <b>z</b>z a<i>.</i>b", "f(x) **(y) z**z a.b"),
            ("<p>f <b>x<br></b>y", "f **x**  \ny"),
            ("<b><p>f</p><p>x</p></b>", "f\n\nx"),
            ("<p>a <img src='data:,'> <img src=x>", "a ![](https://h.example/d/x)"),
            ("<p><a href=x><code>f_1()</code> and <b>more</b></a>", "[`f_1()` and **more**](https://h.example/d/x)"),
            ("<p><a href='javascript:f()'>run</a>", "run"),
            (
                "<ul><li><input type=checkbox checked> done<li><input type=checkbox disabled>to do</ul>",
                "- [x] done\n- [ ] to do",
            ),
            ("<ul><li><label><input type=checkbox> a</label><li>b <input type=checkbox></ul>", "- [ ] a\n- b"),
        ] {
            assert_eq!(written(html), expected, "{html}");
        }
    }

    #[test]
    fn blocks_of_code_name_their_language() {
        for html in [
            "<pre><code class='hljs language-rust'>f()</code></pre>",
            "<pre class=lang-rust>f()</pre>",
            "<div class='highlight highlight-source-rust'><pre>f()</pre></div>",
            "<div class='highlight-rust notranslate'><div class=highlight><pre>f()</pre></div></div>",
        ] {
            assert_eq!(written(html), "```rust\nf()\n```", "{html}");
        }
        assert_eq!(written("<div class=highlight-default><pre>f()</pre></div>"), "```\nf()\n```");
    }

    #[test]
    fn code_in_the_cell_of_a_table_is_within_its_line() {
        let cell = |cell: &str| written(&format!("<table><tr><th>a<th>b<tr><td>1<td>{cell}<tr><td>2<td>3</table>"));
        let table = |cell: &str| format!("| a | b |\n| - | - |\n| 1 | {cell} |\n| 2 | 3 |");
        assert_eq!(cell("<pre>x\n\n  y</pre>"), table("`x`  <br>` y`"));
        assert_eq!(cell("<code>x\n y</code>"), table("`x`  <br>` y`"));
        assert_eq!(cell("<code>x</code>"), table("`x`"));
        let numbered = "<table><tr><td><pre>1\n2</pre><td><pre class=lang-c>a\nb</pre></table>";
        assert_eq!(written(numbered), "```c\na\nb\n```");
    }
}
