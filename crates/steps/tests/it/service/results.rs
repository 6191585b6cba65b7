//! Step results contain evaluated expressions and no secrets.

use super::support::Served;
use prost::Message;
use std::fs;
use std::path::Path;
use steps::wire::v1::result::State;
use steps::wire::v1::{self, StepResult};

const SECRET: &str = "hunter2hunter2";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns a request with these steps in YAML, and an unmasked variable TOKEN.
fn request(served: &Served, steps: &str) -> v1::RunRequest {
    let token = v1::Variable {
        key: "TOKEN".to_owned(),
        value: SECRET.to_owned(),
        ..v1::Variable::default()
    };
    v1::RunRequest {
        steps: steps.to_owned(),
        job: Some(v1::Job {
            variables: vec![token],
            ..v1::Job::default()
        }),
        ..served.request("1", "")
    }
}

async fn results(served: &mut Served) -> Vec<StepResult> {
    let id = "1".to_owned();
    let answer = served
        .client
        .follow_steps(v1::FollowStepsRequest { id })
        .await;
    let mut answers = answer.unwrap().into_inner();
    let mut results = Vec::new();
    while let Some(answer) = answers.message().await.unwrap() {
        results.extend(answer.result);
    }
    results
}

/// Returns whether a text of the results contains another.
fn have(results: &[StepResult], text: &str) -> bool {
    let has = |result: &StepResult| {
        let bytes = result.encode_to_vec();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    results.iter().any(has)
}

/// A function that leaks a secret wherever possible.
const LEAKS: &str = r#"
spec:
  inputs: {tok: {type: string, sensitive: true}}
  outputs: {leak: {type: string}, keys: {type: struct}}
---
exec:
  command:
    - sh
    - -c
    - |
      echo "{\"name\":\"leak\",\"value\":\"$1\"}" >>"$2"
      echo "{\"name\":\"keys\",\"value\":{\"$1\":[{\"$1\":1}]}}" >>"$2"
      echo "{\"name\":\"EXP\",\"value\":\"$1\"}" >>"$3"
      echo "{\"name\":\"$1\",\"value\":\"named\"}" >>"$3"
    - sh
    - ${{ inputs.tok }}
    - ${{ output_file }}
    - ${{ export_file }}
"#;

#[tokio::test]
async fn leaked_secret_is_masked_in_all_results() {
    let mut served = Served::start().await;
    write(&served.path("work/leaks/func.yml"), LEAKS);
    write(
        &served.path("work/where/func.yml"),
        "spec: {inputs: {dir: {type: string}}}\n---\nexec: {command: [echo, done], work_dir: '${{ inputs.dir }}'}\n",
    );
    let steps = r#"
- {name: a, func: ./leaks, inputs: {tok: "${{ vars.TOKEN }}"}}
- {name: b, script: "mkdir $A && echo $A", env: {A: "${{ steps.a.outputs.leak }}", C: "${{ env.EXP }}"}}
- {name: c, func: ./where, inputs: {dir: "${{ steps.a.outputs.leak }}"}, env: {D: "x ${{ vars.TOKEN }}"}}
- {name: d, func: "./${{ steps.a.outputs.leak }}/none"}
"#;
    let (log, status) = served.run(request(&served, steps)).await;
    assert!(
        log.starts_with("[MASKED]\ndone\nERROR: step \"d\""),
        "{log}"
    );
    let result = status.result.unwrap();
    assert_eq!(result.state(), State::Failure);
    let results = results(&mut served).await;
    assert!(
        have(&results, "[MASKED]") && !have(&results, SECRET),
        "{results:?}"
    );
    assert!(!log.contains(SECRET) && !result.message.contains(SECRET));
    served.stop().await;
}

#[tokio::test]
async fn secret_numbers_and_structs_are_masked() {
    let mut served = Served::start().await;
    let keeper = r#"
spec:
  inputs:
    pin: {type: number, sensitive: true}
    login: {type: struct, sensitive: true}
---
exec: {command: [echo, "${{ inputs.pin }}", "${{ inputs.login }}", "${{ inputs.login.port }}"]}
"#;
    write(&served.path("work/keeper/func.yml"), keeper);
    let steps = r#"[{name: a, func: ./keeper, inputs: {pin: 40961234, login: {accountname: "me and you", port: 81234}}}]"#;
    let (log, _) = served.run(request(&served, steps)).await;
    assert_eq!(log, "[MASKED] [MASKED] [MASKED]\n");
    let results = results(&mut served).await;
    let secrets = ["40961234", "81234", "accountname", "me and you"];
    for secret in secrets {
        assert!(!have(&results, secret), "{secret}: {results:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn block_scalar_with_one_expression_keeps_its_type() {
    let mut served = Served::start().await;
    let takes = r#"
spec:
  inputs: {list: {type: array}, count: {type: number}, text: {type: string}}
  outputs: {last: {type: number}}
---
run:
  - name: show
    script: echo "${{ inputs.list }} ${{ inputs.count + 1 }} <${{ inputs.text }}>"
outputs:
  last: |
    ${{ inputs.list[1] }}
"#;
    write(&served.path("work/takes/func.yml"), takes);
    let steps = r#"
- name: a
  func: ./takes
  inputs:
    list: |
      ${{ [1, 2] }}
    count: >
        ${{ 41 }}

    text: |
      ${{ 5 }}
- {name: b, script: "echo ${{ steps.a.outputs.last + 1 }}"}
"#;
    let (log, _) = served.run(request(&served, steps)).await;
    assert_eq!(log, "[1,2] 42 <5\n>\n3\n");
    served.stop().await;
}
