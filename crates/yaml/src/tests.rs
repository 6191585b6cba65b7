use super::node::{Kind, Node};
use super::{Limits, LoadedFile, load};
use crate::diagnostic::Diagnostics;
use std::fmt::Write as _;
use std::sync::Arc;

fn load_text(text: &str) -> (Option<Arc<Node>>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let file = diagnostics.sources_mut().add("ci.yml", text);
    let loaded = load(file, &Limits::default(), &mut diagnostics);
    (loaded.map(|loaded| loaded.content), diagnostics)
}

fn check(text: &str, expect: &serde_json::Value) {
    let (root, diagnostics) = load_text(text);
    let root = root.unwrap_or_else(|| panic!("{text:?} is refused: {diagnostics}"));
    assert_eq!(&root.to_json(), expect, "loading {text:?}");
}

fn check_refused(text: &str, code: &str, line: u32) {
    let (root, diagnostics) = load_text(text);
    assert!(root.is_none(), "{text:?} is accepted");
    let error = diagnostics.errors().next().unwrap();
    assert_eq!(error.code, code, "{diagnostics}");
    assert_eq!(
        error.span.map_or(0, |span| span.line),
        line,
        "{diagnostics}"
    );
}

#[test]
fn scalars_are_yaml_1_1() {
    check(
        "{a: yes, b: 0755, c: 12:30, d: ~, e: 'yes', f: !!str 1, g: \"1\", h: }",
        &serde_json::json!({
            "a": true, "b": 493, "c": 45000, "d": null, "e": "yes", "f": "1", "g": "1", "h": null
        }),
    );
}

#[test]
fn merge_keys_apply_in_document_order() {
    let anchors = ".a: &a {x: a, y: a}\n.b: &b {x: b, z: b}\n";
    let job = |text: &str| {
        load_text(&format!("{anchors}j: {text}\n"))
            .0
            .unwrap()
            .get("j")
            .unwrap()
            .to_json()
    };
    assert_eq!(
        job("{x: own, <<: *a}"),
        serde_json::json!({"x": "a", "y": "a"})
    );
    assert_eq!(
        job("{<<: *a, x: own}"),
        serde_json::json!({"x": "own", "y": "a"})
    );
    assert_eq!(
        job("{<<: [*a, *b]}"),
        serde_json::json!({"x": "a", "z": "b", "y": "a"})
    );
    assert_eq!(job("{<<: text}"), serde_json::json!({"<<": "text"}));
    assert_eq!(
        job("{<<: [*a, text]}"),
        serde_json::json!({"<<": [{"x": "a", "y": "a"}, "text"]})
    );
    assert_eq!(job("{'<<': *a}"), serde_json::json!({"x": "a", "y": "a"}));
    assert_eq!(
        job("{!!str <<: *b}"),
        serde_json::json!({"<<": {"x": "b", "z": "b"}})
    );
    assert_eq!(
        load_text(".l: &l [{x: 1}]\nj: {<<: *l}\n")
            .0
            .unwrap()
            .get("j")
            .unwrap()
            .to_json(),
        serde_json::json!({"<<": [{"x": 1}]})
    );
}

#[test]
fn the_last_of_two_equal_keys_counts_with_a_warning_that_shows_both() {
    let (root, diagnostics) = load_text("job: {script: a}\njob: {script: b}\n");
    assert_eq!(
        root.unwrap().to_json(),
        serde_json::json!({"job": {"script": "b"}})
    );
    insta::assert_snapshot!(diagnostics, @r"
    warning[duplicate-key]: `job` is given twice; the last one counts
     --> ci.yml:2:1
      |
    1 | job: {script: a}
      | --- first given here
    2 | job: {script: b}
      | ^^^
    ");
}

#[test]
fn spans_are_correct_after_wide_characters() {
    let text = "ü: &a {é: x}\nlater: *a\nß: [1, wörd]\n";
    let (root, _) = load_text(text);
    let root = root.unwrap();
    let word = &root.get("ß").unwrap().as_sequence().unwrap()[1];
    assert_eq!(&text[word.span.bytes()], "wörd");
    assert_eq!((word.span.line, word.span.column), (3, 8));
    let entry = &root.as_mapping().unwrap()["later"];
    assert_eq!(&text[entry.key_span.bytes()], "later");
}

#[test]
fn unknown_tags_are_ignored_with_a_warning() {
    let (root, diagnostics) = load_text("a: !!python/object:os.system [x]\nb: !foo 1\n");
    assert_eq!(
        root.unwrap().to_json(),
        serde_json::json!({"a": ["x"], "b": 1})
    );
    assert_eq!(diagnostics.warnings().count(), 2);
}

#[test]
fn diagnostics_are_bounded_and_include_the_errors() {
    let text = format!("{{{}b: \"\\0\"}}", "a: 1, ".repeat(50_000));
    let (_, diagnostics) = load_text(&text);
    assert_eq!(diagnostics.warnings().count(), 200);
    assert_eq!(diagnostics.errors().count(), 1);
}

#[test]
fn tags_that_ask_for_a_class_are_refused() {
    for text in [
        "a: !ruby/object:Foo {b: 1}",
        "a: !ruby/regexp x",
        "a: !!set {b, c}",
    ] {
        let (_, diagnostics) = load_text(text);
        let errors: Vec<&str> = diagnostics.errors().map(|error| error.code).collect();
        assert_eq!(errors, ["yaml-class"], "{text}");
    }
    check(
        "{a: !ruby/sym 12, b: !str 12}",
        &serde_json::json!({"a": "12", "b": "12"}),
    );
}

#[test]
fn invalid_texts_are_refused_with_their_location() {
    check_refused("", "empty-file", 1);
    check_refused(" \n\n", "empty-file", 1);
    check_refused("a: 1\nb: \0x", "nul-character", 2);
    check_refused("job:\n\tscript: x\n", "yaml-syntax", 2);
    check_refused("a: 1\n\u{feff}b: 2\n", "yaml-syntax", 2);
    // Directives can begin a document only after two lines of dashes.
    let third = |directives: &str| format!("a: 1\n---\nb: 2\n---\n{directives}---\nc: 3\n");
    assert!(load_text(&third("%YAML 1.1\n%TAG !a! x:\n")).0.is_some());
    check_refused(&third("%YAML 1.1\n%YAML 1.1\n"), "yaml-syntax", 6);
    check_refused(&third("%TAG !a! x:\n%TAG !a! y:\n"), "yaml-syntax", 6);
    check_refused("a: *nothing\n", "unknown-alias", 1);
    check_refused("a: &a [*a]\n", "anchor-cycle", 1);
    check_refused("x: 1\nd: 2020-01-01\n", "yaml-date", 2);
    check_refused("? [a]\n: b\n", "invalid-key", 1);
    check_refused("a: !reference text\n", "invalid-reference", 1);
}

#[test]
fn an_alias_bomb_is_refused_but_ten_thousand_aliases_are_not() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..7 {
        let alias = format!("*a{},", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{alias}]").unwrap();
    }
    check_refused(&bomb, "alias-bomb", 7);

    let mut shared = ".base: &base {script: [a, b, c], image: x, tags: [a, b]}\n".to_owned();
    for job in 0..10_000 {
        writeln!(shared, "job{job}:\n  <<: *base\n  stage: test").unwrap();
    }
    let (root, _) = load_text(&shared);
    assert_eq!(root.unwrap().as_mapping().unwrap().len(), 10_001);
}

#[test]
fn deep_nesting_is_refused() {
    check_refused(&"[".repeat(200_000), "nested-too-deep", 1);
    check_refused(&"{a: ".repeat(200_000), "nested-too-deep", 1);
    check_refused(&"- ".repeat(200_000), "nested-too-deep", 1);
    check_refused(&"? ".repeat(200_000), "nested-too-deep", 1);
    let chain = |levels: usize| {
        (1..levels).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
            text + &format!("a{level}: &a{level} [*a{}]\n", level - 1)
        })
    };
    check_refused(&chain(250), "nested-too-deep", 200);
    let (root, diagnostics) = load_text(&chain(120));
    assert!(root.is_some());
    let warnings: Vec<&str> = diagnostics.warnings().map(|found| found.code).collect();
    assert_eq!(warnings, ["gitlab-limit"]);
}

#[test]
fn files_beyond_the_limits_of_gitlab_cause_a_warning() {
    let text = format!("a: 1\n# {}\n", "x".repeat(2 << 20));
    let (root, diagnostics) = load_text(&text);
    assert!(root.is_some());
    let warnings: Vec<&str> = diagnostics.warnings().map(|found| found.code).collect();
    assert_eq!(warnings, ["gitlab-limit"]);
}

#[test]
fn byte_order_marks_and_all_line_breaks_are_accepted() {
    check(
        "\u{feff}a: 1\r\nb: 2\r\n",
        &serde_json::json!({"a": 1, "b": 2}),
    );
    check("a: 1\rb: 2\r", &serde_json::json!({"a": 1, "b": 2}));
    check("---\na: 1\n", &serde_json::json!({"a": 1}));
}

#[test]
fn later_documents_are_ignored_with_a_warning() {
    // Where the text cannot be split before it is parsed, the first document is shown.
    for (text, line) in [
        ("a: 1\n---\nb: 2\n", 3),
        ("a: 1\n...\n%%%\n", 1),
        ("---\na: 1\n---\nb: 1\n---\n{", 4),
    ] {
        let (root, diagnostics) = load_text(text);
        let root = root.unwrap_or_else(|| panic!("{text:?}: {diagnostics}"));
        assert_eq!(root.to_json(), serde_json::json!({"a": 1}));
        let codes: Vec<&str> = diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["more-documents"], "{text:?}");
        let lines = diagnostics
            .iter()
            .map(|found| found.span.map(|span| span.line));
        assert_eq!(lines.collect::<Vec<_>>(), [Some(line)], "{text:?}");
    }
    // They must be valid nevertheless.
    check_refused("a: 1\n---\n\tbroken: [\n", "yaml-syntax", 4);
    check_refused("a: 1\n---\n- b\n", "invalid-file", 3);
    check(
        "a: 1\n---\n# nothing\n---\n{}\n",
        &serde_json::json!({"a": 1}),
    );
}

#[test]
fn a_first_document_with_spec_is_a_header_and_the_last_is_the_content() {
    // R-GLCI-164
    let check = |text: &str, has_header: bool, expect: serde_json::Value| {
        let loaded = LoadedFile::from_text("f", text, &Limits::default());
        let loaded = loaded
            .value
            .unwrap_or_else(|| panic!("{text:?} is refused"));
        assert_eq!(loaded.header.is_some(), has_header, "{text:?}");
        assert_eq!(loaded.content.to_json(), expect, "{text:?}");
    };
    check("spec:\n---\na: 1\n", true, serde_json::json!({"a": 1}));
    check(
        "---\nspec: {}\n---\na: 1\n",
        true,
        serde_json::json!({"a": 1}),
    );
    check(
        "# x\n---\nspec: {}\n---\n---\na: 1\n",
        true,
        serde_json::json!({"a": 1}),
    );
    check(
        "spec: {}\n---\na: 1\n---\nb: 1\n",
        true,
        serde_json::json!({"b": 1}),
    );
    check(
        "spec: {}\n--- # here\na: 1\n",
        true,
        serde_json::json!({"a": 1}),
    );
    check("spec: {}\n--- {a: 1}\n", true, serde_json::json!({"a": 1}));
    check("spec: 1\n", false, serde_json::json!({"spec": 1}));
    check("spec: 1\n---\n{}\n", false, serde_json::json!({"spec": 1}));
    check("a: 1\n---\nspec: {}\n", false, serde_json::json!({"a": 1}));
}

#[test]
fn ignored_tags_do_not_change_the_value() {
    check(
        "{a: !foo \"12\", b: ! yes, c: !!str 1, d: !!int \"3\", e: !!str, f: !<tag:yaml.org,2002:str> 2}",
        &serde_json::json!({"a": 12, "b": true, "c": "1", "d": 3, "e": "", "f": "2"}),
    );
}

#[test]
fn aliases_share_nodes_and_anchors_can_be_redefined() {
    // R-GLCI-163
    let (root, _) = load_text("a: &x {k: [1]}\nb: *x\nc: &x 2\nd: *x\ne: {<<: &y {z: 1}, w: 2}\n");
    let root = root.unwrap();
    assert!(Arc::ptr_eq(root.get("a").unwrap(), root.get("b").unwrap()));
    assert_eq!(root.get("d").unwrap().to_json(), serde_json::json!(2));
    assert_eq!(
        root.get("e").unwrap().to_json(),
        serde_json::json!({"z": 1, "w": 2})
    );
    check(
        "&k key: 1\nother: *k\n",
        &serde_json::json!({"key": 1, "other": "key"}),
    );
    check("a: &k x\n*k : 1\n", &serde_json::json!({"a": "x", "x": 1}));
}

#[test]
fn a_byte_order_mark_inside_a_line_is_a_character() {
    check("a: \"x\u{feff}\"", &serde_json::json!({"a": "x\u{feff}"}));
    check("\t\n---\na: 1\n", &serde_json::json!({"a": 1}));
}

#[test]
fn references_keep_their_path() {
    // R-GLCI-145
    let (root, _) = load_text(
        "job:\n  script:\n    - !reference [.setup, script]\n    - !reference\n      - .a\n      - \"b c\"\n",
    );
    let root = root.unwrap();
    let script = root.get("job").unwrap().get("script").unwrap();
    let paths: Vec<Vec<Arc<str>>> = (script.as_sequence().unwrap().iter())
        .map(|item| match &item.kind {
            Kind::Reference(path) => path.clone(),
            kind => panic!("{kind:?} is not a reference"),
        })
        .collect();
    assert_eq!(
        paths,
        [
            vec![".setup".into(), "script".into()],
            vec![".a".into(), "b c".into()]
        ]
    );
    assert!(root.has_references());
}

#[test]
fn spans_cover_the_text_of_values() {
    let text = "é:\n  lit: |\n    a\n    b\n\n  fold: >-  # why\n    x\n  flow: [ü, {k: v} ]  # end\n  seq:\n  - 1\n  - 'it''s'\n  plain: two\n    lines\n  none:\n  anchored: &a\n    k: v\n";
    let (root, _) = load_text(text);
    let map = root.unwrap().get("é").unwrap().clone();
    let check = |key: &str, expect: &str| {
        let node = map.get(key).unwrap();
        assert_eq!(&text[node.span.bytes()], expect, "the span of {key}");
    };
    check("lit", "|\n    a\n    b");
    check("fold", ">-  # why\n    x");
    check("flow", "[ü, {k: v} ]");
    check("seq", "- 1\n  - 'it''s'");
    check("plain", "two\n    lines");
    check("none", "");
    check("anchored", "&a\n    k: v");
    let flow = map.get("flow").unwrap().as_sequence().unwrap();
    assert_eq!(&text[flow[1].span.bytes()], "{k: v}");
    assert_eq!((flow[1].span.line, flow[1].span.column), (8, 13));
    assert_eq!(&text[map.span.bytes()], text[6..].trim_end());
    assert_eq!(map.get("plain").unwrap().as_str(), Some("two lines"));
    assert_eq!(map.get("lit").unwrap().as_str(), Some("a\nb\n"));
    let document = "spec: {}\n--- {ü: wörd}\n";
    let (root, _) = load_text(document);
    let word = root.unwrap().get("ü").unwrap().span;
    assert_eq!(
        (word.line, word.column, &document[word.bytes()]),
        (2, 9, "wörd")
    );
}
