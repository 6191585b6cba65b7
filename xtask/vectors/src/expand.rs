//! The kind `expand`: a text or a set of variables with references, and what they become.

use super::variables::VariablesInput;
use pipeline::context::{Kept, expand, expand_existing, sort_and_expand};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub(super) struct Input {
    mode: Mode,
    #[serde(default)]
    text: String,
    #[serde(default)]
    variables: VariablesInput,
    #[serde(default)]
    keep_undefined: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Expand,
    ExpandExisting,
    SortAndExpand,
}

pub(super) fn result(input: &Input) -> Value {
    let values = input.variables.values();
    let value = |name: &str| values.get(name);
    match input.mode {
        Mode::Expand => json!({"result": expand(&input.text, value)}),
        Mode::ExpandExisting => json!({"result": expand_existing(&input.text, value)}),
        Mode::SortAndExpand => {
            let kept = Kept {
                undefined: input.keep_undefined,
                ..Kept::default()
            };
            match sort_and_expand(input.variables.variables(), kept) {
                Ok(expanded) => {
                    let expanded = expanded.into_iter();
                    let pairs = expanded.map(|variable| (variable.key, variable.value.into()));
                    json!({"result": pairs.collect::<Map<String, Value>>()})
                }
                Err(error) => json!({"result": null, "error": error.to_string()}),
            }
        }
    }
}
