use super::expression::Template;
use super::{Action, Function, Outputs, Place, Reference, Target, ValueType};

fn parse(text: &str) -> Function {
    Function::parse(text).unwrap_or_else(|wrong| panic!("{wrong}: {text}"))
}

#[test]
fn a_function_that_runs_a_program() {
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
        panic!("declared");
    };
    assert!(outputs["path"].default.is_none() && outputs["done"].default.is_some());
    assert_eq!(function.env.len(), 2);
    let Action::Exec(exec) = &function.action else {
        panic!("a program");
    };
    assert!(exec.command[0].is_plain() && !exec.command[1].is_plain());
    assert!(exec.work_dir.is_some());
}

#[test]
fn a_function_that_runs_others() {
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
        panic!("steps");
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
fn the_steps_of_a_job_come_in_several_forms() {
    let check = |text: &str, expect: usize| {
        let function = Function::of_job(text).unwrap_or_else(|wrong| panic!("{wrong}: {text}"));
        let Action::Run(sequence) = function.action else {
            panic!("steps");
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
fn what_is_wrong_in_a_file_is_told() {
    let check = |text: &str, expect: &str| {
        let read = Function::parse(text).map_err(|error| error.to_string());
        assert_eq!(read, Err(expect.to_owned()), "{text}");
    };
    let two = "it has two documents: `spec:`, and behind a line `---` what the step does";
    check("", two);
    check("spec:", two);
    check("spec:\n---\na: b\n---\n", two);
    check("[]\n---\n{}", "it is no mapping of keys to values");
    check("spc:\n  x: 1\n---\n{}", "`spc` is unknown");
    check("spec: {inputz: {}}\n---\n{}", "spec: `inputz` is unknown");
    check(
        "spec:\n---\n",
        "it has neither `exec` nor `run`, and does nothing",
    );
    check(
        "spec:\n---\nexec: {}",
        "exec: `command` is missing: a list of the program and its arguments",
    );
    check(
        "spec:\n---\nexec: {command: ls}",
        "exec: `command` is no list",
    );
    check(
        "spec:\n---\nexec: {command: [[]]}",
        "exec: `command` has something in it that is no text",
    );
    check(
        "spec:\n---\nexec: {command: [a]}\nrun: []",
        "it has both `exec` and `run`, and does one of them",
    );
    check(
        "spec:\n---\nexec: {command: [a]}\ndelegate: x",
        "`delegate` is unknown",
    );
    let type_words = "inputs.a: its `type` is one of string, number, boolean, struct and array";
    check("spec: {inputs: {a: }}\n---\n", type_words);
    check("spec: {inputs: {a: {type: text}}}\n---\n", type_words);
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
        "outputs: `a-b` is no name: letters, digits and underscores, and no digit first",
    );
    check(
        "spec: {outputs: delegate}\n---\nrun: [{name: a, script: x}]",
        "`outputs: delegate` needs a `delegate: STEP` behind the `---`",
    );
    check(
        "spec: {outputs: delegate}\n---\nrun: [{name: a, script: x}]\ndelegate: b",
        "`delegate`: there is no step `b`",
    );
    check(
        "spec:\n---\nrun: [{name: a, script: x}]\noutputs: {b: 1}",
        "`outputs.b` is not in the specification",
    );
}

#[test]
fn scalars_that_are_wanted_as_texts_are_as_they_were_written() {
    let text = "env: {VERSION: 1.10, SHA: 1234567e5, EMPTY: }\nrun:\n- {name: a, script: true}\n- {name: b, func: \
                {oci: {registry: r.example.com, repository: a, tag: 1.0}}, inputs: {n: 1.10}}\n";
    let function = Function::of_job(text).unwrap();
    let env: Vec<_> = function.env.values().map(Template::source).collect();
    assert_eq!(env, ["", "1234567e5", "1.10"]);
    let Action::Run(sequence) = function.action else {
        panic!("steps");
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
fn what_is_wrong_with_a_step_is_told() {
    let check = |text: &str, expect: &str| {
        let wrong = Function::of_job(text).expect_err(text);
        assert_eq!(wrong.to_string(), expect, "{text}");
    };
    check("", "there are no steps");
    check(
        "spc: {}\n---\nrun: [{name: a, script: x}]",
        "`spc` is unknown",
    );
    check(
        "{run: [{name: a, script: x}], delegate: a}",
        "`delegate` needs `outputs: delegate` in the specification",
    );
    check("[]", "there are no steps");
    check("a: b", "it has neither `exec` nor `run`, and does nothing");
    check("[7]", "step 1: it is no mapping of keys to values");
    check("[{script: a}]", "step 1: `name` is missing");
    check(
        "[{name: a}]",
        "step 1: it has one of `func`, `step` and `script`",
    );
    check(
        "[{name: a, func: ./a, step: ./a}]",
        "step 1: it has one of `func`, `step` and `script`",
    );
    check(
        "[{name: a, script: x, inputs: {b: 1}}]",
        "step 1: a `script` takes no `inputs`",
    );
    check(
        "[{name: a, script: x, when: y}]",
        "step 1: `when` is unknown",
    );
    check(
        "[{name: a-b, script: x}]",
        "step 1: its name `a-b` is no name: letters, digits and underscores, and no digit first",
    );
    check(
        "[{name: a, action: x}]",
        "step 1: `action` is not supported: GitLab has taken it out of the language",
    );
    check(
        "[{name: a, func: {git: {url: x}}}]",
        "step 1: git: `rev` is missing",
    );
    check(
        "[{name: a, func: {git: {url: x, rev: y, dir: ../z}}}]",
        "step 1: git: `dir` is below the root, and `file` is in it",
    );
    check(
        "[{name: a, func: {git: {url: x, rev: '${{ y'}}}]",
        "step 1: git: `rev`: this expression has no end: `}}` is missing, at character 1",
    );
    check(
        "[{name: a, func: {zip: x}}]",
        "step 1: a reference has one of `git` and `oci`",
    );
    check(
        "[{name: a, script: '${{ x'}]",
        "step 1: `script`: this expression has no end: `}}` is missing, at character 1",
    );
    check(
        "[{name: a, func: ./a, inputs: {b: ['${{ 1 1 }}']}}]",
        "step 1: `inputs.b`: an operator or `}}` is expected here, at character 7",
    );
}

#[test]
fn two_steps_may_have_one_name() {
    let function = Function::parse("spec:\n---\nrun: [{name: a, script: x}, {name: a, script: y}]");
    assert!(function.is_ok(), "{function:?}");
}
