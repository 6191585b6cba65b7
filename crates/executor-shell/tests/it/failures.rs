use crate::support::{Fixture, config, create};
use executor_core::prelude::*;
use executor_core::{Placement, StageVariables};
use std::fs;

#[tokio::test]
async fn vanished_working_directory_is_named() {
    let mut fixture = Fixture::new(config()).await;
    let project = fixture.path("builds/0/group/project");
    fs::remove_dir(&project).unwrap();
    let error = fixture.try_run("true").await.unwrap_err();
    assert!(matches!(error, BuildError::System { .. }), "{error:?}");
    assert!(!error.is_temporary());
    assert!(
        error.chain().contains(project.to_str().unwrap()),
        "{}",
        error.chain()
    );
    // The stage leaves no files, although it never started.
    assert_eq!(fs::read_dir(fixture.temp_dir()).unwrap().count(), 0);
}

#[tokio::test]
async fn run_without_prepare_is_an_error() {
    let command = StageCommand {
        stage: BuildStage::script(),
        script: "true".to_owned(),
        placement: Placement::User,
        variables: Arc::new(StageVariables::default()),
        working_dir: "/".to_owned(),
    };
    let mut executor = create(config());
    let error = executor
        .run(command, &Cancellation::new())
        .await
        .unwrap_err();
    assert!(matches!(error, BuildError::System { .. }), "{error:?}");
    assert!(executor.abilities().terminal.is_none());
}

#[tokio::test]
async fn syntax_error_is_a_script_failure() {
    let mut fixture = Fixture::new(config()).await;
    let result = fixture.run("if then fi").await;
    assert_eq!(result.status, StageStatus::Exited(ExitCode(2)));
    assert!(
        fixture.log.stderr().contains("syntax error"),
        "{}",
        fixture.log.stderr()
    );
}
