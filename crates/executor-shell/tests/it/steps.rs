//! Stages of steps.

use crate::support::{Fixture, config};
use executor_core::prelude::*;
use executor_core::{BuildStage, CancelCause, FileVariable};
use std::fs;

fn stage(fixture: &Fixture, steps: &str) -> StageCommand {
    StageCommand {
        stage: BuildStage::StepRun,
        ..fixture.command(steps)
    }
}

#[tokio::test]
async fn steps_run_in_the_project_directory_with_job_variables() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set("WHO", "Sally");
    fixture.variables.files.push(FileVariable {
        key: "KEY".to_owned(),
        content: b"from a file\n".to_vec(),
    });
    let project = fixture.environment.workspace.dirs().project_dir.clone();
    fs::create_dir(format!("{project}/greet")).unwrap();
    let function = "spec: {inputs: {who: {type: string}}}\n---\nexec: {command: [echo, 'hello ${{ inputs.who }}']}\n";
    fs::write(format!("{project}/greet/func.yml"), function).unwrap();
    let command = stage(
        &fixture,
        r#"[{"name": "a", "func": "./greet", "inputs": {"who": "${{ vars.WHO }}"}},
            {"name": "b", "script": "cat $KEY; pwd; exit 7"},
            {"name": "c", "script": "echo never"}]"#,
    );
    let ran = fixture.executor.run(command, &Cancellation::new()).await;
    assert_eq!(ran.unwrap().status, StageStatus::Exited(ExitCode(7)));
    let expect =
        format!("Running step \"a\"\nhello Sally\nRunning step \"b\"\nfrom a file\n{project}\n");
    assert_eq!(fixture.log.stdout(), expect);
    // A later stage uses the same directory and service.
    let again = stage(&fixture, r#"[{"name": "a", "script": "ls"}]"#);
    let ran = fixture.executor.run(again, &Cancellation::new()).await;
    assert!(ran.unwrap().status.is_success());
    assert!(fixture.log.stdout().ends_with("greet\n"));
    let temp_dir = fixture.environment.workspace.dirs().temp_dir.clone();
    fixture.executor.cleanup().await.unwrap();
    assert!(!fs::exists(temp_dir).unwrap());
}

#[tokio::test]
async fn invalid_steps_are_a_configuration_error() {
    let mut fixture = Fixture::new(config()).await;
    let command = stage(&fixture, r#"[{"name": "a", "func": "./b", "script": "x"}]"#);
    let ran = fixture.executor.run(command, &Cancellation::new()).await;
    let error = ran.unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    assert!(error.chain().contains("step 1"), "{}", error.chain());
    fixture.executor.cleanup().await.unwrap();
}

#[tokio::test]
async fn cancel_leaves_no_steps() {
    let mut fixture = Fixture::new(config()).await;
    let command = stage(
        &fixture,
        r#"[{"name": "a", "script": "trap 'echo asked; exit 0' TERM; setsid sleep 600 & echo pid $!.; wait"},
            {"name": "b", "script": "echo never"}]"#,
    );
    let cancellation = Cancellation::new();
    let log = Arc::clone(&fixture.log);
    let stop = async {
        log.wait_for(".\n").await;
        cancellation.cancel(CancelCause::User);
    };
    let (ran, ()) = tokio::join!(fixture.executor.run(command, &cancellation), stop);
    assert!(
        matches!(ran, Err(BuildError::Canceled(CancelCause::User))),
        "{ran:?}"
    );
    fixture.executor.cleanup().await.unwrap();
    let text = fixture.log.stdout();
    assert!(text.ends_with("asked\n"), "{text}");
    let pid = text
        .split("pid ")
        .nth(1)
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    assert!(!fs::exists(format!("/proc/{pid}/exe")).unwrap(), "{pid}");
}
