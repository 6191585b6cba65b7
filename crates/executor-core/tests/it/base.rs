//! What the shared base does for every executor that holds one.

use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_testkit::{JobBuilder, OptionsBuilder, RecordingTrace, runner_config};

fn base() -> AbstractExecutor {
    AbstractExecutor::new(AbstractExecutorOptions {
        default_builds_dir: "/builds".to_owned(),
        default_cache_dir: "/cache".to_owned(),
        shared_builds_dir: true,
        shell: ShellInfo {
            program: Some("/opt/bash".to_owned()),
            pre_build_script: "echo own".to_owned(),
            ..ShellInfo::new(ShellDialect::Bash).with_kind(ShellKind::Login)
        },
        show_hostname: true,
    })
}

#[test]
fn the_shell_is_known_before_prepare_and_bound_to_the_operators_scripts() {
    // R-EXEC-04
    let mut base = base();
    let shell = base.shell();
    assert_eq!(
        (shell.dialect, shell.kind),
        (ShellDialect::Bash, ShellKind::Login)
    );
    assert_eq!(shell.program.as_deref(), Some("/opt/bash"));
    assert_eq!(shell.pre_build_script, "echo own");

    let mut config = runner_config("base");
    config.shell = Some(ShellDialect::Sh);
    config.pre_build_script = "echo before".to_owned();
    config.post_build_script = "echo after".to_owned();
    config.pre_get_sources_script = "echo fetch".to_owned();
    config.post_get_sources_script = "echo fetched".to_owned();
    base.prepare(OptionsBuilder::new().config(config).build())
        .unwrap();
    let shell = base.shell();
    assert_eq!(shell.dialect, ShellDialect::Sh);
    assert_eq!(shell.program, None, "it was the program of another dialect");
    let scripts = [
        &shell.pre_get_sources_script,
        &shell.post_get_sources_script,
        &shell.pre_build_script,
        &shell.post_build_script,
    ];
    assert_eq!(
        scripts,
        ["echo fetch", "echo fetched", "echo before", "echo after"]
    );
}

#[test]
fn the_same_settings_mean_the_same_for_every_executor_with_the_base() {
    // R-EXEC-17
    let trace = RecordingTrace::new();
    let mut config = runner_config("base");
    config.token = "glrt-0123456789abc".into();
    config.builds_dir = Some("/data/$TEAM".to_owned());
    let job = JobBuilder::new(1).variable(JobVariable::public("TEAM", "blue"));
    let options = OptionsBuilder::new()
        .config(config)
        .job(job.build())
        .trace(Arc::new(trace.clone()));
    let mut base = base();
    let dirs = base.prepare(options.build()).unwrap().clone();
    assert_eq!(dirs.builds_dir, "/data/blue");
    assert_eq!(dirs.cache_dir, "/cache");
    assert_eq!(dirs.project_dir, "/data/blue/012345678/0/group/project");
    assert!(!dirs.temp_dir.starts_with(&format!("{}/", dirs.project_dir)));

    let environment = base.local_environment("here").unwrap();
    assert!(environment.workspace.is_local());
    assert_eq!(environment.workspace.dirs(), &dirs);
    assert_eq!(environment.shell, *base.shell());
    assert_eq!(trace.text(TraceStream::SYSTEM), "Running on here...\n");
    let remote = base.remote_environment("there", None).unwrap();
    assert!(!remote.workspace.is_local());
}

#[test]
fn the_base_follows_the_life_of_its_executor() {
    // R-EXEC-17
    let mut base = base();
    let cell = base.stage_cell();
    let mut seen = vec![cell.get()];
    assert!(base.trace().is_err(), "there is no log before prepare");
    base.prepare(OptionsBuilder::new().build()).unwrap();
    seen.push(cell.get());
    assert!(base.trace().is_ok());
    base.finish(&JobOutcome::success());
    seen.push(cell.get());
    base.cleanup();
    base.cleanup();
    seen.push(cell.get());
    let names: Vec<_> = seen.iter().map(ExecutorStage::as_str).collect();
    assert_eq!(names, ["created", "prepare", "finish", "cleanup"]);
}

#[test]
fn a_project_path_that_leaves_the_builds_directory_is_refused() {
    for path in ["../../etc", "group/../..", "/etc", "a//b", "a/./b"] {
        let job =
            JobBuilder::new(1).with(|job| path.clone_into(&mut job.job_info.project_full_path));
        let refused = base()
            .prepare(OptionsBuilder::new().job(job.build()).build())
            .unwrap_err();
        assert!(
            matches!(refused, BuildError::Config { .. }),
            "{path}: {refused}"
        );
        assert!(!refused.is_temporary());
    }
}

#[test]
fn the_content_of_a_file_variable_is_no_part_of_a_path() {
    let mut config = runner_config("base");
    config.builds_dir = Some("/data/$KEY_FILE/x".to_owned());
    let job = JobBuilder::new(1).variable(JobVariable::file("KEY_FILE", "s3cret"));
    let options = OptionsBuilder::new().config(config).job(job.build());
    let dirs = base().prepare(options.build()).unwrap().clone();
    assert_eq!(dirs.builds_dir, "/data//x");
}

#[test]
fn a_job_chooses_its_directory_below_that_of_its_slot() {
    let dirs = |path: &str| {
        let job = JobBuilder::new(1)
            .variable(JobVariable::public("GIT_CLONE_PATH", path))
            .variable(JobVariable::public("NAME", "app"));
        base()
            .prepare(OptionsBuilder::new().job(job.build()).build())
            .cloned()
    };
    let chosen = dirs("$CI_BUILDS_DIR//go/src/$NAME/").unwrap();
    assert_eq!(chosen.builds_dir, "/builds/0");
    assert_eq!(chosen.project_dir, "/builds/0/go/src/app");
    assert_eq!(chosen.temp_dir, "/builds/0/go/src/app.tmp");
    assert!(dirs("").unwrap().project_dir.ends_with("/0/group/project"));
    for path in [
        "app",
        "/etc",
        "$CI_BUILDS_DIR",
        "$CI_BUILDS_DIR/../x",
        "/builds/x",
    ] {
        let refused = dirs(path).unwrap_err().to_string();
        assert!(refused.contains("GIT_CLONE_PATH"), "{path}: {refused}");
    }
}
