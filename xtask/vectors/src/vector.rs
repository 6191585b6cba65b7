use super::compare::holds;
use super::{config, creation, duration, expand, expression, rules, scheduling};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use yaml::diagnostic::Diagnostics;

/// One vector: an input and what is known of its result.
#[derive(Debug, Clone, Deserialize)]
pub struct Vector {
    /// Its name within the file.
    #[serde(default)]
    pub id: String,
    /// What is asked: `config`, `expression`, `rules`, `pipeline`, `expand`, `duration` or
    /// `scheduling`.
    #[serde(default)]
    pub kind: String,
    /// What is known of the result.
    #[serde(default)]
    pub expect: Value,
    /// The input, whose fields depend on the kind.
    #[serde(flatten)]
    pub input: Value,
}

/// What came of a vector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The vector's name.
    pub id: String,
    /// Whether the result is what the vector expects.
    pub pass: bool,
    /// The result, in the shape of `expect`.
    pub got: Value,
}

/// Reads a file of vectors.
///
/// # Errors
///
/// When the text is no JSON, or has no list of vectors. A vector that makes no sense is no error
/// here: it does not pass.
pub fn parse(text: &str) -> Result<Vec<Vector>, serde_json::Error> {
    #[derive(Deserialize)]
    struct File {
        vectors: Vec<Vector>,
    }
    Ok(serde_json::from_str::<File>(text)?.vectors)
}

/// Returns what comes of a vector.
pub fn check(vector: &Vector) -> Outcome {
    // One broken vector must not hide the results of the others.
    let got = catch_unwind(AssertUnwindSafe(|| result(vector)));
    let got = got.unwrap_or_else(|_| json!({"error": "the check panicked"}));
    Outcome {
        id: vector.id.clone(),
        pass: holds(&vector.expect, &got),
        got,
    }
}

fn result(vector: &Vector) -> Value {
    match vector.kind.as_str() {
        "config" => with(vector, config::result),
        "expression" => with(vector, |input| expression::result(&input)),
        "rules" => with(vector, |input| rules::result(&input)),
        "pipeline" => with(vector, creation::result),
        "expand" => with(vector, |input| expand::result(&input)),
        "duration" => with(vector, |input| duration::result(&input)),
        "scheduling" => with(vector, |input| scheduling::result(&input, &vector.expect)),
        other => json!({"error": format!("unknown kind of vector: {other:?}")}),
    }
}

/// Returns what is found in the file of a `config` vector; nothing for other kinds.
pub fn diagnose(vector: &Vector) -> Option<Diagnostics> {
    let input = serde_json::from_value(vector.input.clone()).ok()?;
    (vector.kind == "config").then(|| config::diagnose(input))
}

fn with<I: DeserializeOwned>(vector: &Vector, result: impl FnOnce(I) -> Value) -> Value {
    match serde_json::from_value(vector.input.clone()) {
        Ok(input) => result(input),
        Err(error) => json!({"error": format!("unreadable vector: {error}")}),
    }
}
