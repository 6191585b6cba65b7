//! The kind `duration`: a text, and how many seconds it means.

use pipeline::config::parse_duration;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
pub(super) struct Input {
    text: String,
}

pub(super) fn result(input: &Input) -> Value {
    let seconds = parse_duration(&input.text).map(|duration| duration.as_secs());
    json!({"valid": seconds.is_some(), "seconds": seconds})
}
