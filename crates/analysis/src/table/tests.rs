//! Tests of [`super`].

use serde_json::json;

use super::*;

/// A column of each type, and rows of which one has nothing.
fn table(format: Format) -> (Table, Vec<Row>) {
    let holds = [
        ("url", Type::Text),
        ("a \"b\"", Type::Text),
        ("n", Type::Integer),
        ("t", Type::Time),
        ("l", Type::List),
        ("j", Type::Json),
    ];
    let columns = holds.map(|(name, holds)| Column::new(name, holds)).to_vec();
    let text = |text: &str| Value::Text(text.to_owned());
    let full = vec![
        text("https://a.example/?a,b"),
        text("=1+1\r\n\"x\"\ty\x1b[2J"),
        Value::Integer(-5),
        Value::Time(Time::from_ms(1_795_000_000_123)),
        Value::List(vec!["=x".to_owned(), String::new()]),
        Value::Json(json!({"k": [1, null]})),
    ];
    let none = std::iter::once(text("u")).chain(vec![Value::Null; 5]).collect();
    let list = vec![text("v"), text(""), Value::Integer(0), Value::Null, Value::List(vec![]), Value::Json(json!([]))];
    (Table::new(format, "pages", columns).unwrap(), vec![full, none, list])
}

fn written(format: Format) -> String {
    let (table, rows) = table(format);
    let mut out = Vec::new();
    let mut sink = table.sink(&mut out, None).unwrap();
    sink.write(table.piece(rows)).unwrap();
    sink.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_have_each_type_and_no_text_forges_a_line_a_column_or_a_formula() {
    let expected = "url\ta \"b\"\tn\tt\tl\tj\n\
        https://a.example/?a,b\t'=1+1\\r\\n\"x\"\\ty\\x1b[2J\t-5\t2026-11-18T11:06:40.123Z\t[\"=x\",\"\"]\t\
        {\"k\":[1,null]}\nu\t\t\t\t\t\nv\t\t0\t\t[]\t[]\n";
    assert_eq!(written(Format::Tsv), expected);
    let expected = "url,\"a \"\"b\"\"\",n,t,l,j\r\n\"https://a.example/?a,b\",\"'=1+1\n\"\"x\"\"\ty\\x1b[2J\",-5,\
        2026-11-18T11:06:40.123Z,\"[\"\"=x\"\",\"\"\"\"]\",\"{\"\"k\"\":[1,null]}\"\r\nu,,,,,\r\nv,,0,,[],[]\r\n";
    assert_eq!(written(Format::Csv), expected);
    let lines = written(Format::JsonLines);
    let first = lines.lines().next().unwrap();
    let expected = "{\"url\":\"https://a.example/?a,b\",\"a \\\"b\\\"\":\"=1+1\\r\\n\\\"x\\\"\\ty\\u001b[2J\",\"n\":-5,\
        \"t\":\"2026-11-18T11:06:40.123Z\",\"l\":[\"=x\",\"\"],\"j\":{\"k\":[1,null]}}";
    assert_eq!((first, lines.lines().count()), (expected, 3));
}

#[test]
fn a_format_is_told_by_its_name_and_by_that_of_a_file() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.name()), Some(*format));
        assert_eq!(Format::of(Path::new(&format!("x/y.{}", format.name().to_uppercase()))), Some(*format));
    }
    assert_eq!(Format::of(Path::new("a.ndjson")), Some(Format::JsonLines));
    assert_eq!(
        (Format::of(Path::new("csv")), Format::of(Path::new("a.txt")), Format::parse("xls")),
        (None, None, None)
    );
}

#[test]
fn two_columns_never_have_one_name() {
    let columns = ["url", "URL"].map(|name| Column::new(name, Type::Text)).to_vec();
    assert!(Table::new(Format::Tsv, "pages", columns).unwrap_err().contains("\"URL\""));
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_has_each_type() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sqlite");
    let (table, rows) = table(Format::Sqlite);
    let mut unused = io::sink();
    let mut sink = table.sink(&mut unused, Some(&path)).unwrap();
    sink.write(table.piece(rows)).unwrap();
    sink.finish().unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    let mut all = database.prepare("SELECT * FROM pages").unwrap();
    let cell =
        |row: &rusqlite::Row<'_>, column| format!("{:?}", row.get_unwrap::<usize, rusqlite::types::Value>(column));
    let rows = all.query_map([], |row| Ok((0..6).map(|column| cell(row, column)).collect::<Vec<_>>())).unwrap();
    let rows: Vec<_> = rows.map(Result::unwrap).collect();
    assert_eq!(rows[0][1], format!("Text({:?})", "=1+1\r\n\"x\"\ty\x1b[2J"));
    assert_eq!(&rows[0][2..4], ["Integer(-5)", "Text(\"2026-11-18T11:06:40.123Z\")"]);
    assert_eq!(rows[0][4..], ["Text(\"[\\\"=x\\\",\\\"\\\"]\")", "Text(\"{\\\"k\\\":[1,null]}\")"]);
    assert_eq!(rows[1][1..], ["Null"; 5]);
    let names: Vec<_> = all.column_names().map(str::to_owned).collect();
    assert_eq!(names, ["url", "a \"b\"", "n", "t", "l", "j"]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_file_of_parquet_has_each_type_and_goes_on_over_row_groups() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    let (table, rows) = table(Format::Parquet);
    let mut out = Vec::new();
    let mut sink = table.sink(&mut out, None).unwrap();
    sink.write(table.piece(rows)).unwrap();
    let long = || {
        vec![vec![
            Value::Text("x".repeat(40 << 20)),
            Value::Null,
            Value::Integer(7),
            Value::Null,
            Value::Null,
            Value::Null,
        ]]
    };
    (0..3).for_each(|_| sink.write(table.piece(long())).unwrap());
    sink.finish().unwrap();
    let file = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
    assert_eq!((file.num_row_groups(), file.metadata().file_metadata().num_rows()), (2, 6));
    let rows: Vec<String> = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    let expected = "{url: \"https://a.example/?a,b\", a \"b\": \"=1+1\r\n\"x\"\ty\x1b[2J\", n: -5, \
        t: 2026-11-18 11:06:40.123 +00:00, l: [\"=x\", \"\"], j: \"{\"k\":[1,null]}\"}";
    assert_eq!(rows[0], expected);
    assert_eq!(rows[1], "{url: \"u\", a \"b\": null, n: null, t: null, l: null, j: null}");
    assert_eq!(rows[2], "{url: \"v\", a \"b\": \"\", n: 0, t: null, l: [], j: \"[]\"}");
    assert!(rows[5].ends_with("n: 7, t: null, l: null, j: null}"));
}

#[cfg(feature = "parquet")]
#[test]
fn a_file_of_parquet_has_narrow_numbers_and_required_columns_and_refuses_what_does_not_fit() {
    use ::parquet::basic::Repetition;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    let columns = vec![Column::new("status", Type::Short).required(), Column::new("port", Type::Int)];
    let table = Table::new(Format::Parquet, "pages", columns).unwrap();
    let write = |rows: Vec<Row>| {
        let mut out = Vec::new();
        let mut sink = table.sink(&mut out, None)?;
        sink.write(table.piece(rows))?;
        sink.finish()?;
        Ok::<_, io::Error>(SerializedFileReader::new(bytes::Bytes::from(out)).unwrap())
    };
    let file = write(vec![vec![Value::Integer(200), Value::Integer(70_000)], vec![Value::Integer(404), Value::Null]]);
    let file = file.unwrap();
    let rows: Vec<String> = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows, ["{status: 200, port: 70000}", "{status: 404, port: null}"]);
    let schema = file.metadata().file_metadata().schema_descr();
    let repetitions: Vec<_> =
        (0..2).map(|column| schema.column(column).self_type().get_basic_info().repetition()).collect();
    assert_eq!(repetitions, [Repetition::REQUIRED, Repetition::OPTIONAL]);
    for row in [
        vec![Value::Null, Value::Null],
        vec![Value::Integer(40_000), Value::Null],
        vec![Value::Integer(1), Value::Integer(1 << 40)],
    ] {
        assert!(write(vec![row]).is_err());
    }
}
