//! Includes in bitrab's dialect.

use super::{load, load_as, tree};
use pipeline::Dialect;
use serde_json::json;

#[test]
fn bitrab_includes_are_relative_to_the_including_file() {
    // R-PIPE-05 R-PIPE-03
    let files = [
        (
            "ci/a.yml",
            "include: [{local: sub/b.yml}, ../top.yml]\nj: {image: a, script: a}",
        ),
        (
            "ci/sub/b.yml",
            "include: c.yml\nj: {image: b, script: b, stage: test}",
        ),
        ("ci/sub/c.yml", "c: {script: c}"),
        ("top.yml", "top: {script: t}"),
        ("sub/b.yml", "wrong: {script: x}"),
        ("c.yml", "wrong: {script: x}"),
    ];
    let text = "include: ci/a.yml\nj: {script: m}";
    assert_eq!(
        tree(load_as(Dialect::Bitrab, text, &files)),
        json!({
            "c": {"script": "c"},
            "j": {"image": "a", "script": "m", "stage": "test"},
            "top": {"script": "t"}
        })
    );
    // GitLab starts at the root of the project.
    let gitlab = tree(load("include: [ci/sub/b.yml]\nj: {script: m}", &files));
    assert!(gitlab.get("wrong").is_some());
    let outside = load_as(Dialect::Bitrab, "include: ../x.yml\nj: {script: m}", &files);
    assert_eq!(
        outside.diagnostics.errors().next().unwrap().code,
        "include-outside"
    );
}

#[test]
fn bitrab_refuses_components_and_ignores_includes_it_does_not_fetch() {
    // R-PIPE-07 R-PIPE-08
    let loaded = load_as(
        Dialect::Bitrab,
        "include:\n  - template: Go.gitlab-ci.yml\n  - {project: g/p, file: a.yml}\nj: {script: m}",
        &[],
    );
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["include-left-out", "include-left-out"]);
    assert_eq!(tree(loaded), json!({"j": {"script": "m"}}));

    let refused = load_as(
        Dialect::Bitrab,
        "include:\n  - component: gitlab.com/g/c/lint@1.0\nj: {script: m}",
        &[],
    );
    insta::assert_snapshot!(refused.diagnostics, @r"
    error[include-component]: include: components are refused in the dialect `bitrab`
     --> .gitlab-ci.yml:2:16
      |
    2 |   - component: gitlab.com/g/c/lint@1.0
      |                ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the dialect `gitlab` supports components
    ");
}
