//! Each value of a composed pipeline has an origin.

use super::{NAME, load};
use pipeline::include::KnownFiles;
use pipeline::{LoadOptions, Origins, Pipeline};
use serde_json::json;
use yaml::{Kind, Node};

#[test]
fn every_value_has_an_origin() {
    let files = [
        ("ci/base.yml", ".base:\n  image: ruby\n  tags: [t]\n"),
        ("ci/all.yml", "include: ci/base.yml\ndefault: {retry: 1}\n"),
    ];
    let text = "include: ci/all.yml\njob:\n  extends: .base\n  script: x\n";
    let (pipeline, _) = load(text, &files).into_result().unwrap();
    let origins = pipeline.origins();
    let origin = |path: &[&str]| {
        let node = path
            .iter()
            .fold(pipeline.tree(), |node, key| node.get(key).unwrap());
        let origin = origins.of(node.span).unwrap();
        let includes = origins.includes(node.span);
        let includes: Vec<&str> = includes.map(|at| origins.of(at).unwrap().file).collect();
        let key = origin.key.unwrap_or_default();
        format!("{}:{} {key} {includes:?}", origin.file, origin.line)
    };
    assert_eq!(origin(&["job", "script"]), ".gitlab-ci.yml:4 job []");
    assert_eq!(
        origin(&["job", "image"]),
        r#"ci/base.yml:2 .base ["ci/all.yml", ".gitlab-ci.yml"]"#
    );
    assert_eq!(
        origin(&["default", "retry"]),
        r#"ci/all.yml:2 default [".gitlab-ci.yml"]"#
    );
}

/// Counts the nodes, all of which must be below a key.
fn count(node: &Node, origins: &Origins) -> usize {
    let is_known = |span| origins.of(span).is_some_and(|origin| origin.key.is_some());
    assert!(is_known(node.span), "{:?} of {}", node.span, node.to_json());
    1 + match &node.kind {
        Kind::Sequence(items) => items.iter().map(|item| count(item, origins)).sum(),
        Kind::Mapping(entries) => entries
            .values()
            .map(|entry| {
                assert!(is_known(entry.key_span), "{:?}", entry.key_span);
                count(&entry.value, origins)
            })
            .sum(),
        _ => 0,
    }
}

#[test]
fn origins_are_known_after_all_transformations() {
    let mut files = KnownFiles::with_own([
        (
            "ci/t.yml",
            "spec:\n  inputs:\n    name: {default: t}\n    list: {type: array, default: [a, b]}\n    map: {type: array, default: [{when: always}]}\n---\n\
             \"$[[ inputs.name ]]\":\n  script: $[[ inputs.list ]]\n  tags:\n    - x\n    - $[[ inputs.list ]]\n\
             .rules: &rules\n  rules: $[[ inputs.map ]]\n.more:\n  <<: *rules\n  image: i\n",
        ),
        (
            "ci/v.yml",
            "variables: {A: a}\n.s: {script: [[one], !reference [.s2, script]]}\n.s2: {script: two}",
        ),
    ]);
    let theirs = [(
        "p.yml".to_owned(),
        "p: {extends: .more, script: x, rules: [{when: never}]}".into(),
    )];
    files
        .projects
        .insert("g/p".to_owned(), theirs.into_iter().collect());
    let text = "spec: {inputs: {job: {}, tags: {type: array}}}\n---\n\
        include:\n  - ci/v.yml\n  - {local: ci/t.yml, inputs: {list: [given]}}\n  - {project: g/p, file: p.yml}\n\
        variables: {B: b}\n\
        \"$[[ inputs.job ]]\":\n  extends: [.more, .s]\n  tags: $[[ inputs.tags ]]\n  before_script: !reference [.s, script]\n";
    let options = LoadOptions {
        includes: &files,
        inputs: [("job", json!("own")), ("tags", json!(["a", "b"]))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
        ..LoadOptions::default()
    };
    let loaded = Pipeline::load(NAME, text, &options);
    let (pipeline, _) = loaded
        .into_result()
        .unwrap_or_else(|found| panic!("{found}"));
    let entries = pipeline.tree().as_mapping().unwrap();
    let nodes: usize = entries
        .values()
        .map(|entry| count(&entry.value, pipeline.origins()))
        .sum();
    assert!(nodes > 40, "{nodes}: {}", pipeline.tree().to_json());
}
