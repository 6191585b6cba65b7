//! Interpolation of whole files.

use super::*;
use executor_core::variable::{JobVariable, JobVariables};
use serde_json::{Value, json};
use std::sync::Arc;
use yaml::diagnostic::Diagnostics;
use yaml::{Limits, Node, load};

/// Interpolates a file; `files` are those that its header may include, as YAML.
fn apply_to(text: &str, given: &Value, files: &[(&str, &str)]) -> (Option<Arc<Node>>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let limits = Limits::default();
    let file = diagnostics.sources_mut().add("t.yml", text);
    let loaded = load(file, &limits, &mut diagnostics);
    let mut variables = JobVariables::default();
    variables.push(JobVariable::public("MY", "value"));
    variables.push(JobVariable::masked("SECRET", "hidden"));
    let component = [
        ("name".to_owned(), "scan".to_owned()),
        ("sha".to_owned(), "abc".to_owned()),
    ];
    let given = given.as_object().cloned().unwrap_or_default();
    let interpolation = Interpolation {
        passed: PassedInputs::from_arguments(&given.into_iter().collect(), &mut diagnostics),
        component: &component,
        ..Interpolation::new(&variables)
    };
    let mut find = |include: &Arc<Node>, diagnostics: &mut Diagnostics| {
        let one = [Arc::clone(include)];
        let entries = include.as_sequence().unwrap_or(&one).iter();
        let found = entries.map(|entry| {
            let name = entry.get("local").unwrap_or(entry).as_str()?;
            let (name, text) = files.iter().find(|(known, _)| *known == name)?;
            let file = diagnostics.sources_mut().add(*name, *text);
            Some(load(file, &limits, diagnostics)?.content)
        });
        found.collect()
    };
    let content =
        loaded.and_then(|loaded| apply(&loaded, &interpolation, &mut find, &mut diagnostics));
    (content, diagnostics)
}

/// Checks the value of the key `v` of a file with this header.
fn check(spec: &str, given: &Value, content: &str, expect: &Value) {
    let text = format!("spec: {spec}\n---\nv: {content}\n");
    let (root, diagnostics) = apply_to(&text, given, &[]);
    let root = root.unwrap_or_else(|| panic!("{text} is refused:\n{diagnostics}"));
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    assert_eq!(&root.get("v").unwrap().to_json(), expect, "of {text}");
}

/// Checks the messages of a file with this header; each must contain its part.
fn check_refused(spec: &str, given: &Value, content: &str, expect: &[&str]) {
    let text = format!("spec: {spec}\n---\nv: {content}\n");
    let (root, diagnostics) = apply_to(&text, given, &[]);
    assert!(root.is_none(), "{text} is accepted");
    let messages: Vec<&str> = diagnostics
        .errors()
        .map(|error| error.message.as_str())
        .collect();
    assert_eq!(messages.len(), expect.len(), "of {text}\n{diagnostics}");
    for (message, part) in messages.iter().zip(expect) {
        assert!(
            message.contains(part),
            "{message:?} lacks {part:?}, of {text}"
        );
    }
    assert!(diagnostics.errors().all(|error| error.span.is_some()));
}

#[test]
fn values_are_inserted_with_their_type_or_as_text() {
    // R-GLCI-146
    let spec = "{inputs: {n: {type: number}, b: {type: boolean}, a: {type: array}, s: }}";
    let given = json!({"n": "2", "b": "true", "a": "[\"x\", {\"k\": [1]}]", "s": 12});
    check(spec, &given, "$[[ inputs.n ]]", &json!(2));
    check(spec, &given, "$[[ inputs.b ]]", &json!(true));
    check(spec, &given, "$[[ inputs.s ]]", &json!("12"));
    check(spec, &given, "$[[ inputs.a ]]", &json!(["x", {"k": [1]}]));
    check(
        spec,
        &given,
        "\"$[[ inputs.a ]] \"",
        &json!("[\"x\", {:k=>[1]}] "),
    );
    check(
        spec,
        &given,
        "$[[inputs.n]]$[[  inputs.b  ]]-$[[inputs.n]]",
        &json!("2true-2"),
    );
    check(
        spec,
        &given,
        "[0, \"$[[ inputs.a ]]\", 9]",
        &json!([0, "x", {"k": [1]}, 9]),
    );
    check(spec, &given, "[0, \" $[[ inputs.n ]]\"]", &json!([0, " 2"]));
    check(spec, &given, "{\"$[[ inputs.s ]]\": 1}", &json!({"12": 1}));
    check(
        spec,
        &given,
        "{\"k-$[[ inputs.s ]]\": 1, \"k-12\": 2}",
        &json!({"k-12": 2}),
    );
}

#[test]
fn paths_have_indexes_and_keys() {
    let spec = "{inputs: {a: {type: array, default: [x, [y, z], {k: {l: deep}}]}, \
                t: {default: \"a$[[ inputs.a ]]\"}}}";
    let check = |content, expect: Value| check(spec, &json!({}), content, &expect);
    check("$[[ inputs.a[0] ]]", json!("x"));
    check("$[[ inputs.a[1][1] ]]", json!("z"));
    check("$[[ inputs.a[2].k.l ]]", json!("deep"));
    check("$[[ inputs.a[2].k ]]", json!({"l": "deep"}));
    // Inserted values are not interpolated again.
    check("$[[ inputs.t ]]", json!("a$[[ inputs.a ]]"));
    let refused = |content, expect: &str| check_refused(spec, &json!({}), content, &[expect]);
    refused("$[[ inputs.a[9] ]]", "array index 9 is out of range");
    refused("$[[ inputs.a[-1] ]]", "invalid array index");
    refused("$[[ inputs.a[0]]]", "invalid array index");
    refused("$[[ inputs.t[0] ]]", "not an array");
    refused(
        "$[[ inputs.a[0][0][0][0][0][0] ]]",
        "too many array indexes",
    );
    refused("$[[ inputs.zzz ]]", "unknown interpolation key: `zzz`");
    refused("$[[ inputs.t.x ]]", "unknown interpolation key: `x`");
    refused("$[[ foo.t ]]", "unknown interpolation key: `foo`");
    refused("$[[ inputs ]]", "invalid interpolation access pattern");
    refused("$[[ inputs. ]]", "unknown interpolation key: ``");
    refused("$[[ || ]]", "invalid interpolation access pattern");
    refused(
        &format!("$[[ inputs.{} ]]", "x".repeat(1100)),
        "maximum interpolation expression size",
    );
}

#[test]
fn functions_are_applied_in_order() {
    let spec = "{inputs: {s: {default: abcdef}, e: {default: \"$MY-$NO\"}, q: {default: \"a b'c\"}, \
                m: {default: $SECRET}, n: {type: number, default: 5}}}";
    let check = |content, expect: Value| check(spec, &json!({}), content, &expect);
    check("$[[ inputs.s | truncate(1,2) ]]", json!("bc"));
    check("'[$[[ inputs.s | truncate(9,2) ]]]'", json!("[]"));
    check("$[[ inputs.e | expand_vars ]]", json!("value-$NO"));
    check(
        "$[[ inputs.e|expand_vars|truncate(0,3)|posix_escape ]]",
        json!("val"),
    );
    check("$[[ inputs.q | posix_escape ]]", json!("a\\ b\\'c"));
    // Inside a longer text the escaped quote means the text that follows: a quirk of GitLab.
    check("<$[[ inputs.q | posix_escape ]]>", json!("<a\\ b>c>"));
    check("$[[ inputs.s | ]]", json!("abcdef"));
    let refused = |content, expect: &str| check_refused(spec, &json!({}), content, &[expect]);
    refused(
        "$[[ inputs.n | truncate(0,1) ]]",
        "truncate can only be used with string inputs",
    );
    refused(
        "$[[ inputs.s | trunc(0,1) ]]",
        "no function matching `trunc(0,1)`",
    );
    refused(
        "$[[ inputs.s | | posix_escape ]]",
        "no function matching ``",
    );
    refused("$[[ inputs.m | expand_vars ]]", "masked");
    let four = "$[[ inputs.s | expand_vars | expand_vars | expand_vars | expand_vars ]]";
    refused(four, "too many functions");
}

#[test]
fn blocks_can_refer_to_the_component_and_the_matrix() {
    let spec = "{component: [name], inputs: {s: {default: x}}}";
    let check = |content, expect: Value| check(spec, &json!({}), content, &expect);
    check("$[[ component.name ]]-$[[ inputs.s ]]", json!("scan-x"));
    check("$[[ matrix.A ]]", json!("$[[ matrix.A ]]"));
    check(
        "a $[[ matrix.A ]] $[[ inputs.s ]]",
        json!("a $[[ matrix.A ]] x"),
    );
    check_refused(
        spec,
        &json!({}),
        "$[[ component.sha ]]",
        &["unknown interpolation key: `sha`"],
    );
    check_refused(
        spec,
        &json!({}),
        "$[[ component.nam ]]",
        &["unknown interpolation key: `nam`"],
    );
}

#[test]
fn passed_values_must_match_their_declaration() {
    let refused = |input: &str, value: Value, expect: &[&str]| {
        let spec = format!("{{inputs: {{i: {input}}}}}");
        check_refused(&spec, &json!({"i": value}), "x", expect);
    };
    refused(
        "{type: number}",
        json!("two"),
        &["provided value is not a number"],
    );
    refused(
        "{type: number}",
        json!("\"2\""),
        &["provided value is not a number"],
    );
    refused(
        "{type: boolean}",
        json!("maybe"),
        &["provided value is not a boolean"],
    );
    refused(
        "{type: array}",
        json!("a"),
        &["provided value is not an array"],
    );
    refused("{options: [a, b]}", json!("c"), &["`c` cannot be used"]);
    refused(
        "{type: number, options: [1, 2]}",
        json!(3),
        &["`3` cannot be used"],
    );
    refused("{regex: '^v\\d+$'}", json!("x"), &["does not match"]);
    refused(
        "{type: number, default: x}",
        json!(1),
        &["default value is not a number"],
    );
    refused(
        "{options: [a], default: b}",
        json!("a"),
        &["`b` cannot be used"],
    );
    refused(
        "{regex: '^a', default: b}",
        json!("c"),
        &["default value does", "provided value does"],
    );
    refused(
        "{type: number, default: ~}",
        json!(1),
        &["default value is not a number"],
    );

    let accepted = |input: &str, value: Value, expect: Value| {
        let spec = format!("{{inputs: {{i: {input}}}}}");
        check(&spec, &json!({"i": value}), "$[[ inputs.i ]]", &expect);
    };
    accepted("{type: number, options: [1, 2]}", json!("1.0"), json!(1.0));
    accepted("{options: [1, yes]}", json!("true"), json!("true"));
    accepted("{regex: '^$|b'}", json!(""), json!(""));
    accepted("{default: a}", Value::Null, json!("a"));
    accepted("{default: ~}", Value::Null, json!(""));
    accepted("{type: boolean, default: no}", Value::Null, json!(false));
    accepted("{type: array, default: []}", json!("[1]"), json!([1]));
}

#[test]
fn missing_and_unknown_inputs_are_all_named() {
    let spec = "{inputs: {a: , b: , environment: {default: x}}}";
    let given = json!({"enviroment": 1});
    let text = format!("spec: {spec}\n---\nv: x\n");
    let (_, diagnostics) = apply_to(&text, &given, &[]);
    insta::assert_snapshot!(diagnostics, @r"
    error[unknown-input]: unknown input arguments: enviroment
     --> --input:1:1
      |
    1 | enviroment=1
      | ^^^^^^^^^^^^
      |
      = help: did you mean `environment`?

    error[missing-input]: `a` input: required value has not been provided
     --> t.yml:1:17
      |
    1 | spec: {inputs: {a: , b: , environment: {default: x}}}
      |                 ^
      |
      = help: pass it with `--input a=...`, or add a `default` here

    error[missing-input]: `b` input: required value has not been provided
     --> t.yml:1:22
      |
    1 | spec: {inputs: {a: , b: , environment: {default: x}}}
      |                      ^
      |
      = help: pass it with `--input b=...`, or add a `default` here
    ");
}

#[test]
fn rules_determine_options_and_default() {
    let spec = "{inputs: {cloud: {default: aws}, size: {rules: [\
                {if: '$[[ inputs.cloud ]] == \"aws\"', default: m5, options: [m5, c5]}, \
                {if: '$[[ inputs.cloud ]] == \"gcp\"', default: n1, options: [n1]}]}}}";
    let size = "$[[ inputs.size ]]";
    check(spec, &json!({}), size, &json!("m5"));
    check(spec, &json!({"size": ""}), size, &json!("m5"));
    check(spec, &json!({"size": "c5"}), size, &json!("c5"));
    check(spec, &json!({"cloud": "gcp"}), size, &json!("n1"));
    check(
        spec,
        &json!({"cloud": "other", "size": "any"}),
        size,
        &json!("any"),
    );
    check_refused(spec, &json!({"size": "n1"}), size, &["`n1` cannot be used"]);
    check_refused(spec, &json!({"cloud": "other"}), size, &["required value"]);
    let refused = |rules: &str, expect: &[&str]| {
        check_refused(
            &format!("{{inputs: {{i: {rules}}}}}"),
            &json!({}),
            "x",
            expect,
        );
    };
    refused(
        "{rules: [{default: q, options: [n1]}]}",
        &["default must be one of its options"],
    );
    refused("{rules: [{options: [n1]}]}", &["must define a `default`"]);
    refused("{rules: [{default: a}]}", &["non-empty `options`"]);
    refused(
        "{rules: [{default: a, options: []}]}",
        &["non-empty `options`"],
    );
    refused(
        "{rules: [{default: a, options: [a], foo: 1}]}",
        &["unknown keys: foo"],
    );
    refused(
        "{rules: [{if: '== 1', default: a, options: [a]}]}",
        &["invalid expression syntax"],
    );
    refused("{rules: {default: a}}", &["should be an array"]);
    refused(
        "{options: [a], rules: [{default: a, options: [a]}]}",
        &["cannot be used together"],
    );
    refused(
        "{default: a, rules: [{default: a, options: [a]}]}",
        &["cannot be used together"],
    );
}

#[test]
fn headers_are_validated() {
    let refused = |spec: &str, expect: &[&str]| check_refused(spec, &json!({}), "x", expect);
    refused("[]", &["header:spec config should be a hash"]);
    refused(
        "{foo: 1}",
        &["header:spec config contains unknown keys: foo"],
    );
    refused(
        "{inputs: []}",
        &["header:spec:inputs config should be a hash"],
    );
    refused(
        "{inputs: {v: {foo: 1}}}",
        &["header:spec:inputs:v config contains unknown keys: foo"],
    );
    refused(
        "{inputs: {v: text}}",
        &["header:spec:inputs:v config should be a hash"],
    );
    refused("{inputs: {v: {type: text}}}", &["type unknown value"]);
    refused(
        "{inputs: {v: {options: a}}}",
        &["options should be an array"],
    );
    refused(
        "{inputs: {v: {options: [a, ~]}}}",
        &["cannot contain null values"],
    );
    refused(
        "{inputs: {v: {regex: '('}}}",
        &["invalid regular expression"],
    );
    refused("{inputs: {v: {regex: 1}}}", &["regex should be a string"]);
    refused(
        "{inputs: {v: {description: [a]}}}",
        &["description must be an alphanumeric string"],
    );
    refused(
        "{inputs: {v: {type: number, regex: a}}}",
        &["only be used with string inputs"],
    );
    refused(
        "{inputs: {v: {type: array, options: [a]}}}",
        &["string and number inputs"],
    );
    refused("{component: name}", &["should be an array"]);
    refused("{component: [nam]}", &["contains unknown values: nam"]);
    refused("{description: [a]}", &["should be a string"]);
    refused(
        "{include: [{template: a.yml}]}",
        &["unknown keys: template"],
    );
    refused(
        "{inputs: {a: {foo: 1}, b: {type: x}}, other: 1}",
        &[
            "unknown keys: other",
            "unknown keys: foo",
            "type unknown value",
        ],
    );
    let many: Vec<String> = (0..51).map(|at| at.to_string()).collect();
    refused(
        &format!("{{inputs: {{v: {{options: [{}]}}}}}}", many.join(", ")),
        &["cannot define more than 50 options"],
    );
    let (root, diagnostics) = apply_to("spec: {}\nfoo: 1\n---\nj: {script: x}\n", &json!({}), &[]);
    assert!(root.is_none());
    insta::assert_snapshot!(diagnostics, @r"
    error[unknown-keyword]: header config contains unknown keys: foo
     --> t.yml:2:1
      |
    2 | foo: 1
      | ^^^
    ");
}

#[test]
fn headers_can_include_files_of_inputs() {
    let text = "spec: {include: [{local: a.yml}, b.yml], inputs: {own: {default: o}}}\n---\n\
                v: $[[ inputs.own ]]$[[ inputs.a ]]$[[ inputs.b ]]\n";
    let a = ("a.yml", "inputs: {a: {default: 1}}");
    let (root, _) = apply_to(text, &json!({}), &[a, ("b.yml", "inputs: {b: }")]);
    assert!(root.is_none(), "b is required");
    let b = ("b.yml", "inputs: {b: {default: 2}}");
    let (root, _) = apply_to(text, &json!({}), &[a, b]);
    assert_eq!(root.unwrap().to_json(), json!({"v": "o12"}));

    let refused = |b: &str, expect: &str| {
        let (root, diagnostics) = apply_to(text, &json!({}), &[a, ("b.yml", b)]);
        assert!(root.is_none(), "{b} is accepted");
        assert!(diagnostics.to_string().contains(expect), "{diagnostics}");
    };
    refused(
        "inputs: {own: {default: o}}",
        "duplicate input keys found: own",
    );
    refused("inputs: {a: {default: o}}", "duplicate input keys found: a");
    refused(
        "inputs: {b: {default: o}}\njob: {script: x}",
        "contains unknown keys: job",
    );
}

#[test]
fn without_a_header_blocks_are_text_and_inputs_are_refused() {
    let text = "v: $[[ inputs.x ]]\n";
    let (root, diagnostics) = apply_to(text, &json!({}), &[]);
    assert_eq!(root.unwrap().to_json(), json!({"v": "$[[ inputs.x ]]"}));
    insta::assert_snapshot!(diagnostics, @"
    warning[block-without-header]: `$[[ inputs.x ]]` stays as it is: the file has no header that defines inputs
     --> t.yml:1:4
      |
    1 | v: $[[ inputs.x ]]
      |    ^^^^^^^^^^^^^^^
      |
      = help: begin the file with a document `spec: {inputs: {name: }}` and a line `---`
    ");
    for text in [
        "v: x # $[[ inputs.x ]]",
        "v: $[[ matrix.X ]]",
        "v: $[[ $x ]]",
    ] {
        let (_, diagnostics) = apply_to(text, &json!({}), &[]);
        assert_eq!(diagnostics.iter().count(), 0, "{diagnostics}");
    }
    let (_, diagnostics) = apply_to("v: [{'a $[[ component.sha ]]': 1}]", &json!({}), &[]);
    assert_eq!(diagnostics.iter().count(), 1, "{diagnostics}");
    let (root, diagnostics) = apply_to(text, &json!({"x": "1"}), &[]);
    assert!(root.is_none());
    insta::assert_snapshot!(diagnostics, @r"
    error[inputs-without-header]: given inputs not defined in the `spec` section of the included configuration file: it has no header
     --> --input:1:1
      |
    1 | x=1
      | ^^^
      |
     ::: t.yml:1:1
      |
    1 | v: $[[ inputs.x ]]
      | ------------------ the file starts here
      |
      = help: begin the file with a document `spec: {inputs: {x: }}` and a line `---`
    ");
}

#[test]
fn new_nodes_have_the_span_of_their_block() {
    let text = "spec: {inputs: {a: {type: array, default: [[1], {k: 2}]}}}\n---\n\
                é: {v: \"$[[ inputs.a ]]\"}\n";
    let (root, _) = apply_to(text, &json!({}), &[]);
    let root = root.unwrap();
    let value = root.get("é").unwrap().get("v").unwrap();
    let items = value.as_sequence().unwrap();
    for node in [
        value,
        &items[0],
        &items[0].as_sequence().unwrap()[0],
        items[1].get("k").unwrap(),
    ] {
        assert_eq!(&text[node.span.bytes()], "\"$[[ inputs.a ]]\"");
    }
}

#[test]
fn all_mistakes_in_blocks_are_shown_at_the_block() {
    let text = "spec: {inputs: {name: {default: x}}}\n---\n\
                j:\n  script:\n    - echo $[[ inputs.nmae ]] $[[ inputs.name ]]\n    - |\n      a\n      $[[ input.name ]]\n";
    let (_, diagnostics) = apply_to(text, &json!({}), &[]);
    insta::assert_snapshot!(diagnostics, @r"
    error[invalid-interpolation]: unknown interpolation key: `nmae`
     --> t.yml:5:12
      |
    5 |     - echo $[[ inputs.nmae ]] $[[ inputs.name ]]
      |            ^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `name`?

    error[invalid-interpolation]: unknown interpolation key: `input`
     --> t.yml:8:7
      |
    8 |       $[[ input.name ]]
      |       ^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `inputs`?
    ");
}

#[test]
fn interpolation_is_bounded() {
    let long = "x".repeat(1 << 20);
    let spec = format!("{{inputs: {{i: {{default: {long}}}}}}}");
    let many = "$[[ inputs.i ]]".repeat(1_000);
    check_refused(
        &spec,
        &json!({}),
        &format!("\"{many}\""),
        &["config node too large"],
    );
    let too_long = format!("{long}y");
    check_refused("{}", &json!({}), &too_long, &["config node too large"]);
    let blocks: Vec<String> = (0..10_001)
        .map(|at| format!("$[[ matrix.a{at} ]]"))
        .collect();
    let blocks = blocks.join(" ");
    check_refused(
        "{}",
        &json!({}),
        &blocks,
        &["too many interpolation blocks"],
    );
    let nodes = "0,".repeat(500_000);
    check_refused(
        "{}",
        &json!({}),
        &format!("[{nodes}]"),
        &["config too large"],
    );
}
