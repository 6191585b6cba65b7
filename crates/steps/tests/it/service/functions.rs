//! Functions of the step language, run by the service.

use super::support::Served;
use prost_types::value::Kind;
use std::fs;
use std::path::Path;
use steps::wire::v1::result::{ErrorKind, State};
use steps::wire::v1::{self, StepResult, step_result};

/// Returns a request with these steps in YAML.
fn request(served: &Served, steps: &str) -> v1::RunRequest {
    v1::RunRequest {
        steps: steps.to_owned(),
        ..served.request("1", "")
    }
}

/// Writes a file, and creates its directories.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn variable(key: &str, value: &str, masked: bool) -> v1::Variable {
    v1::Variable {
        key: key.to_owned(),
        value: value.to_owned(),
        masked,
        ..v1::Variable::default()
    }
}

/// Returns the final results of all steps.
async fn ends(served: &mut Served) -> Vec<StepResult> {
    let id = "1".to_owned();
    let answer = served
        .client
        .follow_steps(v1::FollowStepsRequest { id })
        .await;
    let mut answers = answer.unwrap().into_inner();
    let mut results = Vec::new();
    while let Some(answer) = answers.message().await.unwrap() {
        let result = answer.result.unwrap();
        if result.status() != step_result::Status::Running {
            results.push(result);
        }
    }
    results
}

const ECHO: &str = r#"
spec:
  inputs:
    message: {type: string}
    times: {type: number, default: 1}
  outputs:
    said: {type: string}
    count: {type: number, default: 7}
---
exec:
  command: [sh, -c, 'echo "$1"; echo "{\"name\":\"said\",\"value\":\"$1!\"}" >>"$2"', sh, "${{ inputs.message }}", "${{ output_file }}"]
"#;

#[tokio::test]
async fn function_in_a_directory_has_inputs_and_outputs() {
    let mut served = Served::start().await;
    write(&served.path("work/echo/func.yml"), ECHO);
    let mut request = request(
        &served,
        r#"
- name: first
  func: ./echo
  inputs: {message: "hello ${{ vars.WHO }}"}
- name: second
  step: ./echo
  inputs: {message: "${{ steps.first.outputs.said }} ${{ steps.first.outputs.count + 1 }}"}
- name: third
  script: echo "from ${{ steps.second.outputs.said }}"
"#,
    );
    request.quiet = false;
    request.job = Some(v1::Job {
        variables: vec![variable("WHO", "Sally", false)],
        ..v1::Job::default()
    });
    let (log, status) = served.run(request).await;
    assert_eq!(
        log,
        "Running step \"first\"\nhello Sally\nRunning step \"second\"\nhello Sally! 8\nRunning step \
         \"third\"\nfrom hello Sally! 8!\n"
    );
    assert_eq!(status.result.unwrap().state(), State::Success);
    let results = ends(&mut served).await;
    let names: Vec<_> = results
        .iter()
        .map(|it| it.step.clone().unwrap().name)
        .collect();
    assert_eq!(names, ["first", "second", "third"]);
    // As run, and as written.
    let second = &results[1];
    let given = second.step.as_ref().unwrap().inputs["message"].kind.clone();
    assert_eq!(given, Some(Kind::StringValue("hello Sally! 8".to_owned())));
    let written = second.spec_definition.clone().unwrap().definition.unwrap();
    assert_eq!(written.exec.unwrap().command[4], "${{ inputs.message }}");
    assert_eq!(second.outputs["count"].kind, Some(Kind::NumberValue(7.0)));
    let exec = second.exec_result.clone().unwrap();
    assert_eq!((&*exec.command[4], exec.exit_code), ("hello Sally! 8", 0));
    served.stop().await;
}

#[tokio::test]
async fn function_runs_sibling_functions() {
    let mut served = Served::start().await;
    write(&served.path("work/lib/echo/func.yml"), ECHO);
    let outer = r#"
spec:
  inputs: {who: {type: string}}
  outputs: {text: {type: string}}
---
run:
  - name: one
    func: ../echo
    inputs: {message: "${{ inputs.who }}"}
  - name: two
    func: ${{ func_dir }}/../echo
    inputs: {message: "${{ steps.one.outputs.said }}"}
outputs:
  text: "${{ steps.two.outputs.said }}?"
"#;
    write(&served.path("work/lib/outer/func.yml"), outer);
    let delegates = "spec: {outputs: delegate}\n---\nrun: [{name: a, func: ./outer, inputs: {who: you}}]\ndelegate: a\n";
    write(&served.path("work/lib/delegates.yml"), delegates);
    let steps = r#"
- {name: a, func: ./lib/delegates.yml}
- {name: b, script: "echo ${{ steps.a.outputs.text }}"}
"#;
    let (log, status) = served.run(request(&served, steps)).await;
    assert_eq!(log, "you\nyou!\nyou!!?\n");
    assert_eq!(status.result.unwrap().state(), State::Success);
    let results = ends(&mut served).await;
    let inner = &results[0].sub_step_results[0].sub_step_results;
    let names: Vec<_> = inner
        .iter()
        .map(|it| it.step.clone().unwrap().name)
        .collect();
    assert_eq!(names, ["one", "two"]);
    // Outputs of inner steps are not visible outside.
    served.finish("1").await;
    let steps = "[{name: a, func: ./lib/delegates.yml}, {name: b, script: 'echo ${{ steps.one.outputs.said }}'}]";
    let (log, status) = served.run(request(&served, steps)).await;
    let expect = "ERROR: step \"b\": script: \"one\" was not found, at character 10";
    assert!(log.contains(expect), "{log}");
    assert_eq!(status.result.unwrap().error_kind(), ErrorKind::StepFailure);
    served.stop().await;
}

#[tokio::test]
async fn step_environment_has_five_sources() {
    let mut served = Served::start().await;
    let show = r"
spec:
---
env: {A: definition}
exec: {command: [sh, -c, 'echo $A $B $C $D $E']}
";
    write(&served.path("work/show/func.yml"), show);
    let steps = r#"
env: {A: sequence, B: sequence, C: sequence}
run:
  - name: export
    script: |
      for name in A B C D; do echo "{\"name\":\"$name\",\"value\":\"exported\"}" >>${{ export_file }}; done
  - name: show
    func: ./show
    env: {A: invocation, B: invocation}
  - name: script
    script: echo $A $B $C $D $E ${{ env.D }}
    env: {A: "of ${{ env.A }}"}
"#;
    let mut request = request(&served, steps);
    for name in ["A", "B", "C", "D", "E"] {
        request.env.insert(name.to_owned(), "runner".to_owned());
    }
    let (log, _) = served.run(request).await;
    assert_eq!(
        log,
        "definition invocation sequence exported runner\nof sequence sequence sequence exported runner \
         exported\n"
    );
    served.stop().await;
}

#[tokio::test]
async fn secrets_reach_only_sensitive_inputs_and_no_output() {
    let mut served = Served::start().await;
    let keeper = r#"
spec:
  inputs:
    token: {type: string, sensitive: true}
  outputs:
    made: {type: string, sensitive: true}
---
exec:
  command: [sh, -c, 'echo "got $1"; echo "{\"name\":\"made\",\"value\":\"fresh-secret-$1\"}" >>"$2"', sh, "${{ inputs.token }}", "${{ output_file }}"]
"#;
    write(&served.path("work/keeper/func.yml"), keeper);
    write(&served.path("work/echo/func.yml"), ECHO);
    let job = Some(v1::Job {
        variables: vec![variable("TOKEN", "hunter2hunter2", true)],
        ..v1::Job::default()
    });
    let steps = r#"
- {name: a, func: ./keeper, inputs: {token: "${{ vars.TOKEN }}"}}
- {name: b, script: "echo made ${{ steps.a.outputs.made }}"}
"#;
    let asked = v1::RunRequest {
        job,
        ..request(&served, steps)
    };
    let (log, status) = served.run(asked).await;
    assert_eq!(log, "got [MASKED]\nmade [MASKED]\n");
    assert_eq!(status.result.unwrap().state(), State::Success);
    let told = format!(
        "{:?}",
        ends(&mut served)
            .await
            .iter()
            .map(prost::Message::encode_to_vec)
            .collect::<Vec<_>>()
    );
    let bytes = |text: &str| {
        let list = format!("{:?}", text.as_bytes());
        list.trim_matches(['[', ']']).to_owned()
    };
    assert!(told.contains(&bytes("[MASKED]")) && !told.contains(&bytes("hunter2")));
    served.finish("1").await;

    let steps = r#"
- {name: a, func: ./keeper, inputs: {token: any}}
- {name: b, func: ./echo, inputs: {message: "x ${{ steps.a.outputs.made }}"}}
"#;
    let (log, _) = served.run(request(&served, steps)).await;
    let expect = "got [MASKED]\nERROR: step \"b\": input \"message\" would be a secret, but is not declared with `sensitive: true`\n";
    assert_eq!(log, expect);
    served.stop().await;
}

#[tokio::test]
async fn errors_name_the_step() {
    let mut served = Served::start().await;
    write(&served.path("work/echo/func.yml"), ECHO);
    write(
        &served.path("work/bad/func.yml"),
        "spec:\n---\nrun: [{name: a}]\n",
    );
    write(
        &served.path("work/loop/func.yml"),
        "spec:\n---\nrun: [{name: again, func: .}]\n",
    );
    write(
        &served.path("work/exit/func.yml"),
        "spec:\n---\nexec: {command: [sh, -c, 'exit 42']}\n",
    );
    write(
        &served.path("work/silent/func.yml"),
        "spec: {outputs: {a: {type: string}}}\n---\nexec: {command: ['true']}\n",
    );
    write(
        &served.path("work/chatty/func.yml"),
        "spec:\n---\nexec: {command: [sh, -c, 'echo x=1 >>\"$0\"', '${{ output_file }}']}\n",
    );
    let mut check = async |steps: &str, expect: &str| {
        let (log, status) = served.run(request(&served, steps)).await;
        let result = status.result.unwrap();
        let told = format!("{log}{}", result.message);
        assert!(told.contains(expect), "{steps}: {told}");
        assert_eq!(result.state(), State::Failure, "{steps}");
        served.finish("1").await;
        status.exit_code
    };
    check(
        "[{name: a, func: ./nothing}]",
        "step \"a\": there is no func.yml and no step.yml in ",
    )
    .await;
    check(
        "[{name: a, func: ./bad}]",
        "work/./bad/func.yml: step 1: expected one of",
    )
    .await;
    check(
        "[{name: a, func: ./loop}]",
        "functions are nested more than 32 deep",
    )
    .await;
    check(
        "[{name: a, func: ./echo}]",
        "it requires input \"message\" of type string",
    )
    .await;
    check(
        "[{name: a, func: ./echo, inputs: {message: a, massage: b}}]",
        "it has no input \"massage\"; declared are message, times",
    )
    .await;
    check(
        "[{name: a, func: ./silent}]",
        "its output file: it did not set output \"a\"",
    )
    .await;
    check(
        "[{name: a, func: ./chatty}]",
        "its output file: line 1: expected a JSON object",
    )
    .await;
    assert_eq!(
        check("[{name: a, func: ./exit}]", "exit status 42").await,
        42
    );
    served.stop().await;
}
