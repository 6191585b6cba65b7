//! Every code of a diagnostic is explained, in [`CODES`] and in the guide.

use pipeline::ResolvedPipeline;
use pipeline::{CODES, code_info};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const VECTORS: &str = include_str!("../data/yaml_vectors.json");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the sources of the crates that report diagnostics, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories = ["yaml/src", "pipeline/src", "workstation/src", "cli/src"]
        .map(PathBuf::from)
        .to_vec();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root().join("crates").join(&directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if !path.ends_with("codes.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn codes_in_the_sources_are_explained() {
    let sources = sources();
    for (path, text) in &sources {
        for call in [
            "Diagnostic::error(",
            "Diagnostic::warning(",
            "Diagnostic::note(",
        ] {
            for part in text.split(call).skip(1) {
                let Some(rest) = part.trim_start().strip_prefix('"') else {
                    continue;
                };
                let (code, _) = rest.split_once('"').unwrap();
                assert!(code_info(code).is_some(), "{code} of {}", path.display());
            }
        }
    }
    for info in CODES {
        let literal = format!("\"{}\"", info.code);
        let is_used = sources.iter().any(|(_, text)| text.contains(&literal));
        assert!(is_used, "no source reports {}", info.code);
    }
}

#[test]
fn codes_of_all_vectors_are_explained() {
    let mut seen = 0;
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    for vector in file["vectors"].as_array().unwrap() {
        let Some(text) = vector["yaml"].as_str() else {
            continue;
        };
        let checked = ResolvedPipeline::from_text(".gitlab-ci.yml", text);
        for finding in &checked.diagnostics {
            assert!(
                code_info(finding.code).is_some(),
                "{} in {text}",
                finding.code
            );
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn the_guide_lists_all_codes() {
    let page = fs::read_to_string(root().join("docs/book/src/diagnostics.md")).unwrap();
    let (_, table) = page.split_once("|---|---|\n").unwrap();
    let rows = CODES
        .iter()
        .map(|info| format!("| `{}` | {} |", info.code, info.meaning));
    assert_eq!(table.lines().collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}
