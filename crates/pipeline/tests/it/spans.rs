//! Spans of values.

use serde_json::Value;
use std::sync::Arc;
use yaml::{Kind, Limits, LoadedFile, Node};

/// Checks the spans of all values of a text; returns the number of scalars read again from them.
fn check(text: &str) -> usize {
    let loaded = LoadedFile::from_text("ci.yml", text, &Limits::default());
    let Some(file) = loaded.value else {
        return 0;
    };
    let documents = file.header.iter().chain([&file.content]);
    documents.map(|document| check_node(text, document)).sum()
}

fn check_node(text: &str, node: &Node) -> usize {
    let written = &text[node.span.bytes()];
    let before = &text[..node.span.bytes().start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    assert_eq!(
        (node.span.line as usize, node.span.column as usize),
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1
        ),
        "the line and column of {written:?} in {text:?}"
    );
    match &node.kind {
        Kind::Sequence(items) => items
            .iter()
            .map(|item| check_child(text, node, item, item.span.bytes().start))
            .sum(),
        Kind::Mapping(entries) => entries
            .values()
            .map(|entry| {
                let key = &text[entry.key_span.bytes()];
                assert!(!key.is_empty(), "a key without a place in {text:?}");
                check_child(text, node, &entry.value, entry.key_span.bytes().start)
            })
            .sum(),
        Kind::Reference(_) => {
            assert!(written.starts_with("!reference"), "{written:?} in {text:?}");
            0
        }
        // The value of a block or multi-line text depends on its surroundings.
        _ if written.contains('\n') => 0,
        _ => {
            assert_eq!(
                read_again(written),
                node.to_json(),
                "{written:?} in {text:?}"
            );
            1
        }
    }
}

/// Checks a value that starts in `parent`, with its key if it has one. Values of aliases and merges
/// start elsewhere.
fn check_child(text: &str, parent: &Node, child: &Arc<Node>, start: usize) -> usize {
    let (outer, inner) = (parent.span.bytes(), child.span.bytes());
    if outer.contains(&start) && inner.start >= start && inner.start < outer.end {
        assert!(
            inner.end <= outer.end,
            "{:?} ends outside of {:?}",
            &text[inner],
            &text[outer]
        );
    }
    check_node(text, child)
}

fn read_again(written: &str) -> Value {
    let text = format!("- {written}\n");
    let loaded = LoadedFile::from_text("again.yml", &text, &Limits::default());
    let file = loaded
        .value
        .unwrap_or_else(|| panic!("{written:?} is no value alone"));
    file.content.as_sequence().expect("a list")[0].to_json()
}

#[test]
fn scalars_have_the_same_value_when_read_again_from_their_spans() {
    let vectors: Value = serde_json::from_str(include_str!("../data/yaml_vectors.json"))
        .expect("the vectors are JSON");
    let vectors = vectors["vectors"].as_array().expect("a list");
    let files = vectors.iter().flat_map(|vector| {
        let included = vector["files"].as_object().into_iter().flatten();
        included
            .filter_map(|(_, text)| text.as_str())
            .chain(vector["yaml"].as_str())
    });
    let read: usize = files.map(check).sum();
    assert!(read > 2_000, "only {read} scalars were read again");
}

#[test]
fn spans_are_right_after_everything_that_shifts_them() {
    let texts = [
        "é: [ü, \"w\\u00f6rt\", 'it''s' , &a x, *a, !!str 1 , ! 2 ]  # ende\n",
        "a: 1\r\nb:\r\n- x\r\n-  y \r\n",
        "spec: {}\n--- {ü: wörd, l: [1,2]}\n",
        "? k\n: v\n? 'q'\n: - 1\n  -   - 2\n",
        "a: {b: , c: d, e}\nf:\n\n  g: ~   # c\n",
        "a: &x {b: &y c}\nd:\n  <<: *x\n  e: *y\n",
    ];
    for text in texts {
        assert!(check(text) > 0, "{text:?} has scalars");
    }
}
