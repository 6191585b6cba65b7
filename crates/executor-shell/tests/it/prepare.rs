use crate::support::{Fixture, Log, config, create, options, runner};
use executor_core::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[tokio::test]
async fn missing_directories_are_created() {
    // R-EXEC-46
    let fixture = Fixture::new(config()).await;
    let Workspace::Local(dirs) = &fixture.environment.workspace else {
        panic!("{:?}", fixture.environment.workspace)
    };
    assert_eq!(Path::new(&dirs.builds_dir), fixture.path("builds"));
    assert_eq!(
        Path::new(&dirs.project_dir),
        fixture.path("builds/0/group/project")
    );
    for path in [&dirs.builds_dir, &dirs.cache_dir, &dirs.temp_dir] {
        assert!(Path::new(path).is_dir(), "{path}");
    }
    let mode = fs::metadata(&dirs.temp_dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn relative_directories_become_absolute() {
    // R-EXEC-46
    let directory = tempfile::tempdir_in(".").unwrap();
    let name = Path::new(directory.path().file_name().unwrap());
    let mut config = runner(name);
    config.cache_dir = None;
    let mut shell_config = crate::support::config();
    shell_config.cache_dir = name.join("default-cache").to_str().unwrap().to_owned();
    let mut executor = create(shell_config);
    let log = Arc::new(Log::default());
    let environment = executor
        .prepare(options(config, &log), &Cancellation::new())
        .await
        .unwrap();

    let dirs = environment.workspace.dirs();
    let here = std::env::current_dir().unwrap();
    assert_eq!(Path::new(&dirs.builds_dir), here.join(name).join("builds"));
    assert_eq!(
        Path::new(&dirs.cache_dir),
        here.join(name).join("default-cache")
    );
    assert!(Path::new(&dirs.temp_dir).is_absolute());
    executor.cleanup().await.unwrap();
}

#[tokio::test]
async fn impossible_directory_is_named() {
    // R-EXEC-46
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let builds = file.join("builds").to_str().unwrap().to_owned();
    let mut config = runner(directory.path());
    config.builds_dir = Some(builds.clone());

    let mut executor = create(crate::support::config());
    let log = Arc::new(Log::default());
    let error = executor
        .prepare(options(config, &log), &Cancellation::new())
        .await
        .unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    assert!(
        error
            .chain()
            .contains(&format!("builds directory {builds}")),
        "{}",
        error.chain()
    );
    executor.cleanup().await.unwrap();
}

#[tokio::test]
async fn cancelled_job_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let cancellation = Cancellation::new();
    cancellation.cancel(CancelCause::Shutdown);
    let mut executor = create(config());
    let log = Arc::new(Log::default());
    let error = executor
        .prepare(options(runner(directory.path()), &log), &cancellation)
        .await;
    assert!(
        matches!(error, Err(BuildError::Canceled(CancelCause::Shutdown))),
        "{error:?}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn missing_shell_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = runner(directory.path());
    config.shell = Some(ShellDialect::PowerShell);
    let mut executor = create(crate::support::config());
    let log = Arc::new(Log::default());
    let error = executor
        .prepare(options(config, &log), &Cancellation::new())
        .await
        .unwrap_err();
    assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
    assert!(
        error.to_string().contains("\"powershell\" not found"),
        "{error}"
    );
    executor.cleanup().await.unwrap();
}
