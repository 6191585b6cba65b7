//! References and delegated outputs.

use super::fake_library::{FakeLibrary, run};
use super::support::Served;
use executor_core::Cancellation;
use prost_types::value::Kind;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use steps::wire::v1::result::State;
use steps::wire::v1::{self, step_result};

fn request(served: &Served, steps: &str) -> v1::RunRequest {
    v1::RunRequest {
        steps: steps.to_owned(),
        ..served.request("1", "")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A function that prints a word.
fn says(word: &str) -> String {
    format!("spec:\n---\nexec: {{command: [echo, {word}]}}\n")
}

#[tokio::test]
async fn reference_is_evaluated_when_the_step_starts() {
    let mut served = Served::start().await;
    write(&served.path("work/one/func.yml"), &says("one"));
    write(&served.path("work/two/func.yml"), &says("two"));
    let chooses = "spec: {inputs: {which: {type: string}}}\n---\n\
                   run: [{name: chosen, func: '../${{ inputs.which }}'}]\n";
    write(&served.path("work/chooses/func.yml"), chooses);
    let steps = r#"
- name: decide
  script: echo '{"name":"which","value":"two"}' >>${{ output_file }}
- {name: direct, func: "./${{ steps.decide.outputs.which }}"}
- {name: inner, func: ./chooses, inputs: {which: one}}
- {name: late, script: mkdir three && printf 'spec:\n---\nexec:\n  command:\n  - echo\n  - three' >three/func.yml}
- {name: made, func: ./three}
"#;
    let (log, _) = served.run(request(&served, steps)).await;
    assert_eq!(log, "two\none\nthree\n");
    served.finish("1").await;
    let steps = "[{name: a, func: '${{ \"echo\" }}'}]";
    let (log, _) = served.run(request(&served, steps)).await;
    assert!(
        log.starts_with("ERROR: step \"a\": `echo` is not a reference"),
        "{log}"
    );
    served.stop().await;
}

#[tokio::test]
async fn reference_is_an_absolute_path_or_names_a_file() {
    let mut served = Served::start().await;
    write(&served.path("elsewhere/func.yml"), &says("elsewhere"));
    write(&served.path("elsewhere/other.yml"), &says("other"));
    write(&served.path("elsewhere/old/step.yml"), &says("old"));
    let elsewhere = served.path("elsewhere").display().to_string();
    let inner = "spec:\n---\nrun: [{name: a, func: ./old}, {name: b, func: '${{ work_dir }}/../elsewhere'}]\n";
    write(&served.path("elsewhere/inner.yml"), inner);
    let steps = format!(
        "[{{name: a, func: {elsewhere}}}, {{name: b, step: {elsewhere}/other.yml}}, {{name: c, func: {elsewhere}/inner.yml}}]"
    );
    let (log, status) = served.run(request(&served, &steps)).await;
    assert_eq!(log, "elsewhere\nother\nold\nelsewhere\n");
    assert_eq!(status.result.unwrap().state(), State::Success);
    served.stop().await;
}

#[tokio::test]
async fn process_can_return_a_step_result() {
    let mut served = Served::start().await;
    let whole = r#"
spec: {outputs: delegate}
---
exec:
  command: [sh, -c, 'echo "{\"status\": \"success\", \"outputs\": {\"text\": \"made\", \"list\": [1, \"two\"]}}" >"$1"', sh, "${{ output_file }}"]
"#;
    write(&served.path("work/whole/func.yml"), whole);
    let outer = "spec: {outputs: delegate}\n---\nrun:\n- {name: before, script: 'true'}\n- {name: whole, func: ../whole}\n\
                 delegate: whole\n";
    write(&served.path("work/outer/func.yml"), outer);
    let steps = r#"
- {name: a, func: ./outer}
- {name: b, script: "echo ${{ steps.a.outputs.text }} ${{ steps.a.outputs.list[1] }}"}
"#;
    let (log, _) = served.run(request(&served, steps)).await;
    assert_eq!(log, "made two\n");
    let id = "1".to_owned();
    let follow = v1::FollowStepsRequest { id };
    let mut told = served
        .client
        .follow_steps(follow)
        .await
        .unwrap()
        .into_inner();
    let mut outputs = None;
    while let Some(answer) = told.message().await.unwrap() {
        let step = answer.result.unwrap();
        if step.status() == step_result::Status::Success && outputs.is_none() {
            outputs = Some(step.outputs);
        }
    }
    let text = outputs.unwrap()["text"].kind.clone();
    assert_eq!(text, Some(Kind::StringValue("made".to_owned())));
    drop(told);
    served.finish("1").await;

    let wrong = whole.replace("{\\\"status", "[{\\\"status");
    write(&served.path("work/whole/func.yml"), &wrong);
    let (log, _) = served.run(request(&served, steps)).await;
    let expect = "its output file: it is not the JSON of a step result";
    assert!(log.contains(expect), "{log}");
    served.stop().await;
}

#[tokio::test]
async fn parts_of_a_reference_are_evaluated_when_the_step_starts() {
    let mut served = Served::start().await;
    let repository = served.path("repository");
    write(&repository.join("tools/hello/func.yml"), &says("hello"));
    write(&repository.join("tools/hello/other.yml"), &says("other"));
    let library = FakeLibrary::with(&[
        ("https://example.com/group/lib@v1", &repository),
        ("registry.example.com/org/lib:1.2", &repository),
    ]);
    let library = Arc::new(library);
    let nested = "spec: {inputs: {rev: {type: string}}}\n---\nrun:\n- name: a\n  func: {git: {url: example.com/group/lib, \
                  rev: '${{ inputs.rev }}', dir: tools/hello}}\n";
    write(&served.path("work/nested/func.yml"), nested);
    let steps = r#"
env: {TAG: "1.2"}
run:
- name: what
  script: echo '{"name":"dir","value":"hello"}' >>${{ output_file }}
- name: git
  func: {git: {url: "${{ vars.HOST }}/group/lib", rev: "v${{ 1 }}", dir: "tools/${{ steps.what.outputs.dir }}", file: "${{ 'other' }}.yml"}}
- name: image
  func: {oci: {registry: "registry.${{ job.HOST }}", repository: "${{ 'org' }}/lib", tag: "${{ env.TAG }}", dir: tools/hello}}
- {name: nested, func: ./nested, inputs: {rev: v1}}
"#;
    let host = v1::Variable {
        key: "HOST".to_owned(),
        value: "example.com".to_owned(),
        ..v1::Variable::default()
    };
    let job = Some(v1::Job {
        variables: vec![host],
        ..v1::Job::default()
    });
    let asked = v1::RunRequest {
        job,
        ..request(&served, steps)
    };
    let cancellation = Cancellation::new();
    let ended = run(&served, &library, asked, &cancellation).await;
    assert_eq!(ended.log, "other\nhello\nhello\n");
    assert_eq!(
        library.whats(),
        [
            "https://example.com/group/lib@v1",
            "registry.example.com/org/lib:1.2"
        ]
    );
    let image = ended.steps.iter().rfind(|told| {
        let step = told.step.as_ref();
        step.is_some_and(|step| step.name == "image")
    });
    let reference = image.unwrap().step.clone().unwrap().step.unwrap();
    let told = [reference.registry, reference.repository, reference.tag];
    assert_eq!(told, ["registry.example.com", "org/lib", "1.2"]);
    served.finish("1").await;

    let steps = "[{name: a, func: {git: {url: example.com/a, rev: v1, dir: '${{ \"../x\" }}'}}}]";
    let (log, _) = served.run(request(&served, steps)).await;
    let expect =
        "ERROR: step \"a\": git: `dir` must be below the root, and `file` a file name in it\n";
    assert_eq!(log, expect);
    served.stop().await;
}
