//! The kind `expand`: texts and variables with references in them.

use super::of_kind;
use executor_core::variable::JobVariable;
use indexmap::IndexMap;
use pipeline::context::{Kept, expand, expand_existing, sort_and_expand};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Vector {
    id: String,
    mode: String,
    #[serde(default)]
    text: String,
    variables: IndexMap<String, Variable>,
    #[serde(default)]
    keep_undefined: bool,
    expect: Value,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variable {
    Plain(String),
    Detailed {
        value: String,
        #[serde(default)]
        file: bool,
        #[serde(default)]
        raw: bool,
    },
}

#[test]
fn every_expand_vector_holds() {
    // R-GLCI-170
    let vectors: Vec<Vector> = of_kind("expand");
    assert_eq!(vectors.len(), 19);
    for vector in &vectors {
        assert_eq!(result(vector), vector.expect["result"], "of {}", vector.id);
    }
}

fn result(vector: &Vector) -> Value {
    let variables: Vec<JobVariable> = vector.variables.iter().map(variable).collect();
    let look_up = |name: &str| {
        let mut variables = variables.iter();
        let found = variables.find(|variable| variable.key == name);
        found.map(|variable| variable.value.as_str())
    };
    match vector.mode.as_str() {
        "expand" => json!(expand(&vector.text, look_up)),
        "expand_existing" => json!(expand_existing(&vector.text, look_up)),
        _ => {
            let kept = Kept {
                undefined: vector.keep_undefined,
                ..Kept::default()
            };
            let expanded = sort_and_expand(variables, kept).unwrap().into_iter();
            let pairs = expanded.map(|variable| (variable.key, variable.value));
            json!(pairs.collect::<IndexMap<_, _>>())
        }
    }
}

fn variable((name, given): (&String, &Variable)) -> JobVariable {
    match given {
        Variable::Plain(value) => JobVariable::public(name, value),
        Variable::Detailed { value, file, raw } => JobVariable {
            file: *file,
            raw: *raw,
            ..JobVariable::public(name, value)
        },
    }
}
