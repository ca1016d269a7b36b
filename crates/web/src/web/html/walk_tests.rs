//! The tag walk, checked against html5ever's tokenizer, which is the reference for what a tag is.

use std::cell::{Cell, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use crate::web::references::push_value;
use crate::web::tags::Tags;

/// A tag with its name in lower case and its attributes decoded, each name once.
type SeenTag = (bool, String, Vec<(String, String)>);

/// Gathers tags, and does what a tree builder would say to the tokenizer about raw text and foreign elements.
#[derive(Default)]
struct Reference {
    tags: RefCell<Vec<SeenTag>>,
    foreign: Cell<usize>,
}

impl TokenSink for Reference {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        let is_start = tag.kind == TagKind::StartTag;
        let attributes =
            tag.attrs.iter().map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()));
        self.tags.borrow_mut().push((is_start, tag.name.to_string(), attributes.collect()));
        let foreign = self.foreign.get();
        if matches!(&*tag.name, "svg" | "math") && !(is_start && tag.self_closing) {
            self.foreign.set(if is_start { foreign + 1 } else { foreign.saturating_sub(1) });
        }
        if !is_start || tag.self_closing && foreign > 0 {
            return TokenSinkResult::Continue;
        }
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(RawKind::Rawtext),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.foreign.get() > 0
    }
}

fn reference_tags(html: &[u8]) -> Vec<SeenTag> {
    let tokenizer = Tokenizer::new(Reference::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(&String::from_utf8_lossy(html)));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.tags.take()
}

fn walked_tags(html: &[u8]) -> Vec<SeenTag> {
    let name = |name: &[u8]| String::from_utf8_lossy(name).to_ascii_lowercase().replace('\0', "\u{fffd}");
    let mut seen = Vec::new();
    let mut tags = Tags::new(html);
    while let Some(tag) = tags.next_tag() {
        let mut attributes: Vec<(String, String)> = Vec::new();
        let is_whole = tags.attributes(|attribute| {
            let (name, mut value) = (name(attribute.name), String::new());
            push_value(attribute.value, &mut value);
            if attributes.iter().all(|(other, _)| *other != name) {
                attributes.push((name, value));
            }
        });
        if is_whole {
            seen.push((tag.is_start, name(tag.name), attributes));
        }
    }
    seen
}

pub(super) const NASTY: &[&str] = &[
    "<a href=x>y</a><A HREF='X'>Y</A ><a\nhref\n=\n\"x\"\n>",
    "<a href=x/><a href=/><a/href=x><a href/=x><a =x><a = x><a href= x y>",
    "<a href='x'href=\"y\"z=1/ ><a \"x\"=1 'y><b>",
    "<!-- <a href=1> --><a href=2><!--><a href=3><!---><a href=4><!----><a href=5>--><!-- --!><a href=6>",
    "<!-- a -- > <a> --> <!--- ---> <!--x--!-><a>--> <!-->--> <!--->--> <!--<!-->x--><a>",
    "<! x><a href=1></ x><a href=2></><a href=3><?php <a> ?><a href=4><!doctype 'x>'><a href=5>",
    "<script>var x = '<a href=1>';</script><a href=2><script></scripty></script ><a href=3>",
    "<script><!-- <script> </script> <a href=1> --></script><a href=2>",
    "<script><!-- <script></script></script><a href=2>",
    "<script><!--></script><a href=1><script><!---></script><a href=2><script><!-- x --></script><a href=3>",
    "<script><!--<script>--></script><a href=1>",
    "<script><!-<script></script><a href=1><script><!--<scriptx></script><a href=2>",
    "<script><!--<SCRIPT/</script/</script/><a href=1>-->",
    "<script><!-- <a>script></script></script><a href=1><script><!-- >/script></script><a href=2>",
    "<style><a href=1></style/><a href=2><style></styl></style\n><a href=3></style",
    "<title><a href=1></title><textarea><a></textareaz></textarea><xmp><a></xmp><iframe src=x><a></iframe>",
    "<noembed><a></noembed><noframes><a></noframes><noscript><a href=1></noscript><TITLE></a></Title x='>'><a>",
    "<svg><title/><a href=1><style/><a href=2><script href=x /><![CDATA[<a href=3>]]><a href=4></svg><![CDATA[<a>]]>",
    "<svg/><![CDATA[<a>]]><math><![CDATA[x]]]]><a></math><title/><a></title>",
    "<a href=\"?a=1&copy=2&amp;b&lt;&#x41;&#65&notin;&noti;&not\"><a href=&quot;x>",
    "<a href=\"x",
    "<a href=\"x\" ",
    "<a <b <c><a\0b \0c=\0d><a b=\u{1f600}c><\u{e4}><a\u{e4} \u{e4}=\u{e4}>",
    "a < b <3 </3> <a>< a><<a>><</a>",
    "<plaintext><a href=1></plaintext><a>",
    "<a a=1 A=2 b b=3><img srcset='a 1x, b 2x' src=c><p class=\"a\r\nb\rc\">\r\n</p>",
    "<a href='&#13;&#10;&#x80;&#xD800;&#0;&#;&#x;&#xg;&;&&&amp;&am'>",
    "<script",
    "<script>",
    "<script><",
    "<script></",
    "<script></script",
    "<!",
    "<!-",
    "<!--",
    "<!--x",
    "<",
    "</",
    "</a",
    "<?",
    "<a/",
    "<a /",
    "<a b",
    "<a b=",
    "<a b='",
    "<svg><![CDATA[",
    "<svg><![CDATA[x]",
    "&",
    "",
];

/// Pieces that change a tokenizer's mind.
const PIECES: &[&str] = &[
    "<",
    ">",
    "/",
    "=",
    "\"",
    "'",
    " ",
    "\n",
    "\r",
    "\x0c",
    "!",
    "-",
    "--",
    "-->",
    "<!--",
    "--!>",
    "<a href=x>",
    "</a>",
    "<script>",
    "</script>",
    "<script",
    "</script",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<![CDATA[",
    "]]>",
    "<textarea>",
    "</textarea ",
    "<plaintext>",
    "&amp;",
    "&",
    "&#",
    "x41",
    ";",
    "&not",
    "&notin",
    "it",
    "\0",
    "a",
    "B",
    "é",
    "?",
    "<?",
    "<math>",
    "<xmp>",
    "</xmp>",
    "<iframe>",
    "</iframe>",
    "]",
    "[",
    "<!",
    "</",
    "=\"",
    "='",
];

/// The last start of a character up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn assert_same(html: &[u8], origin: &str) {
    assert_eq!(walked_tags(html), reference_tags(html), "{origin}: {:?}", String::from_utf8_lossy(html));
}

#[test]
fn the_walk_sees_the_tags_that_html5ever_sees() {
    for html in NASTY {
        for end in (0..=html.len()).filter(|&end| html.is_char_boundary(end)) {
            assert_same(&html.as_bytes()[..end], "cut");
        }
    }
}

#[test]
fn the_walk_sees_the_same_tags_in_mutated_documents() {
    for seed in 0..30_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut html = NASTY[random.usize(..NASTY.len())].to_owned();
        html.push_str(NASTY[random.usize(..NASTY.len())]);
        for _ in 0..random.usize(1..6) {
            let at = boundary(&html, random.usize(..=html.len()));
            if random.bool() {
                html.insert_str(at, PIECES[random.usize(..PIECES.len())]);
            } else {
                let end = boundary(&html, at + random.usize(..4));
                html.replace_range(at..end.max(at), "");
            }
        }
        assert_same(html.as_bytes(), &format!("seed {seed}"));
    }
}

#[test]
fn the_walk_sees_the_same_tags_in_random_pieces_and_broken_bytes() {
    for seed in 0..30_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut html: Vec<u8> =
            (0..random.usize(..25)).flat_map(|_| PIECES[random.usize(..PIECES.len())].bytes()).collect();
        if seed % 3 == 0 && !html.is_empty() {
            let at = random.usize(..html.len());
            html[at] = random.u8(..);
        }
        // a byte order mark is not part of the text; html5ever drops it where it is decoded
        if !html.contains(&0xef) {
            assert_same(&html, &format!("seed {seed}"));
        }
    }
}
