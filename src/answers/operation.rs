//! A question as a line of the table.

use schemars::{Schema, SchemaGenerator};
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
    /// Makes the schema of its parameters.
    pub parameters: fn(&mut SchemaGenerator) -> Schema,
    /// Makes the schema of its answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    /// Asks it with parameters, which are a JSON object.
    pub ask: fn(&dyn Answers, Value) -> Result<Value, Problem>,
}

/// Reads the parameters, asks, and writes the answer as JSON.
pub(super) fn answered<Q: DeserializeOwned, A: Serialize>(
    parameters: Value,
    ask: impl FnOnce(Q) -> Result<A, Problem>,
) -> Result<Value, Problem> {
    let question = serde_json::from_value(parameters).map_err(|error| Problem::Question(error.to_string()))?;
    serde_json::to_value(ask(question)?).map_err(|error| Problem::Fault(error.to_string()))
}
