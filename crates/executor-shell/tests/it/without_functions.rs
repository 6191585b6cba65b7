//! A build without the Cargo feature `functions`, as `cargo test --package runwright-executor-shell` makes it; a build of
//! the workspace has the feature.

use crate::support::{Fixture, config};
use executor_core::BuildStage;
use executor_core::prelude::*;

#[tokio::test]
async fn functions_fail_with_the_name_of_the_missing_feature() {
    let mut fixture = Fixture::new(config()).await;
    let command = StageCommand {
        stage: BuildStage::StepRun,
        ..fixture.command(r#"[{"name": "a", "script": "true"}]"#)
    };
    let ran = fixture.executor.run(command, &Cancellation::new()).await;
    let error = ran.unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    let message = error.chain();
    assert!(message.contains("feature `functions`"), "{message}");
    fixture.executor.cleanup().await.unwrap();
}
