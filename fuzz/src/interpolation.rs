use pipeline::{LoadOptions, Pipeline};
use serde_json::{Value, json};

/// Inputs of every type.
const HEADER: &str = "\
spec:
  inputs:
    s: {default: some text}
    q: {default: \"it's $A\"}
    n: {type: number, default: 12}
    b: {type: boolean, default: true}
    l: {type: array, default: [one, two, {k: [deep, 2]}]}
    g: {}
---
";

/// Inserts inputs into the bytes, read as the content of a pipeline file.
pub fn interpolation(data: &[u8]) {
    let text = format!("{HEADER}{}", String::from_utf8_lossy(data));
    let options = LoadOptions {
        inputs: [("g".to_owned(), Value::String("$[[ inputs.s ]]".to_owned()))].into(),
        ..LoadOptions::default()
    };
    let checked = Pipeline::load("ci.yml", &text, &options);
    let _ = checked.diagnostics.to_string();
    let _ = json!({"errors": checked.diagnostics.errors().count()});
}
