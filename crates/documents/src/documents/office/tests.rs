//! Documents of each format, and hostile ones, as small ZIP files.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::*;
use crate::documents::PAGE_BYTES_MAX;

const WORD_NAMESPACES: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";

/// A ZIP file of files with a name and a text each.
fn zip(files: &[[&str; 2]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ZipArchiveWriter::new(&mut bytes);
    for [name, text] in files {
        let (mut entry, config) = writer.new_file(name).compression_method(CompressionMethod::DEFLATE).start().unwrap();
        let mut content = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        content.write_all(text.as_bytes()).unwrap();
        let (encoder, descriptor) = content.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn stated_of(bytes: &[u8]) -> Result<Stated, ConversionFailure> {
    Office.read(bytes, &mut Page::new(PAGE_BYTES_MAX))
}

/// The body of the page that a document becomes.
fn body(bytes: &[u8]) -> Result<String, ConversionFailure> {
    let mut page = Page::new(PAGE_BYTES_MAX);
    Office.read(bytes, &mut page)?;
    let html = page.finish(&Stated::default());
    let body = html.split("<body>\n").nth(1).unwrap();
    Ok(body.split("\n</body>").next().unwrap().to_owned())
}

/// The relations of a part: identifier, end of type, target.
fn relations(all: &[[&str; 3]]) -> String {
    let one = |[id, kind, target]: &[&str; 3]| {
        let mode = if target.contains(':') { " TargetMode=\"External\"" } else { "" };
        format!("<Relationship Id=\"{id}\" Type=\"http://example.org/{kind}\" Target=\"{target}\"{mode}/>")
    };
    format!("<Relationships>{}</Relationships>", all.iter().map(one).collect::<String>())
}

fn open_xml(main: &str, files: &[[&str; 2]]) -> Vec<u8> {
    let root = relations(&[
        ["rId1", "officeDocument", main],
        ["rId2", "core-properties", "docProps/core.xml"],
        ["rId3", "extended-properties", "docProps/app.xml"],
    ]);
    let mut all = vec![["[Content_Types].xml", "<Types/>"], ["_rels/.rels", &root]];
    all.extend_from_slice(files);
    zip(&all)
}

fn word(body: &str, files: &[[&str; 2]]) -> Vec<u8> {
    let document = format!("<?xml version=\"1.0\"?><w:document {WORD_NAMESPACES}><w:body>{body}</w:body></w:document>");
    let mut all = vec![["word/document.xml", document.as_str()]];
    all.extend_from_slice(files);
    open_xml("word/document.xml", &all)
}

fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

#[test]
fn a_text_of_open_xml_has_headings_lists_tables_links_and_notes() {
    let item = |level: u8, text: &str| {
        paragraph(&format!("<w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"1\"/></w:numPr>"), text)
    };
    let written = [
        paragraph("<w:pStyle w:val=\"My\"/>", "A &amp; B"),
        item(0, "one"),
        item(1, "deep"),
        item(0, "two"),
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>".to_owned(),
        "<w:p><w:hyperlink r:id=\"rId9\" w:anchor=\"top\"><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:br/>\
            <w:fldChar w:fldCharType=\"begin\"/><w:instrText> HYPERLINK \"https://b.example/\" </w:instrText>\
            <w:fldChar w:fldCharType=\"separate\"/><w:t>field</w:t><w:fldChar w:fldCharType=\"end\"/></w:r>\
            <w:hyperlink w:anchor=\"top\"><w:r><w:t>inside</w:t></w:r></w:hyperlink></w:p>"
            .to_owned(),
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>\
            <w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:drawing><wp:docPr descr=\"a cat\"/>\
            </w:drawing></w:r></w:p>"
            .to_owned(),
    ];
    let styles = "<styles><style styleId=\"H\"><name val=\"heading 2\"/></style>\
        <style styleId=\"My\"><name val=\"My\"/><basedOn val=\"H\"/></style></styles>";
    let numbering = "<numbering><abstractNum abstractNumId=\"5\"><lvl ilvl=\"0\"><numFmt val=\"decimal\"/></lvl>\
        <lvl ilvl=\"1\"><numFmt val=\"bullet\"/></lvl></abstractNum><num numId=\"1\"><abstractNumId val=\"5\"/></num>\
        </numbering>";
    let of_part = relations(&[
        ["rId1", "styles", "styles.xml"],
        ["rId2", "numbering", "/word/numbering.xml"],
        ["rId3", "footnotes", "footnotes.xml"],
        ["rId4", "header", "header1.xml"],
        ["rId5", "header", "header2.xml"],
        ["rId9", "hyperlink", "https://a.example/"],
    ]);
    let header = "<w:hdr><w:p><w:r><w:t>top of page</w:t></w:r></w:p></w:hdr>";
    let core = "<cp:coreProperties><dc:title>T</dc:title><dc:creator>A</dc:creator><dc:subject>S</dc:subject>\
        <dcterms:created>2024-02-29T01:02:03Z</dcterms:created><dcterms:modified>soon</dcterms:modified>\
        <cp:keywords>a, b</cp:keywords><dc:language>de</dc:language></cp:coreProperties>";
    let bytes = word(
        &written.concat(),
        &[
            ["word/_rels/document.xml.rels", &of_part],
            ["word/styles.xml", styles],
            ["word/numbering.xml", numbering],
            ["word/footnotes.xml", "<w:footnotes><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnotes>"],
            ["word/header1.xml", header],
            ["word/header2.xml", header],
            ["docProps/core.xml", core],
            ["docProps/app.xml", "<Properties><Application>Program</Application></Properties>"],
        ],
    );
    let expected = "<header><p>top of page</p></header><h2>A &amp; B</h2><ol><li>one<ul><li>deep</li></ul></li>\
        <li>two</li></ol><table><tr><td><p>cell</p></td></tr></table><p><a href=\"https://a.example/#top\">link</a><br>\
        <a href=\"https://b.example/\">field</a>inside</p><p>new<img alt=\"a cat\"></p><section><p>a note</p>\
        </section>";
    assert_eq!(body(&bytes).unwrap(), expected);
    let stated = stated_of(&bytes).unwrap();
    let whole = Stated {
        title: "T".into(),
        author: "A".into(),
        description: "S".into(),
        keywords: "a, b".into(),
        language: "de".into(),
        generator: "Program".into(),
        published: "2024-02-29T01:02:03Z".into(),
        modified: String::new(),
    };
    assert_eq!(stated, whole);
}

#[test]
fn a_spreadsheet_of_open_xml_is_a_table_of_what_people_see() {
    let workbook = "<workbook><workbookPr/><sheets><sheet name=\"First &lt;\" r:id=\"rId1\"/>\
        <sheet name=\"Secret\" state=\"hidden\" r:id=\"rId1\"/></sheets></workbook>";
    let of_book = relations(&[
        ["rId1", "worksheet", "worksheets/sheet1.xml"],
        ["rId2", "sharedStrings", "sharedStrings.xml"],
        ["rId3", "styles", "styles.xml"],
    ]);
    let sheet = "<worksheet><sheetData><row r=\"1\"><c r=\"B1\" t=\"s\"><v>0</v></c><c r=\"D1\" t=\"inlineStr\"><is>\
        <t>in</t><t>line</t></is></c></row><row r=\"2\"/><row r=\"7\"><c r=\"B7\" s=\"1\"><v>45351</v></c>\
        <c r=\"D7\" t=\"b\"><v>1</v></c><c r=\"E7\" t=\"str\"><f>HYPERLINK(\"https://f.example/\",\"f\")</f><v>f</v>\
        </c>\
        </row></sheetData><hyperlinks><hyperlink ref=\"B1\" r:id=\"rId1\"/></hyperlinks></worksheet>";
    let of_sheet = relations(&[["rId1", "hyperlink", "https://a.example/"], ["rId2", "comments", "../comments1.xml"]]);
    let styles = "<styleSheet><numFmts><numFmt numFmtId=\"170\" formatCode=\"yyyy-mm-dd\"/></numFmts><cellStyleXfs>\
        <xf numFmtId=\"9\"/></cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"170\"/></cellXfs></styleSheet>";
    let strings = "<sst><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>said</t></rPh></si></sst>";
    let bytes = open_xml(
        "xl/workbook.xml",
        &[
            ["xl/workbook.xml", workbook],
            ["xl/_rels/workbook.xml.rels", &of_book],
            ["xl/worksheets/sheet1.xml", sheet],
            ["xl/worksheets/_rels/sheet1.xml.rels", &of_sheet],
            ["xl/styles.xml", styles],
            ["xl/sharedStrings.xml", strings],
            ["xl/comments1.xml", "<comments><comment ref=\"B1\"><text><t>said of it</t></text></comment></comments>"],
        ],
    );
    let expected = "<h2>First &lt;</h2><table><tr><td><a href=\"https://a.example/\">rich text</a></td><td>inline</td>\
        </tr><tr><td>2024-02-29</td><td>TRUE</td><td><a href=\"https://f.example/\">f</a></td></tr></table>\
        <p>said of it</p>";
    assert_eq!(body(&bytes).unwrap(), expected);
}

#[test]
fn slides_of_open_xml_are_sections_with_titles_and_notes() {
    let slide = "<p:sld><p:sp><p:nvSpPr><p:cNvPr descr=\"no picture\"/><p:nvPr><p:ph type=\"title\"/></p:nvPr>\
        </p:nvSpPr>\
        <p:txBody><a:p><a:r><a:t>Title</a:t></a:r></a:p></p:txBody></p:sp>\
        <p:sp><p:nvPr><p:ph idx=\"1\"/></p:nvPr><p:txBody><a:p><a:r><a:t>one</a:t></a:r></a:p><a:p><a:pPr lvl=\"1\"/>\
        <a:r><a:rPr><a:hlinkClick r:id=\"rId2\"/></a:rPr><a:t>two</a:t></a:r></a:p></p:txBody></p:sp>\
        <p:sp><p:nvPr><p:ph type=\"sldNum\"/></p:nvPr><p:txBody><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:txBody>\
        </p:sp>\
        <p:pic><p:cNvPr descr=\"a dog\"/></p:pic>\
        <p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>cell</a:t></a:r></a:p></a:tc><a:tc hMerge=\"1\"/></a:tr>\
        </a:tbl>\
        </p:graphicFrame></p:sld>";
    let notes = "<p:notes><p:sp><p:nvPr><p:ph type=\"body\"/></p:nvPr><a:p><a:r><a:t>say this</a:t></a:r></a:p></p:sp>\
        </p:notes>";
    let presentation = "<p:presentation><p:sldIdLst><p:sldId id=\"256\" r:id=\"rId2\"/>\
        <p:sldId id=\"257\" r:id=\"rId3\"/>\
        </p:sldIdLst></p:presentation>";
    let of_all = relations(&[["rId2", "slide", "slides/slide1.xml"], ["rId3", "slide", "slides/slide2.xml"]]);
    let of_slide = relations(&[["rId1", "notesSlide", "../notes.xml"], ["rId2", "hyperlink", "https://a.example/"]]);
    let bytes = open_xml(
        "ppt/presentation.xml",
        &[
            ["ppt/presentation.xml", presentation],
            ["ppt/_rels/presentation.xml.rels", &of_all],
            ["ppt/slides/slide1.xml", slide],
            ["ppt/slides/_rels/slide1.xml.rels", &of_slide],
            ["ppt/slides/slide2.xml", "<p:sld show=\"0\"><a:p><a:r><a:t>not shown</a:t></a:r></a:p></p:sld>"],
            ["ppt/notes.xml", notes],
        ],
    );
    let expected = "<section><h2>Title</h2><ul><li>one<ul><li><a href=\"https://a.example/\">two</a></li></ul></li>\
        </ul>\
        <p><img alt=\"a dog\"></p><table><tr><td><p>cell</p></td></tr></table><aside><p>say this</p></aside></section>\
        <section></section>";
    assert_eq!(body(&bytes).unwrap(), expected);
}

fn open_document(content: &str, files: &[[&str; 2]]) -> Vec<u8> {
    let content = format!("<office:document-content><office:body>{content}</office:body></office:document-content>");
    let mut all = vec![["mimetype", "application/vnd.oasis.opendocument.text"], ["content.xml", &content]];
    all.extend_from_slice(files);
    zip(&all)
}

#[test]
fn a_text_of_open_document_has_headings_lists_tables_links_and_notes() {
    let content = "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>\
        <text:h text:outline-level=\"2\">Head</text:h><text:list text:style-name=\"L\"><text:list-item><text:p>\
        one</text:p>\
        <text:p>more</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>\
        </text:list-item>\
        </text:list><table:table><table:table-row><table:table-cell><text:p>cell</text:p></table:table-cell>\
        <table:covered-table-cell/></table:table-row></table:table><text:p>a<text:s text:c=\"3\"/><text:a xlink:href=\
        \"../b.html\">link</text:a><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note\
        </text:p></text:note-body></text:note><draw:frame><draw:image/><svg:title>t</svg:title><svg:desc>\
        a cat</svg:desc>\
        </draw:frame> end</text:p></office:text>";
    let styles = "<s><text:list-style style:name=\"L\"><text:list-level-style-number text:level=\"1\"/>\
        </text:list-style>\
        <style:master-page><style:footer><text:p>foot</text:p></style:footer></style:master-page></s>";
    let meta = "<office:document-meta><office:meta><meta:initial-creator>A</meta:initial-creator><dc:creator>\
        E</dc:creator>\
        <dc:date>2024-01-02T00:00:00</dc:date><meta:creation-date>2023-01-02</meta:creation-date>\
        <meta:keyword>k</meta:keyword><meta:keyword>l</meta:keyword><meta:generator>G</meta:generator>\
        </office:meta></office:document-meta>";
    let bytes = open_document(content, &[["styles.xml", styles], ["meta.xml", meta]]);
    let expected = "<h2>Head</h2><ol><li>one<p>more</p><ul><li>deep</li></ul></li></ol><table><tr><td><p>cell</p></td>\
        </tr></table><p>a <a href=\"b.html\">link</a><img alt=\"a cat\"> end</p><section><div><p>a note</p></div>\
        </section>\
        <footer><p>foot</p></footer>";
    assert_eq!(body(&bytes).unwrap(), expected);
    let stated = stated_of(&bytes).unwrap();
    assert_eq!([stated.author, stated.keywords, stated.generator], ["A", "k, l", "G"]);
    assert_eq!([stated.published, stated.modified], ["2023-01-02", "2024-01-02T00:00:00"]);
}

#[test]
fn a_spreadsheet_of_open_document_is_a_table() {
    let content = "<office:spreadsheet><table:table table:name=\"S\"><table:table-row table:number-rows-repeated=\"9\">\
        <table:table-cell table:number-columns-repeated=\"1048576\"/></table:table-row><table:table-row>\
        <table:table-cell table:formula=\"of:=HYPERLINK(&quot;https://f.example/&quot;;1)\"><text:p>f</text:p>\
        </table:table-cell><table:table-cell office:value-type=\"date\" office:date-value=\"2024-02-29\"><text:p>29.2.\
        </text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"2\"><text:p>x<text:a \
        xlink:href=\"https://a.example/\">y</text:a></text:p></table:table-cell></table:table-row></table:table>\
        </office:spreadsheet>";
    let cell = "<td>x<a href=\"https://a.example/\">y</a></td>";
    let expected = format!(
        "<h2>S</h2><table><tr><td><a href=\"https://f.example/\">f</a></td><td>2024-02-29</td>{cell}{cell}</tr></table>"
    );
    assert_eq!(body(&open_document(content, &[])).unwrap(), expected);
}

#[test]
fn slides_of_open_document_are_sections() {
    let content = "<office:presentation><draw:page><draw:frame presentation:class=\"title\"><draw:text-box><text:p>\
        T</text:p>\
        </draw:text-box></draw:frame><draw:custom-shape><text:p>in a shape</text:p></draw:custom-shape>\
        <presentation:notes><draw:frame presentation:class=\"notes\"><draw:text-box><text:p>say</text:p>\
        </draw:text-box>\
        </draw:frame></presentation:notes></draw:page></office:presentation>";
    let expected = "<section><h2>T</h2><p>in a shape</p><aside><p>say</p></aside></section>";
    assert_eq!(body(&open_document(content, &[])).unwrap(), expected);
}

fn book(encryption: &str, chapter: &str) -> Vec<u8> {
    let package = "<package><metadata><dc:title>Book</dc:title><dc:creator>A</dc:creator><dc:language>fr</dc:language>\
        <dc:date>2020</dc:date><meta property=\"dcterms:modified\">2021-01-01T00:00:00Z</meta></metadata><manifest>\
        <item id=\"b\" href=\"b%20c.xhtml\"/><item id=\"a\" href=\"a.xhtml\"/></manifest><spine><itemref idref=\"a\"/>\
        <itemref idref=\"b\"/></spine></package>";
    zip(&[
        ["mimetype", "application/epub+zip"],
        ["META-INF/container.xml", "<c><rootfiles><rootfile full-path=\"O/p.opf\"/></rootfiles></c>"],
        ["META-INF/encryption.xml", encryption],
        ["O/p.opf", package],
        ["O/a.xhtml", chapter],
        ["O/b c.xhtml", "<html><body><p>last</p></body></html>"],
    ])
}

#[test]
fn a_book_is_its_chapters_in_order() {
    let chapter = "<!DOCTYPE html><html><head><title>no</title></head><body><h1>One&nbsp;&eacute;</h1><p>a<br>\
        b<script>no\
        </script><a href=\"b.xhtml\">inside</a> <em><a href=\"https://a.example/\">out</a></em></p><img alt=\"cat\">\
        <ul><li>x<li>y</ul></body></html>";
    let bytes = book("", chapter);
    let expected = "<section><h1>One\u{a0}é</h1><p>a<br>binside <a href=\"https://a.example/\">out</a></p>\
        <img alt=\"cat\"><ul><li>x<li>y</li></li></ul></section><section><p>last</p></section>";
    assert_eq!(body(&bytes).unwrap(), expected);
    let stated = stated_of(&bytes).unwrap();
    assert_eq!([stated.title, stated.language, stated.published], ["Book", "fr", "2020"]);
    assert_eq!(stated.modified, "2021-01-01T00:00:00Z");
}

#[test]
fn encrypted_documents_say_so() {
    let encrypted = Err(ConversionFailure::Encrypted);
    assert_eq!(body(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest"), encrypted);
    let manifest = "<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>";
    assert_eq!(body(&open_document("", &[["META-INF/manifest.xml", manifest]])), encrypted);
    let of = |name: &str| format!("<e><enc:CipherReference URI=\"{name}\"/></e>");
    assert_eq!(body(&book(&of("O/b%20c.xhtml"), "<p>a</p>")), encrypted);
    assert!(body(&book(&of("O/font.otf"), "<p>a</p>")).is_ok());
}

#[test]
fn what_is_no_document_is_refused() {
    assert_eq!(body(b"no ZIP"), Err(ConversionFailure::Damaged));
    assert_eq!(body(&zip(&[["photo.jpg", "x"]])), Err(ConversionFailure::Unsupported));
    assert_eq!(
        body(&open_xml("visio/document.xml", &[["visio/document.xml", "<VisioDocument/>"]])),
        Err(ConversionFailure::Unsupported)
    );
    assert_eq!(body(&open_document("<office:chart/>", &[])), Err(ConversionFailure::Unsupported));
    let whole = word("<w:p><w:r><w:t>text</w:t></w:r></w:p>", &[]);
    assert_eq!(body(&whole[..whole.len() / 2]), Err(ConversionFailure::Damaged));
}

#[test]
fn broken_xml_keeps_what_came_before() {
    let broken = |text: &str| open_xml("word/document.xml", &[["word/document.xml", text]]);
    let start = "<w:document><w:p><w:r><w:t>before</w:t></w:r></w:p><w:p><w:r";
    assert_eq!(body(&broken(start)).unwrap(), "<p>before</p>");
    assert_eq!(body(&broken("<w:document><w:p><w:r")), Err(ConversionFailure::Damaged));
    assert_eq!(body(&broken("")), Err(ConversionFailure::Damaged));
}

#[test]
fn a_bomb_is_too_large() {
    let large = " ".repeat(65 << 20);
    assert_eq!(body(&word(&large, &[])), Err(ConversionFailure::TooLarge));
    let half = " ".repeat(33 << 20);
    let of_part = relations(&[["rId1", "styles", "styles.xml"]]);
    let both = word(&half, &[["word/_rels/document.xml.rels", &of_part], ["word/styles.xml", &half]]);
    assert_eq!(body(&both), Err(ConversionFailure::TooLarge));
    let names: Vec<String> = (0..10_001).map(|number| number.to_string()).collect();
    let many: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), ""]).collect();
    assert_eq!(body(&zip(&many)), Err(ConversionFailure::TooLarge));
}

#[test]
fn depth_and_repetition_are_bounded() {
    let deep = "<w:tbl><w:tr><w:tc>".repeat(300_000);
    assert_eq!(body(&word(&deep, &[])), Err(ConversionFailure::Damaged));
    let deep = format!("{}<text:p>here</text:p>", "<text:list><text:list-item>".repeat(400));
    let html = body(&open_document(&format!("<office:text>{deep}"), &[])).unwrap();
    assert!(html.contains("here") && html.len() < 4_000, "{html}");
    let cell = "<table:table-cell table:number-columns-repeated=\"1048576\"><text:p>text of a cell</text:p>\
        </table:table-cell>";
    let rows = format!("<table:table-row table:number-rows-repeated=\"1048576\">{cell}</table:table-row>").repeat(100);
    let sheet = format!("<office:spreadsheet><table:table>{rows}</table:table></office:spreadsheet>");
    assert!(body(&open_document(&sheet, &[])).unwrap().len() < 3 * PAGE_BYTES_MAX);
    let unclosed = format!("{}{}", "<x></y>".repeat(200_000), "</p>".repeat(200_000));
    assert!(body(&book("", &unclosed)).is_ok());
}

#[test]
fn entities_of_a_document_are_not_expanded() {
    let text = "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b SYSTEM \"file:///etc/passwd\">]><w:document><w:p><w:r>\
        <w:t>x&a;&b;&#65;</w:t></w:r></w:p></w:document>";
    let bytes = open_xml("word/document.xml", &[["word/document.xml", text]]);
    assert_eq!(body(&bytes).unwrap(), "<p>x&amp;a;&amp;b;A</p>");
}
