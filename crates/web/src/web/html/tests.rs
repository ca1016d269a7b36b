//! Tests of the links that the scan finds in pages.

use super::walk_tests::NASTY;
use super::*;
use crate::fingerprint::Fingerprinter;
use crate::web::url::{CanonicalUrl, KeyMaker};

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
        let links = scan.document(document, body.as_bytes(), None, &base(), &key_maker(), RobotsDirectives::default());
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
    let (base, keys) = (base(), key_maker());
    let mut scan = LinkScan::new(10, true, 100);
    let links = scan.document(Document::Css, sheet, Some("text/css"), &base, &keys, RobotsDirectives::default());
    assert_eq!(text(&links), "http://h.example/dir/%D0%B0?%D0%B0");
}

#[test]
fn links_are_resolved_against_the_final_url_and_then_the_base() {
    assert_eq!(
        urls("<a href=x><a href=../y><a href=/z><a href=?a><a href=//g/b>").concat(),
        "/dir/x/y/z/dir/page.html?ahttp://g/b"
    );
    assert_eq!(urls("<a href=x><base href=/other/><base href=/third/><a href=y>"), ["/other/x", "/other/y"]);
    // nothing is said of a template, a drawing and a formula
    for inert in ["template", "svg", "math", "TEMPLATE"] {
        let page = format!("<{inert}><base href=/no/></{inert}><a href=x>");
        assert_eq!(urls(&page), ["/dir/x"], "{inert}");
        let page = format!("<{inert}><p><{inert}></{inert}><base href=/no/></{inert}><base href=/b/><a href=x>");
        assert_eq!(urls(&page), ["/b/x"], "{inert}");
    }
    assert_eq!(urls("<svg/><base href=/b/><a href=x>"), ["/b/x"]);
    assert_eq!(urls("<template/><base href=/no/><a href=x>"), ["/dir/x"], "a slash closes no template");
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
fn scripts_that_hold_data_show_nothing_to_anybody() {
    let is_scripts = |html: &str| (scan(html).is_scripts, scan(html).shown.0 > 0);
    for code in ["<script>", "<script type>", "<script type=' Module '>", "<script src=a.js type=text/JavaScript>"] {
        assert_eq!(is_scripts(&format!("{code}x()</script><p>a")), (true, true), "{code}");
    }
    for data in ["application/ld+json", "application/json", "importmap", "text/template", "text/javascript1.9"] {
        assert_eq!(is_scripts(&format!("<script type='{data}'>{{}}</script><p>a")), (false, false), "{data}");
    }
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
    let mapped = b"f()\n//# sourceMappingURL=m.js.map";
    let found = with.document(Document::Script, mapped, None, &base(), &key_maker(), RobotsDirectives::default());
    assert_eq!(text(&found), "http://h.example/dir/m.js.map");
    let script = b"import './b.js'; load('a.js')";
    let read = |scan: &mut LinkScan| {
        text(&scan.document(Document::Script, script, None, &base(), &key_maker(), RobotsDirectives::default()))
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

#[test]
fn links_beside_the_content_come_behind_it_where_that_is_asked_for() {
    let html = "<header><a href=/logo></a></header><NAV><ul><a href=/a></a><a href=/both></a></ul></nav>\
                <a href=/before></a><main><a href=/both></a><article><a href=/c></a></article></main>\
                <aside><a href=/ad></a><nav><a href=/tags></a></nav><a href=/ad2></a></aside><a href=/after></a>\
                <footer><img src=/i.png><a href=/imprint></a>";
    let scan = |tells| {
        let links = scan_as(&mut LinkScan::new(100, true, 2048).with_asides(tells), html.as_bytes(), None);
        let of =
            |kind| links.entries.iter().filter(move |link| link.kind == kind).map(|link| link.url.path().to_owned());
        (of(LinkKind::Anchor).collect::<Vec<_>>(), of(LinkKind::Aside).collect::<Vec<_>>(), links.entries.len())
    };
    let (content, aside, all) = scan(true);
    assert_eq!(content, ["/before", "/both", "/c", "/after"]);
    assert_eq!(aside, ["/logo", "/a", "/ad", "/tags", "/ad2", "/imprint"]);
    assert_eq!((all, scan(false).1.len(), scan(false).2), (11, 0, 11));
    let open = "<nav><a href=/a></a><main><a href=/b></a></main><footer><a href=/c></a>";
    let links = scan_as(&mut LinkScan::new(100, true, 2048).with_asides(true), open.as_bytes(), None);
    assert_eq!(
        text(&links).replace("http://h.example", ""),
        "/b/a/c",
        "what is left open ends where the content begins"
    );
}

#[test]
fn what_a_template_or_a_drawing_says_of_robots_is_not_said_of_the_page() {
    for inert in ["template", "svg"] {
        let links = scan(&format!("<{inert}><meta name=robots content=nofollow></{inert}><a href=x>"));
        assert_eq!((links.nofollow_page, links.entries.len()), (false, 1), "{inert}");
    }
}

#[test]
fn a_letter_that_the_encoding_of_a_page_lacks_becomes_an_escaped_reference() {
    let links =
        |page: &str, charset: &str| scan_as(&mut LinkScan::new(100, true, 10_000), page.as_bytes(), Some(charset));
    for (charset, expected) in [
        ("text/html; charset=iso-8859-1", "/dir/x?a%E4%26%239731%3Bb%26%23128512%3B"),
        ("text/html; charset=windows-1251", "/dir/x?a%26%23228%3B%26%239731%3Bb%26%23128512%3B"),
        ("text/html; charset=utf-8", "/dir/x?a%C3%A4%E2%98%83b%F0%9F%98%80"),
    ] {
        let found = links("<a href='x?a&auml;&#9731;b&#128512;'>", charset);
        assert_eq!(found.entries[0].url.as_str().strip_prefix("http://h.example"), Some(expected), "{charset}");
    }
}
