use crate::support::{Fixture, config, config_without_cgroups, create, living, unique_seconds};
use executor_core::prelude::*;
use executor_shell::{ShellConfig, Supervisor};
use process::Settings;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn nothing_outlives_a_stage_that_succeeded() {
    // R-EXEC-50
    for config in [config(), config_without_cgroups()] {
        let mut fixture = Fixture::new(config).await;
        let seconds = unique_seconds();
        let script =
            format!("sleep {seconds} & setsid sleep {seconds} & (setsid -f sleep {seconds}); true");
        let result = fixture.run(&script).await;
        assert!(result.status.is_success());
        assert_eq!(living(&seconds), 0);
    }
}

#[tokio::test]
async fn background_process_does_not_delay_the_end() {
    // R-EXEC-50
    let mut fixture = Fixture::new(config()).await;
    let seconds = unique_seconds();
    // It has both streams open and would keep them for a day.
    let output = fixture
        .output(&format!("sleep {seconds} & echo done"))
        .await;
    assert_eq!(output, "done\n");
    assert_eq!(living(&seconds), 0);
}

#[tokio::test]
async fn cleanup_is_complete_and_idempotent() {
    // R-EXEC-50
    let mut fixture = Fixture::new(config()).await;
    fixture.set_file("KEY", b"secret");
    fixture
        .run("echo x > \"$(dirname \"$KEY\")/left-by-the-job\"; echo x > built")
        .await;
    fixture.executor.finish(&JobOutcome::success()).await;
    fixture.executor.cleanup().await.unwrap();
    assert!(!fixture.temp_dir().exists());
    assert_eq!(
        fs::read_to_string(fixture.path("builds/0/group/project/built")).unwrap(),
        "x\n"
    );
    fixture.executor.cleanup().await.unwrap();

    let error = fixture.try_run("true").await.unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
    fixture.executor.cleanup().await.unwrap();
    assert!(!fixture.temp_dir().exists());
}

#[tokio::test]
async fn cleanup_works_without_prepare() {
    // R-EXEC-50
    let mut executor = create(config());
    executor.cleanup().await.unwrap();
    assert_eq!(executor.current_stage(), ExecutorStage::CLEANUP);
}

#[tokio::test]
async fn existing_temporary_directory_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let log = Arc::new(crate::support::Log::default());
    let options = crate::support::options(crate::support::runner(directory.path()), &log);
    let mut temp_dirs = Vec::new();
    for _ in 0..2 {
        let mut executor = create(config());
        let environment = executor
            .prepare(options.clone(), &Cancellation::new())
            .await
            .unwrap();
        let temp_dir = environment.workspace.dirs().temp_dir.clone();
        executor.cleanup().await.unwrap();
        // The first executor created and removed it; for the second it exists already.
        if temp_dirs.is_empty() {
            assert!(!std::path::Path::new(&temp_dir).exists());
            fs::create_dir(&temp_dir).unwrap();
            fs::write(format!("{temp_dir}/note"), "keep").unwrap();
        }
        temp_dirs.push(temp_dir);
    }
    assert_eq!(temp_dirs[0], temp_dirs[1]);
    let note = fs::read_to_string(format!("{}/note", temp_dirs[0]));
    assert_eq!(note.unwrap(), "keep");
    // The directory will contain a job's secrets.
    let mode = fs::metadata(&temp_dirs[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // A link may lead to a directory that others can read, so it is refused.
    fs::rename(&temp_dirs[0], directory.path().join("elsewhere")).unwrap();
    symlink(directory.path().join("elsewhere"), &temp_dirs[0]).unwrap();
    let mut executor = create(config());
    let error = executor.prepare(options, &Cancellation::new()).await;
    let error = error.unwrap_err().chain();
    assert!(error.contains(&temp_dirs[0]), "{error}");
    executor.cleanup().await.unwrap();
    assert!(directory.path().join("elsewhere/note").exists());
}

#[tokio::test]
async fn journal_has_the_temporary_directory_while_it_exists() {
    let state = tempfile::tempdir().unwrap();
    let settings = Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let journal = state.path().join("journal").join(supervisor.id());
    let shell_config = ShellConfig {
        supervisor: Some(supervisor.clone()),
        ..config()
    };
    let mut fixture = Fixture::new(shell_config).await;
    let record = format!("dir\t{}\n", fixture.temp_dir().display());
    let before = fs::read_to_string(&journal).unwrap();
    assert!(before.ends_with(&record), "{before}");

    fixture.executor.cleanup().await.unwrap();
    let after = fs::read_to_string(&journal).unwrap();
    assert!(after.ends_with(&format!("-{record}")), "{after}");
    supervisor.shutdown().await.unwrap();
    assert!(!journal.exists());
}
