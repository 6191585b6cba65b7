//! Test vectors whose expectations were checked against a real GitLab, see `tests/data`.

mod expand;
mod expression;
mod pipeline;
mod rules;
mod scheduling;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const FILE: &str = include_str!("../../data/yaml_vectors.json");

#[derive(Deserialize)]
struct File {
    meta: Meta,
    vectors: Vec<Value>,
}

#[derive(Deserialize)]
struct Meta {
    count: usize,
}

/// Returns the vectors of a kind, read in the shape that the kind has.
fn of_kind<V: DeserializeOwned>(kind: &str) -> Vec<V> {
    let file: File = serde_json::from_str(FILE).unwrap();
    assert_eq!(file.vectors.len(), file.meta.count);
    let vectors = file.vectors.into_iter();
    let vectors = vectors.filter(|vector| vector["kind"] == kind);
    let read = |vector: Value| {
        let id = vector["id"].to_string();
        serde_json::from_value(vector).unwrap_or_else(|error| panic!("{id}: {error}"))
    };
    vectors.map(read).collect()
}
