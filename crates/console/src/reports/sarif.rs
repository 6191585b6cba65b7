//! The diagnostics of a pipeline file in SARIF, for tools that show them in the code.
//!
//! This is SARIF 2.1.0, as far as code hosts and editors read it: rules with their meaning, results
//! with regions, other places that belong to them. Paths are relative to the project, so a report
//! says nothing of the machine it was made on.

use pipeline::CODES;
use serde_json::{Value, json};
use std::fmt::Write as _;
use yaml::diagnostic::{DiagnosticRecord, RelatedRecord, Severity};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns the report on a pipeline file; `file` is what findings without a place are about.
pub fn sarif(records: &[DiagnosticRecord], file: &str) -> Value {
    let rules: Vec<Value> = CODES
        .iter()
        .map(|info| rule(info.code, info.meaning))
        .collect();
    let results: Vec<Value> = records.iter().map(|record| result(record, file)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "runwright",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: &str, meaning: &str) -> Value {
    json!({ "id": code, "shortDescription": { "text": meaning } })
}

fn result(record: &DiagnosticRecord, file: &str) -> Value {
    let mut text = record.message.clone();
    if let Some(help) = &record.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    let name = record.file.as_deref().unwrap_or(file);
    let region = region(
        record.line,
        record.column,
        record.end_line,
        record.end_column,
    );
    let mut result = json!({
        "ruleId": record.code,
        "level": level(record.severity),
        "message": { "text": text },
        "locations": [{ "physicalLocation": physical(name, region) }],
    });
    if let Ok(index) = CODES.binary_search_by(|info| info.code.cmp(record.code)) {
        result["ruleIndex"] = json!(index);
    }
    if !record.related.is_empty() {
        let related = record.related.iter().enumerate();
        let related: Vec<Value> = related.map(|(id, place)| other_place(id, place)).collect();
        result["relatedLocations"] = json!(related);
    }
    result
}

fn other_place(id: usize, place: &RelatedRecord) -> Value {
    let region = region(
        Some(place.line),
        Some(place.column),
        Some(place.end_line),
        Some(place.end_column),
    );
    json!({
        "id": id,
        "physicalLocation": physical(&place.file, region),
        "message": { "text": place.message },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn physical(file: &str, region: Option<Value>) -> Value {
    let mut location = json!({ "artifactLocation": artifact(file) });
    if let Some(region) = region {
        location["region"] = region;
    }
    location
}

/// Returns where a file is: below the project, or at an address of its own.
fn artifact(file: &str) -> Value {
    if file.contains("://") {
        return json!({ "uri": escaped(file, b"-_.~/:@?&=+%#") });
    }
    if file.starts_with('/') {
        return json!({ "uri": format!("file://{}", escaped(file, b"-_.~/")) });
    }
    json!({ "uri": escaped(file, b"-_.~/"), "uriBaseId": "%SRCROOT%" })
}

fn escaped(text: &str, plain: &[u8]) -> String {
    let mut address = String::new();
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

fn region(
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
) -> Option<Value> {
    let (line, column) = (line?, column?);
    let (end_line, end_column) = (end_line.unwrap_or(line), end_column.unwrap_or(column));
    Some(json!({
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_addresses() {
        let check = |file: &str, expect: Value| assert_eq!(artifact(file), expect, "{file}");
        check(
            "ci/a b:ü.yml",
            json!({"uri": "ci/a%20b%3A%C3%BC.yml", "uriBaseId": "%SRCROOT%"}),
        );
        check("/etc/ci.yml", json!({"uri": "file:///etc/ci.yml"}));
        check(
            "https://host/a.yml?ref=main",
            json!({"uri": "https://host/a.yml?ref=main"}),
        );
    }
}
