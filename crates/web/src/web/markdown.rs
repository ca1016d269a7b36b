//! Markdown as HTML, by CommonMark with the tables, footnotes and struck words of GitHub: so what reads pages reads it.

use pulldown_cmark::{Options, Parser, html};

use super::charset;

/// The type of the HTML that is made.
pub const MADE: &str = "text/html; charset=utf-8";

/// Types of a document that is Markdown.
const TYPES: [&str; 2] = ["text/markdown", "text/x-markdown"];
/// Ends of names by which text without another type is Markdown: that of llmstxt.org among them.
const NAMES: [&str; 4] = [".md", ".markdown", "/llms.txt", "/llms-full.txt"];

/// True for the types of Markdown.
pub fn is_markdown(essence: &str) -> bool {
    TYPES.contains(&essence)
}

/// True for plain text at a path whose name says that it is Markdown.
pub(crate) fn is_named_so(path: &str) -> bool {
    NAMES.iter().any(|end| path.ends_with(end))
}

/// The document in HTML. It is UTF-8, unless its Content-Type says otherwise.
pub fn to_html(body: &[u8], content_type: Option<&str>) -> String {
    page(&charset::to_utf8(body, charset::of_text(content_type)))
}

fn page(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let text = text.trim_start_matches('\u{feff}');
    let text = without_front_matter(text);
    let mut page = String::with_capacity(text.len() + text.len() / 2);
    if let Some(title) = title(text) {
        page.push_str("<title>");
        html::push_html(&mut page, std::iter::once(pulldown_cmark::Event::Text(title.into())));
        page.push_str("</title>\n");
    }
    html::push_html(&mut page, Parser::new_ext(text, options));
    page
}

/// The text of the first line, if that is a heading.
fn title(text: &str) -> Option<&str> {
    let line = text.trim_start().lines().next()?;
    let title = line.strip_prefix("# ")?.trim().trim_end_matches('#').trim_end();
    (!title.is_empty()).then_some(title)
}

/// The text behind the lines of YAML that some begin with.
fn without_front_matter(text: &str) -> &str {
    const MARK: &str = "---\n";
    let Some(rest) = text.strip_prefix(MARK) else { return text };
    rest.find("\n---\n").map_or(text, |end| &rest[end + "\n---\n".len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_a_page_with_its_title() {
        let html =
            page("\u{feff}---\nlayout: x\n---\n\n# The <b>&\n\n[a](/a \"t\"), <https://b.example/>, ![p](p.png)\n");
        assert!(html.starts_with("<title>The &lt;b&gt;&amp;</title>\n"), "{html}");
        for part in ["<a href=\"/a\" title=\"t\">a</a>", "<a href=\"https://b.example/\">", "<img src=\"p.png\""] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("layout"));
        assert!(!page("text\n# later\n").contains("<title>"));
    }

    #[test]
    fn what_is_hostile_stays_linear() {
        let depths = ["[", "![", "*", "> ", "`", "<", "[a](", "- ", "|"];
        for piece in depths {
            let html = page(&piece.repeat(50_000));
            assert!(html.len() < 20 << 20, "{piece}: {}", html.len());
        }
    }
}
