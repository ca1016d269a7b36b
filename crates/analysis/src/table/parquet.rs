//! A table as a file of Apache Parquet.
//!
//! Rows are held by columns until they make a row group: [`GROUP_ROWS`] rows, or [`GROUP_BYTES`] bytes of values. A
//! column may lack a value unless it is required. A list is the standard's group of three levels (`list`, `element`),
//! so that readers see a list of strings.

use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type as Schema;

use super::{Column, Piece, Row, Sink, Type, Value};

/// Rows of a row group: as many as a thread of DuckDB reads at once.
const GROUP_ROWS: usize = 122_880;
/// Bytes of the values of a row group.
const GROUP_BYTES: usize = 64 << 20;

/// A file that is being written.
pub(super) struct File<'a> {
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    columns: Vec<Values>,
    rows: usize,
    bytes: usize,
}

/// Values of rows in a column. A definition level says whether there is a value, a repetition level whether it
/// continues the list before.
struct Values {
    column: Column,
    texts: Vec<ByteArray>,
    integers: Vec<i64>,
    numbers: Vec<f64>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<'a> File<'a> {
    /// Begins a file.
    pub(super) fn begin(out: &'a mut (dyn Write + Send), columns: &[Column]) -> io::Result<File<'a>> {
        let open = || {
            let fields = columns.iter().map(|column| schema(column).map(Arc::new)).collect::<Result<Vec<_>>>()?;
            let schema = Schema::group_type_builder("schema").with_fields(fields).build()?;
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by(concat!("crawler version ", env!("CARGO_PKG_VERSION")).to_owned());
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))
        };
        let writer = open().map_err(io_error)?;
        let columns = columns.iter().cloned().map(Values::new).collect();
        Ok(File { writer, columns, rows: 0, bytes: 0 })
    }

    fn push(&mut self, row: Row) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.bytes += column.push(value)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let empty = Values::new(column.column.clone());
            let values = mem::replace(column, empty);
            let mut writer = group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".into()))?;
            values.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Sink for File<'_> {
    fn write(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Rows(rows) => rows.into_iter().try_for_each(|row| self.push(row)).map_err(io_error),
            Piece::Lines(_) => unreachable!("a file of Parquet has no lines"),
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_group().and_then(|()| self.writer.close().map(|_| ())).map_err(io_error)
    }
}

impl Values {
    fn new(column: Column) -> Values {
        let (texts, integers, numbers, definitions, repetitions) = Default::default();
        Values { column, texts, integers, numbers, definitions, repetitions }
    }

    /// Adds what a row has, and returns how many bytes that takes.
    fn push(&mut self, value: Value) -> Result<usize> {
        let before = self.definitions.len();
        let mut bytes = 0;
        match value {
            Value::Null if self.column.is_required => return Err(self.misfit("nothing, where it has to have a value")),
            Value::Null => self.level(0, 0),
            Value::Integer(number) => self.integer(number)?,
            Value::Number(number) => {
                self.level(1, 0);
                self.numbers.push(number);
            }
            Value::Time(time) => self.integer(i64::try_from(time.ms()).unwrap_or(i64::MAX))?,
            Value::List(values) if values.is_empty() => self.level(1, 0),
            Value::List(values) => {
                for (number, value) in values.into_iter().enumerate() {
                    self.level(2, i16::from(number > 0));
                    bytes += value.len();
                    self.texts.push(value.into_bytes().into());
                }
            }
            value @ (Value::Text(_) | Value::Json(_)) => {
                self.level(1, 0);
                let text = value.to_text();
                bytes += text.len();
                self.texts.push(text.into_bytes().into());
            }
        }
        Ok(bytes + (self.definitions.len() - before) * size_of::<ByteArray>())
    }

    fn integer(&mut self, number: i64) -> Result<()> {
        let fits = match self.column.holds {
            Type::Short => i16::try_from(number).is_ok(),
            Type::Int => i32::try_from(number).is_ok(),
            _ => true,
        };
        if !fits {
            return Err(self.misfit(&format!("{number}, which is too large for it")));
        }
        self.level(1, 0);
        self.integers.push(number);
        Ok(())
    }

    /// Says that a row has something that the column cannot have.
    fn misfit(&self, what: &str) -> ParquetError {
        ParquetError::General(format!("the column {} has {what}", self.column.name))
    }

    fn level(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        if self.column.holds == Type::List {
            self.repetitions.push(repetition);
        }
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self.column.holds {
            Type::Integer | Type::Time => self.put::<Int64Type>(&self.integers, writer),
            Type::Number => self.put::<DoubleType>(&self.numbers, writer),
            Type::Int | Type::Short => {
                // those that do not fit were refused
                let integers: Vec<i32> = self.integers.iter().map(|&number| number as i32).collect();
                self.put::<Int32Type>(&integers, writer)
            }
            Type::Text | Type::List | Type::Json => self.put::<ByteArrayType>(&self.texts, writer),
        }
    }

    fn put<T: DataType>(&self, values: &[T::T], writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let repetitions = (self.column.holds == Type::List).then_some(self.repetitions.as_slice());
        let definitions = (!self.column.is_required).then_some(self.definitions.as_slice());
        writer.typed::<T>().write_batch(values, definitions, repetitions).map(|_| ())
    }
}

/// Returns the column's type in the file.
fn schema(column: &Column) -> Result<Schema> {
    let text = |name: &str, logical: LogicalType, repetition| {
        let text = Schema::primitive_type_builder(name, Physical::BYTE_ARRAY);
        text.with_logical_type(Some(logical)).with_repetition(repetition).build()
    };
    let repetition = if column.is_required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let integer = |physical, logical| {
        let integer = Schema::primitive_type_builder(&column.name, physical);
        integer.with_logical_type(Some(logical)).with_repetition(repetition).build()
    };
    match column.holds {
        Type::Text => text(&column.name, LogicalType::String, repetition),
        Type::Json => text(&column.name, LogicalType::Json, repetition),
        Type::Integer => integer(Physical::INT64, LogicalType::integer(64, true)),
        Type::Number => {
            Schema::primitive_type_builder(&column.name, Physical::DOUBLE).with_repetition(repetition).build()
        }
        Type::Int => integer(Physical::INT32, LogicalType::integer(32, true)),
        Type::Short => integer(Physical::INT32, LogicalType::integer(16, true)),
        Type::Time => integer(Physical::INT64, LogicalType::timestamp(true, TimeUnit::MILLIS)),
        Type::List => {
            let element = text("element", LogicalType::String, Repetition::REQUIRED)?;
            let list = Schema::group_type_builder("list").with_repetition(Repetition::REPEATED);
            let list = list.with_fields(vec![Arc::new(element)]).build()?;
            let column = Schema::group_type_builder(&column.name).with_repetition(Repetition::OPTIONAL);
            let column = column.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST);
            column.with_fields(vec![Arc::new(list)]).build()
        }
    }
}

/// An error of the output is reported as such.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
