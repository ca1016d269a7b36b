//! The tag walk beside html5ever's tokenizer, and what the link scan makes of pages.

use std::cell::{Cell, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::*;
use crate::fingerprint::Fingerprinter;
use crate::web::references::push_value;
use crate::web::tags::Tags;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// A tag with its name in lower case and its attributes decoded, each name once.
type SeenTag = (bool, String, Vec<(String, String)>);

/// Gathers tags, and does what a tree builder would tell the tokenizer about raw text and foreign elements.
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

const NASTY: &[&str] = &[
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

fn base() -> CanonicalUrl {
    CanonicalUrl::parse("http://h.example/dir/page.html?q").unwrap()
}

fn key_maker() -> KeyMaker {
    KeyMaker::new(Fingerprinter::new(0x1b), &["sid".to_owned()])
}

fn scan_as(scan: &mut LinkScan, html: &[u8], content_type: Option<&str>) -> Links {
    scan.html(html, content_type, &base(), &key_maker(), RobotsDirectives::default())
}

/// The URLs of the links, one after the other.
fn text(links: &Links) -> String {
    links.entries.iter().map(|link| link.url.as_str()).collect()
}

fn scan(html: &str) -> Links {
    scan_as(&mut LinkScan::new(1000, true, 2048).with_agent("ourbot"), html.as_bytes(), None)
}

/// URLs without `http://h.example`, with their kinds.
fn found(html: &str) -> Vec<(String, LinkKind)> {
    let links = scan(html);
    let short = |link: &Link| link.url.as_str().replace("http://h.example", "");
    links.entries.iter().map(|link| (short(link), link.kind)).collect()
}

fn urls(html: &str) -> Vec<String> {
    found(html).into_iter().map(|(url, _)| url).collect()
}

#[test]
fn every_source_of_links_is_known_with_its_kind() {
    use LinkKind::*;
    for (html, url, kind) in [
        ("<a href=x>", "/dir/x", Anchor),
        ("<AREA HREF='/x'>", "/x", Anchor),
        ("<img src=x>", "/dir/x", Embed),
        ("<script src=x></script>", "/dir/x", Embed),
        ("<iframe src=x>", "/dir/x", Embed),
        ("<frame src=x>", "/dir/x", Embed),
        ("<source src=x>", "/dir/x", Embed),
        ("<video poster=x>", "/dir/x", Embed),
        ("<audio src=x>", "/dir/x", Embed),
        ("<embed src=x>", "/dir/x", Embed),
        ("<object data=x>", "/dir/x", Embed),
        ("<body background=x>", "/dir/x", Embed),
        ("<svg><image xlink:href=x>", "/dir/x", Embed),
        ("<link rel='shortcut ICON' href=x>", "/dir/x", Embed),
        ("<link rel=stylesheet href=x>", "/dir/x", Embed),
        ("<link rel=modulepreload href=x>", "/dir/x", Embed),
        ("<link rel=apple-touch-icon href=x>", "/dir/x", Embed),
        ("<link rel=mask-icon href=x>", "/dir/x", Embed),
        ("<link rel=manifest href=x>", "/dir/x", Embed),
        ("<tr background=x>", "/dir/x", Embed),
        ("<track src=x>", "/dir/x", Embed),
        ("<input type=Image src=x>", "/dir/x", Embed),
        ("<img lowsrc=x>", "/dir/x", Embed),
        ("<p style='background:url(x)'>", "/dir/x", Embed),
        ("<p style='background:url(&quot;x&quot;)'>", "/dir/x", Embed),
        ("<p style='background:&#117;rl(x)'>", "/dir/x", Embed),
        ("<style>@import 'x';</style>", "/dir/x", Embed),
        ("<style type='text/CSS'>a{b:url(x)}", "/dir/x", Embed),
        ("<svg><style><![CDATA[@import 'x';]]></style>", "/dir/x", Embed),
        ("<svg><style>a{b:url(&quot;x&quot;)}</style>", "/dir/x", Embed),
        ("<svg><use href='x#y'/>", "/dir/x", Embed),
        ("<svg><feImage xlink:href=x>", "/dir/x", Embed),
        ("<svg><rect fill='url(x#y)' mask='url(#z)'>", "/dir/x", Embed),
        ("<svg><a xlink:href=x>", "/dir/x", Anchor),
        ("<param name=Movie value=x.swf>", "/dir/x.swf", Embed),
        ("<param name=any valuetype=ref value=x>", "/dir/x", Embed),
        ("<applet code=x.class>", "/dir/x.class", Embed),
        ("<applet code=org.x.Y codebase=/c>", "/c/org/x/Y.class", Embed),
        ("<applet archive=' x.jar, ' code=Y codebase=c/>", "/dir/c/x.jar", Embed),
        ("<applet archive=/x.jar codebase=c>", "/x.jar", Embed),
        ("<blockquote cite=x>", "/dir/x", Other),
        ("<img longdesc=x>", "/dir/x", Other),
        ("<noscript><img src=x></noscript>", "/dir/x", Embed),
        ("<noframes><a href=x></noframes>", "/dir/x", Anchor),
        ("<iframe srcdoc='<img src=&quot;x&quot;>'></iframe>", "/dir/x", Embed),
        ("<img data-src=x.png>", "/dir/x.png", Embed),
        ("<div DATA-BG=\"url('x')\">", "/dir/x", Embed),
        ("<script type=module>import a from './x'</script>", "/dir/x", Embed),
        ("<script type=importmap>{\"imports\":{\"a\":\"./x\"}}</script>", "/dir/x", Embed),
        ("<script type=application/ld+json>{\"url\":\"x\"}</script>", "/dir/x", Other),
        ("<link rel=next href=x>", "/dir/x", Other),
        ("<link rel=canonical href=x>", "/dir/x", Canonical),
        ("<meta http-equiv=Refresh content='0; url=x'>", "/dir/x", Refresh),
    ] {
        assert_eq!(found(html), [(url.to_owned(), kind)], "{html}");
    }
    assert_eq!(urls("<img srcset='a 1x, b 2x' src=c>"), ["/dir/c", "/dir/a", "/dir/b"]);
    assert_eq!(urls("<link rel=preload as=image href=a imagesrcset='b 1x, c 2x'>"), ["/dir/a", "/dir/b", "/dir/c"]);
    assert_eq!(urls("<link rel=preconnect href=//cdn><link rel=dns-prefetch href=//cdn>"), Vec::<String>::new());
}

#[test]
fn what_only_looks_like_a_reference_is_none() {
    for html in [
        "<img src>",
        "<img src='#x'><use href=#x>",
        "<input src=x>",
        "<param name=quality value=x.swf><param name=src value=high>",
        "<p style='color:red' fill=red data-src=yes data-bg='{\"a\":\"/b\"}' data-other=/x>",
        "<style type=text/less>@import 'x';</style><style/>",
        "<script>import a from './x'</script><script type=text/template><img src=x></script>",
        "<textarea><img src=x></textarea><title><a href=x></title>",
        "<noframes><noframes><a href=x></noframes></noframes>",
        "<iframe srcdoc='<iframe srcdoc=\"<img src=x>\">'></iframe>",
        "<p style='background:url(x)'",
        "<p background=x",
    ] {
        assert_eq!(urls(html), Vec::<String>::new(), "{html}");
    }
}

#[test]
fn lazy_attributes_are_those_of_the_settings() {
    let html = b"<img data-src=a.png data-srcset='b.png 1x, c.png 2x' x-picture=d.png>";
    let names = ["x-picture".to_owned()];
    let mut scan = LinkScan::new(10, true, 100).with_lazy_attributes(&names);
    assert_eq!(text(&scan_as(&mut scan, html, None)), "http://h.example/dir/d.png");
    let mut scan = LinkScan::new(10, true, 100);
    let expected = ["a", "b", "c"].map(|name| format!("http://h.example/dir/{name}.png")).concat();
    assert_eq!(text(&scan_as(&mut scan, html, None)), expected);
}

#[test]
fn markup_within_a_page_says_nothing_of_the_page() {
    let links = scan("<iframe srcdoc='<base href=/b/><meta name=robots content=none><a href=x>'></iframe><a href=y>");
    assert_eq!(text(&links), "http://h.example/dir/xhttp://h.example/dir/y");
    assert!(!links.noindex);
}

#[test]
fn a_page_tells_whether_it_names_an_icon() {
    assert!(scan("<link rel='shortcut icon' href=x>").has_icon);
    assert!(!scan("<link rel=apple-touch-icon href=x>").has_icon);
}

#[test]
fn documents_of_other_kinds_name_what_belongs_to_them() {
    use LinkKind::*;
    let found = |document, body: &str| {
        let mut scan = LinkScan::new(10, true, 100);
        let against = (&base(), &key_maker());
        let links = scan.document(document, body.as_bytes(), None, against, RobotsDirectives::default());
        let short = |link: &Link| (link.url.as_str().replace("http://h.example", ""), link.kind);
        links.entries.iter().map(short).collect::<Vec<_>>()
    };
    let one = |url: &str, kind| vec![(url.to_owned(), kind)];
    assert_eq!(found(Document::Css, "@import 'x';a{b:url(x)url(data:,y)url(#z)}"), one("/dir/x", Embed));
    assert_eq!(found(Document::Script, "import('../x.js')"), one("/x.js", Embed));
    assert_eq!(found(Document::Manifest, "{\"icons\":[{\"src\":\"x\"}]}"), one("/dir/x", Embed));
    assert_eq!(found(Document::Xml, "<rss><link>http://g/</link></rss>"), one("http://g/", Other));
    let svg = "<?xml-stylesheet href='x.css'?><svg><style>@import 'y';</style><image href='z'/><a href='w'/></svg>";
    let expected = [("/dir/x.css", Embed), ("/dir/y", Embed), ("/dir/z", Embed), ("/dir/w", Anchor)];
    assert_eq!(found(Document::Svg, svg), expected.map(|(url, kind)| (url.to_owned(), kind)));
    assert_eq!(found(Document::Xhtml, "<html><style/><img src='x'/></html>"), one("/dir/x", Embed));
}

#[test]
fn a_sheet_is_read_in_its_own_encoding_and_its_queries_are_utf_8() {
    let sheet = b"@charset \"koi8-r\";a{b:url(\xc1?\xc1)}";
    let against = (&base(), &key_maker());
    let mut scan = LinkScan::new(10, true, 100);
    let links = scan.document(Document::Css, sheet, Some("text/css"), against, RobotsDirectives::default());
    assert_eq!(text(&links), "http://h.example/dir/%D0%B0?%D0%B0");
}

#[test]
fn links_are_resolved_against_the_final_url_and_then_the_base() {
    assert_eq!(
        urls("<a href=x><a href=../y><a href=/z><a href=?a><a href=//g/b>").concat(),
        "/dir/x/y/z/dir/page.html?ahttp://g/b"
    );
    assert_eq!(urls("<a href=x><base href=/other/><base href=/third/><a href=y>"), ["/other/x", "/other/y"]);
    assert_eq!(urls("<base target=x><base href='http://g/'><a href=x>"), ["http://g/x"]);
    assert_eq!(urls("<base href='data:x'><a href=x>"), ["/dir/x"]);
    assert_eq!(urls("<base href='http://['><a href=x>"), ["/dir/x"]);
    assert_eq!(urls("<base href='ftp://g/'><a href=x><a href=http://f/>"), ["http://f/"]);
}

#[test]
fn only_http_and_https_links_are_kept() {
    let html = "<a href=mailto:a@b><a href=' javascript:x'><a href='java&#10;script:x'><a href=ftp://h/>
        <a href=file:///x><a href=data:,x><img src='data:image/png;base64,AA'><a href=tel:1>
        <a href='HTTP:y'><a href='http://['>
        <a href=https://g>";
    assert_eq!(urls(html), ["/dir/y", "https://g/"]);
}

#[test]
fn each_url_comes_once_whatever_its_spelling() {
    let html = "<a href=x><a href='x#1'><a href=' x '><a href=/dir/x><a href=%78><a href='x?sid=1'><a href='x?sid=2'>";
    let links = scan(html);
    assert_eq!(text(&links), "http://h.example/dir/x");
    let url = CanonicalUrl::parse(links.entries[0].url.as_str()).unwrap();
    assert_eq!(links.entries[0].keys, key_maker().keys(&url));
    assert_eq!(urls("<a href=#x><a href=''><a href='#'>"), ["/dir/page.html?q"]);
    assert_eq!(urls("<a href='a #b'><a href=a>"), ["/dir/a%20", "/dir/a"]);
}

#[test]
fn keys_belong_to_their_own_origin_where_origins_alternate() {
    let links = scan("<a href=a><a href=http://g/><a href=b><a href=http://g:81/><a href=https://g/>");
    assert_eq!(links.entries.len(), 5);
    for link in &links.entries {
        let url = CanonicalUrl::parse(link.url.as_str()).unwrap();
        assert_eq!(link.keys, key_maker().keys(&url), "{url}");
    }
}

#[test]
fn r16_a_page_that_asks_for_it_gives_no_links() {
    for (html, nofollow, noindex) in [
        ("<meta name=robots content=nofollow><a href=x>", true, false),
        ("<a href=x><META NAME=Robots CONTENT='noindex, NOFOLLOW'>", true, true),
        ("<meta name=robots content=none><a href=x>", true, true),
        ("<meta name=OurBot content=nofollow><a href=x>", true, false),
        ("<meta name=otherbot content=none><a href=x>", false, false),
        ("<meta name=robots content=noindex><a href=x>", false, true),
        ("<meta name=robots content=all><meta name=ourbot content=nofollow><a href=x>", true, false),
        ("<!-- <meta name=robots content=none> --><a href=x>", false, false),
    ] {
        let links = scan(html);
        assert_eq!((links.nofollow_page, links.noindex), (nofollow, noindex), "{html}");
        assert_eq!(links.entries.is_empty(), nofollow, "{html}");
    }
    let mut scan = LinkScan::new(10, true, 100);
    let header = x_robots_tag(["nofollow"].into_iter(), "ourbot");
    assert!(scan.html(b"<a href=x>", None, &base(), &key_maker(), header).entries.is_empty());
}

#[test]
fn links_with_nofollow_are_passed_over_if_that_is_respected() {
    let html = b"<a rel='external NoFollow' href=x><a rel=nofollower href=y><link rel='next nofollow' href=z>";
    let respectful = scan_as(&mut LinkScan::new(10, true, 100), html, None);
    assert_eq!(text(&respectful), "http://h.example/dir/y");
    assert_eq!(scan_as(&mut LinkScan::new(10, false, 100), html, None).entries.len(), 3);
    let html = b"<meta name=robots content=nofollow><a href=x>";
    let links = scan_as(&mut LinkScan::new(10, false, 100), html, None);
    assert_eq!((links.entries.len(), links.nofollow_page), (1, true));
}

#[test]
fn the_canonical_url_is_told_even_if_links_are_not_followed() {
    let links = scan("<meta name=robots content=nofollow><link rel=canonical href=/c#x><link rel=canonical href=/d>");
    assert_eq!(links.canonical.as_deref(), Some("http://h.example/c"));
    assert!(links.entries.is_empty());
    let links = scan("<a href=/c><link rel=canonical href=/c>");
    assert_eq!((links.canonical.as_deref(), links.entries.len()), (Some("http://h.example/c"), 1));
}

#[test]
fn the_encoding_of_the_page_is_that_of_its_queries() {
    let links = |html: &[u8], content_type| text(&scan_as(&mut LinkScan::new(10, true, 100), html, content_type));
    let latin = b"<a href='\xe4?\xe4'>";
    assert_eq!(links(latin, Some("text/html; charset=iso-8859-1")), "http://h.example/dir/%C3%A4?%E4");
    assert_eq!(links(latin, None), "http://h.example/dir/%C3%A4?%E4");
    assert_eq!(links("<a href='ä?ä'>".as_bytes(), None), "http://h.example/dir/%C3%A4?%C3%A4");
    let utf16: Vec<u8> = "\u{feff}<a href='ä?ä'>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(links(&utf16, Some("text/html; charset=utf-8")), "http://h.example/dir/%C3%A4?%C3%A4");
    assert_eq!(links(b"<meta charset=shift_jis><a href='\x83\x5c'>", None), "http://h.example/dir/%E3%82%BD");
}

#[test]
fn in_xhtml_every_element_can_close_itself() {
    let html = b"<title/><script src='a'/><a href='b'><![CDATA[<a href='c'>]]></a>";
    let xhtml = scan_as(&mut LinkScan::new(10, true, 100), html, Some("application/xhtml+xml"));
    assert_eq!(text(&xhtml), "http://h.example/dir/ahttp://h.example/dir/b");
    assert!(scan_as(&mut LinkScan::new(10, true, 100), html, Some("text/html")).entries.is_empty());
}

#[test]
fn s12_numbers_and_lengths_are_capped_and_counted() {
    let many: String = (0..100_000).map(|number| format!("<a href=/{number}>")).collect();
    let links = scan_as(&mut LinkScan::new(100, true, 100), many.as_bytes(), None);
    assert_eq!((links.entries.len(), links.dropped), (100, 99_900));
    let long = format!("<a href=/{}><a href=/{}><a href=/x>", "a".repeat(2_000_000), "b".repeat(200));
    let links = scan_as(&mut LinkScan::new(100, true, 100), long.as_bytes(), None);
    assert_eq!((text(&links).as_str(), links.dropped), ("http://h.example/x", 2));
    let srcset = format!("<img srcset='{}'>", "x.png 1x,".repeat(1_000_000));
    let links = scan_as(&mut LinkScan::new(100, true, 100), srcset.as_bytes(), None);
    assert_eq!((links.entries.len(), links.dropped), (1, 1_000_000 - 800));
    let base = format!("<base href=/{}><a href=x>", "a".repeat(100_000));
    assert_eq!(urls(&base), ["/dir/x"]);
}

#[test]
fn s11_what_hangs_tree_builders_is_only_long_here() {
    for piece in [
        "<div>",
        "<ul><li>",
        "<a>",
        "<i>",
        "<a href='",
        "<!--",
        "<script><!--<script>",
        "<svg>",
        "<a x=",
        "&am",
        "</",
        "<a b",
    ] {
        let html = piece.repeat(400_000);
        assert_eq!(scan(&html).entries.len(), 0, "{piece}");
        let html = format!("<a href=\"{}\">", piece.replace('"', "").repeat(10_000));
        assert!(scan(&html).entries.len() <= 1, "{piece}");
    }
    let html = format!("<a {}>", (0..200_000).map(|number| format!("a{number} href=x{number} ")).collect::<String>());
    assert_eq!(urls(&html), ["/dir/x0"]);
}

#[test]
fn files_that_stand_in_scripts_are_taken_where_the_crawl_asks_for_it() {
    let html = b"<script>load('a.js')</script><script type=module>import './b.js'</script>\
                 <script type=application/json>{\"x\": \"c.png\"}</script><script type=application/ld+json>{}</script>";
    let mut with = LinkScan::new(10, true, 100).with_script_files(true);
    let mut without = LinkScan::new(10, true, 100);
    assert_eq!(text(&scan_as(&mut without, html, None)), "http://h.example/dir/b.js");
    let found = scan_as(&mut with, html, None);
    assert!(found.entries.iter().all(|link| link.kind == LinkKind::Embed));
    let [a, b, c] = ["a.js", "b.js", "c.png"].map(|name| format!("http://h.example/dir/{name}"));
    assert_eq!(text(&found), a + &b + &c);
    let script = b"import './b.js'; load('a.js')";
    let read = |scan: &mut LinkScan| {
        let against = (&base(), &key_maker());
        text(&scan.document(Document::Script, script, None, against, RobotsDirectives::default()))
    };
    assert_eq!(read(&mut without), "http://h.example/dir/b.js");
    assert_eq!(read(&mut with), "http://h.example/dir/b.jshttp://h.example/dir/a.js");
}

#[test]
fn a_scan_carries_nothing_from_page_to_page() {
    let mut scan = LinkScan::new(10, true, 100);
    scan_as(&mut scan, b"<base href=/b/><meta name=robots content=none><a href=x>", None);
    let links = scan_as(&mut scan, b"<a href=x>", None);
    assert_eq!((text(&links).as_str(), links.noindex), ("http://h.example/dir/x", false));
}

#[test]
fn no_bytes_make_the_scan_panic() {
    for seed in 0..3_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut html = NASTY[random.usize(..NASTY.len())].as_bytes().to_vec();
        html.extend_from_slice(b"<img srcset=',a 1x(,b'><meta http-equiv=refresh content='0;url=x'><base href='/%'>");
        for _ in 0..random.usize(..10) {
            let at = random.usize(..html.len());
            html[at] = random.u8(..);
        }
        let content_type =
            ["text/html", "text/html; charset=utf-16le", "application/xhtml+xml; charset=gbk"][random.usize(..3)];
        let links = scan_as(&mut LinkScan::new(10, true, 100), &html, Some(content_type));
        for link in &links.entries {
            let url = link.url.as_str();
            assert_eq!(CanonicalUrl::parse(url).map(|url| url.as_str().to_owned()), Ok(url.to_owned()), "seed {seed}");
        }
    }
}
