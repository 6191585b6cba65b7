//! Test vectors whose expectations were checked against a real GitLab, see `tests/data`.

mod location;

use location::Located;
use std::fmt::Write as _;
use vectors::{Outcome, Vector, check, diagnose, parse};

const FILE: &str = include_str!("../../data/yaml_vectors.json");
/// Our vectors for expressions, rules, pipelines and expansion, based on knowledge of GitLab;
/// patterns were compared with RE2, and globs with Ruby.
const CONDITIONS: &str = include_str!("../../data/condition_vectors.json");

fn vectors() -> Vec<Vector> {
    let vectors = parse(FILE).unwrap();
    assert_eq!(vectors.len(), 614);
    vectors
}

#[test]
fn all_vectors_pass() {
    // R-GLCI-118 R-GLCI-119 R-GLCI-122
    check_all(&vectors());
}

#[test]
fn all_condition_vectors_pass() {
    let vectors = parse(CONDITIONS).unwrap();
    assert_eq!(vectors.len(), 799);
    check_all(&vectors);
}

fn check_all(vectors: &[Vector]) {
    let outcomes = vectors.iter().map(|vector| (vector, check(vector)));
    let mut broken = String::new();
    for (vector, Outcome { id, pass, got }) in outcomes {
        if !pass {
            let _ = writeln!(broken, "{id}\n  expect {}\n  got    {got}", vector.expect);
        }
    }
    assert!(
        broken.is_empty(),
        "{}:\n{broken}",
        broken.lines().count() / 3
    );
}

/// The first error of every rejected file is within the value that the vector names.
#[test]
fn errors_are_at_the_invalid_value() {
    let mut elsewhere = String::new();
    let mut checked = 0;
    for vector in vectors() {
        let Some(places) = vector.expect["error_at"].as_array() else {
            continue;
        };
        let found = diagnose(&vector).expect("vectors with an `error_at` are files");
        for place in places {
            checked += 1;
            let place = place.as_str().unwrap();
            let located = Located::of(place, &found);
            let inside = |span| located.iter().any(|node| node.holds(span));
            let first = found.errors().next().and_then(|error| error.span);
            if !first.is_some_and(inside) {
                let _ = writeln!(elsewhere, "{}: not at {place}:\n{found}", vector.id);
            }
        }
    }
    assert_eq!(checked, 154);
    assert!(elsewhere.is_empty(), "{elsewhere}");
}

/// The messages of every rejected file.
#[test]
fn errors_have_messages_and_help() {
    let mut shown = String::new();
    for vector in vectors() {
        if vector.expect["valid"] == false
            && let Some(found) = diagnose(&vector)
        {
            let gist = vector.expect["error_gist"].as_str().unwrap_or_default();
            let _ = writeln!(shown, "## {}: {gist}\n\n{found}", vector.id);
        }
    }
    insta::assert_snapshot!("rejected", shown);
}
