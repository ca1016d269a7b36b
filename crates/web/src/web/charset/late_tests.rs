//! The late `<meta>` is the one at which html5ever's tree builder says that the encoding is another one.

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

use super::*;

/// Returns what the tree builder says: the first label that means an encoding. It stops at a `charset` that means none,
/// where the standard goes on with the `content` of the same element: no page here has both.
fn built(page: &str) -> Option<&'static Encoding> {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), options);
    let tokenizer = Tokenizer::new(builder, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(page));
    loop {
        match tokenizer.feed(&input) {
            TokenizerResult::Done => return None,
            TokenizerResult::Script(_) => {}
            TokenizerResult::EncodingIndicator(label) => {
                if let Some(encoding) = Encoding::for_label(label.as_bytes()).and_then(readable) {
                    return Some(encoding);
                }
            }
        }
    }
}

#[test]
fn n19_a_late_meta_is_found_where_a_tree_builder_finds_it() {
    let pieces = [
        "<meta charset=koi8-r>",
        "<META CHARSET='gbk'/>",
        "<meta charset=bogus>",
        "<meta http-equiv=content-type content='text/html; charset=shift_jis'>",
        "<meta content=\"x;charset = 'big5'\" http-equiv='CONTENT-TYPE'>",
        "<meta http-equiv=content-type content='charset charset=\"euc-kr'>",
        "<meta name=x content='charset=gbk'>",
        "<meta charset=koi8&#45;u>",
        "<meta charset=utf-16>",
        "<meta charset=gbk ",
        "<title>",
        "</title>",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<!--",
        "-->",
        "<!",
        ">",
        "<p title='",
        "'>",
        "<table><tr>",
        "</head>",
        "<body>",
        "</html>",
        "text",
    ];
    let mut found = 0;
    for seed in 0..4_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let page: String = (0..random.usize(..9)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let late = late_meta(page.as_bytes());
        assert_eq!(late, built(&page), "seed {seed}: {page}");
        found += usize::from(late.is_some());
    }
    assert!(found > 400, "{found} of them declare an encoding");
}
