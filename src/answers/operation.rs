//! A question as a line of the table.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answers, Problem};

/// A question that can be asked.
pub(crate) struct Operation {
    /// Its name: the last part of its path, and the name of its tool.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its use, for people and models.
    pub about: &'static str,
    /// True if language models may ask it.
    pub is_tool: bool,
    /// The schema of its parameters, with all that it refers to.
    pub(super) parameters: Value,
    /// Makes the schema of its answer.
    pub(super) answer: fn(&mut SchemaGenerator) -> Schema,
    /// Asks it with parameters, which are a JSON object.
    pub(super) ask: fn(&dyn Answers, Value) -> Result<Value, Problem>,
}

impl Operation {
    /// Asks it with parameters, which have to be within the bounds of their schema.
    pub(crate) fn asked(&self, archive: &dyn Answers, parameters: Value) -> Result<Value, Problem> {
        let properties = &self.parameters["properties"];
        for (name, value) in parameters.as_object().into_iter().flatten() {
            let bound = |which: &str| properties[name][which].as_u64();
            let Some(number) = value.as_u64() else { continue };
            let (least, most) = (bound("minimum").unwrap_or(0), bound("maximum").unwrap_or(u64::MAX));
            if !(least..=most).contains(&number) {
                return Err(Problem::Question(format!("{name}: write a number from {least} to {most}")));
            }
        }
        (self.ask)(archive, parameters)
    }
}

/// The schema of parameters of this type.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = settings(|settings| settings.inline_subschemas = true).subschema_for::<T>();
    RecursiveTransform(in_one_line).transform(&mut schema);
    schema.to_value()
}

/// Makes schemas whose descriptions are lines.
pub(super) fn settings(change: impl FnOnce(&mut SchemaSettings)) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(in_one_line));
    settings.with(|settings| settings.meta_schema = None).with(change).into_generator()
}

/// Takes the line ends out of a description, which are those of the source.
fn in_one_line(schema: &mut Schema) {
    if let Some(Value::String(about)) = schema.get_mut("description") {
        *about = about.replace('\n', " ");
    }
}

/// Reads the parameters, asks, and writes the answer as JSON.
pub(super) fn answered<Q: DeserializeOwned, A: Serialize>(
    parameters: Value,
    ask: impl FnOnce(Q) -> Result<A, Problem>,
) -> Result<Value, Problem> {
    let question = serde_json::from_value(parameters).map_err(|error| Problem::Question(error.to_string()))?;
    serde_json::to_value(ask(question)?).map_err(|error| Problem::Fault(error.to_string()))
}
