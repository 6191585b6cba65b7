use super::expression::Template;
use super::{Action, Function, Outputs, Place, Reference, Target, ValueType};

fn parse(text: &str) -> Function {
    Function::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn function_with_exec_is_read() {
    let function = parse(
        r#"
spec:
  inputs:
    message: {type: string, description: what to say}
    count: {type: number, default: 1}
    token: {type: string, default: x, sensitive: true}
  outputs:
    path: {type: string}
    done: {type: boolean, default: false}
---
env:
  A: "${{ inputs.message }}"
  B: 1
exec:
  command: [./greet, "${{ inputs.message }}"]
  work_dir: ${{ func_dir }}
"#,
    );
    let types: Vec<_> = function.inputs.values().map(|it| it.value_type).collect();
    assert_eq!(types, [ValueType::Number, ValueType::Text, ValueType::Text]);
    assert!(function.inputs["message"].default.is_none());
    assert!(function.inputs["token"].is_sensitive);
    assert!(
        function.inputs["token"]
            .default
            .as_ref()
            .is_some_and(|it| it.is_sensitive)
    );
    let Outputs::Declared(outputs) = &function.outputs else {
        panic!("expected declared outputs");
    };
    assert!(outputs["path"].default.is_none() && outputs["done"].default.is_some());
    assert_eq!(function.env.len(), 2);
    let Action::Exec(exec) = &function.action else {
        panic!("expected a program");
    };
    assert!(exec.command[0].is_plain() && !exec.command[1].is_plain());
    assert!(exec.work_dir.is_some());
}

#[test]
fn function_with_steps_is_read() {
    let function = parse(
        r#"
spec:
  outputs: delegate
---
run:
  - name: one
    func: ./one
    inputs: {a: 1, b: ["${{ inputs.x }}"]}
  - name: two
    step: {git: {url: example.com/a/b, rev: main, dir: sub, file: s.yml}}
    env: {A: b}
  - name: three
    script: echo ${{ steps.one.outputs.x }}
  - name: four
    func: {oci: {registry: r.example.com, repository: a/b, tag: "1"}}
  - name: five
    func: ./${{ steps.one.outputs.where }}
  - name: six
    func: {git: {url: example.com/a/b, rev: "${{ inputs.rev }}"}}
delegate: two
"#,
    );
    assert_eq!(function.outputs, Outputs::Delegated);
    let Action::Run(sequence) = function.action else {
        panic!("expected steps");
    };
    assert_eq!(sequence.delegate.as_deref(), Some("two"));
    let kinds = sequence.steps.iter().map(|call| match &call.target {
        Target::Script(_) => "script",
        Target::Function(Reference::Dynamic(_)) => "dynamic",
        Target::Function(Reference::Fixed(Place::Local(_))) => "local",
        Target::Function(Reference::Fixed(Place::Git { .. })) => "git",
        Target::Function(Reference::Fixed(Place::Oci { .. })) => "oci",
        Target::Function(Reference::Fixed(Place::Builtin(_))) => "builtin",
        Target::Function(Reference::Parts(_)) => "parts",
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["local", "git", "script", "oci", "dynamic", "parts"]
    );
}

#[test]
fn job_steps_are_read_in_every_form() {
    let check = |text: &str, expect: usize| {
        let function = Function::of_job(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let Action::Run(sequence) = function.action else {
            panic!("expected steps");
        };
        assert_eq!(sequence.steps.len(), expect, "{text}");
    };
    check(
        r#"[{"name":"a","script":"x"},{"name":"b","func":"./b"}]"#,
        2,
    );
    check(r#"{"run":[{"name":"a","script":"x"}]}"#, 1);
    check(r#"{"name":"a","step":"./x"}"#, 1);
    check("{}\n---\nrun:\n- name: a\n  script: |\n    x\n", 1);
}

#[test]
fn file_errors_are_reported() {
    let check = |text: &str, expect: &str| {
        let read = Function::parse(text).map_err(|error| error.to_string());
        assert_eq!(read, Err(expect.to_owned()), "{text}");
    };
    let two = "expected two documents: `spec:`, and after a line `---` the definition";
    check("", two);
    check("spec:", two);
    check("spec:\n---\na: b\n---\n", two);
    check("[]\n---\n{}", "expected a mapping of keys to values");
    check("spc:\n  x: 1\n---\n{}", "`spc` is unknown");
    check("spec: {inputz: {}}\n---\n{}", "spec: `inputz` is unknown");
    check("spec:\n---\n", "expected `exec` or `run`");
    check(
        "spec:\n---\nexec: {}",
        "exec: `command` is missing: expected a list of the program and its arguments",
    );
    check(
        "spec:\n---\nexec: {command: ls}",
        "exec: `command` is not a list",
    );
    check(
        "spec:\n---\nexec: {command: [[]]}",
        "exec: `command` has an element that is not a string",
    );
    check(
        "spec:\n---\nexec: {command: [a]}\nrun: []",
        "expected either `exec` or `run`, found both",
    );
    check(
        "spec:\n---\nexec: {command: [a]}\ndelegate: x",
        "`delegate` is unknown",
    );
    let type_message = "inputs.a: expected `type` to be string, number, boolean, struct or array";
    check("spec: {inputs: {a: }}\n---\n", type_message);
    check("spec: {inputs: {a: {type: text}}}\n---\n", type_message);
    check(
        "spec: {inputs: {a: {type: number, default: x}}}\n---\n",
        "inputs.a: its default is a string, not a number",
    );
    check(
        "spec: {inputs: {a: {type: array, default: 1}}}\n---\n",
        "inputs.a: its default is a number, not an array",
    );
    check(
        "spec: {outputs: {a-b: {type: number}}}\n---\n",
        "outputs: `a-b` is not a name: expected letters, digits and underscores, without a digit first",
    );
    check(
        "spec: {outputs: delegate}\n---\nrun: [{name: a, script: x}]",
        "`outputs: delegate` requires a `delegate: STEP` after the `---`",
    );
    check(
        "spec: {outputs: delegate}\n---\nrun: [{name: a, script: x}]\ndelegate: b",
        "`delegate`: unknown step `b`",
    );
    check(
        "spec:\n---\nrun: [{name: a, script: x}]\noutputs: {b: 1}",
        "`outputs.b` is not in the specification",
    );
}

#[test]
fn string_scalars_keep_their_spelling() {
    let text = "env: {VERSION: 1.10, SHA: 1234567e5, EMPTY: }\nrun:\n- {name: a, script: true}\n- {name: b, func: \
                {oci: {registry: r.example.com, repository: a, tag: 1.0}}, inputs: {n: 1.10}}\n";
    let function = Function::of_job(text).unwrap();
    let env: Vec<_> = function.env.values().map(Template::source).collect();
    assert_eq!(env, ["", "1234567e5", "1.10"]);
    let Action::Run(sequence) = function.action else {
        panic!("expected steps");
    };
    assert!(
        matches!(&sequence.steps[0].target, Target::Script(script) if script.source() == "true")
    );
    assert!(matches!(
        &sequence.steps[1].target,
        Target::Function(Reference::Fixed(Place::Oci { tag, .. })) if tag == "1.0"
    ));
    let number = crate::language::Value::number(1.1);
    assert_eq!(
        sequence.steps[1].inputs["n"],
        super::Argument::Plain(number)
    );
}

#[test]
fn step_errors_are_reported() {
    let check = |text: &str, expect: &str| {
        let error = Function::of_job(text).expect_err(text);
        assert_eq!(error.to_string(), expect, "{text}");
    };
    check("", "there are no steps");
    check(
        "spc: {}\n---\nrun: [{name: a, script: x}]",
        "`spc` is unknown",
    );
    check(
        "{run: [{name: a, script: x}], delegate: a}",
        "`delegate` requires `outputs: delegate` in the specification",
    );
    check("[]", "there are no steps");
    check("a: b", "expected `exec` or `run`");
    check("[7]", "step 1: expected a mapping of keys to values");
    check("[{script: a}]", "step 1: `name` is missing");
    check(
        "[{name: a}]",
        "step 1: expected one of `func`, `step` and `script`",
    );
    check(
        "[{name: a, func: ./a, step: ./a}]",
        "step 1: expected one of `func`, `step` and `script`",
    );
    check(
        "[{name: a, script: x, inputs: {b: 1}}]",
        "step 1: a `script` has no `inputs`",
    );
    check(
        "[{name: a, script: x, when: y}]",
        "step 1: `when` is unknown",
    );
    check(
        "[{name: a-b, script: x}]",
        "step 1: its name `a-b` is not a name: expected letters, digits and underscores, without a digit first",
    );
    check(
        "[{name: a, action: x}]",
        "step 1: `action` is not supported: GitLab removed it from the language",
    );
    check(
        "[{name: a, func: {git: {url: x}}}]",
        "step 1: git: `rev` is missing",
    );
    check(
        "[{name: a, func: {git: {url: x, rev: y, dir: ../z}}}]",
        "step 1: git: `dir` must be below the root, and `file` a file name in it",
    );
    check(
        "[{name: a, func: {git: {url: x, rev: '${{ y'}}}]",
        "step 1: git: `rev`: unterminated expression: `}}` is missing, at character 1",
    );
    check(
        "[{name: a, func: {zip: x}}]",
        "step 1: expected either `git` or `oci` in a reference",
    );
    check(
        "[{name: a, script: '${{ x'}]",
        "step 1: `script`: unterminated expression: `}}` is missing, at character 1",
    );
    check(
        "[{name: a, func: ./a, inputs: {b: ['${{ 1 1 }}']}}]",
        "step 1: `inputs.b`: expected an operator or `}}`, at character 7",
    );
}

#[test]
fn step_names_may_repeat() {
    let function = Function::parse("spec:\n---\nrun: [{name: a, script: x}, {name: a, script: y}]");
    assert!(function.is_ok(), "{function:?}");
}
