use crate::support::{Fixture, config};
use executor_core::prelude::*;
use executor_shell::ShellConfig;
use std::fs;

async fn fixture(login: bool, dialect: ShellDialect) -> Fixture {
    let config = ShellConfig { login, ..config() };
    let mut fixture = Fixture::with_runner(config, |runner| runner.shell = Some(dialect)).await;
    let home = fixture.path("home");
    fs::create_dir(&home).unwrap();
    let profile = "FROM_PROFILE=yes; export CHOSEN=profile PATH=/from-profile:$PATH\n";
    fs::write(home.join(".profile"), profile).unwrap();
    fixture.set("HOME", home.to_str().unwrap());
    fixture
}

#[tokio::test]
async fn login_shell_reads_the_profile() {
    // R-EXEC-45
    let mut bash = fixture(true, ShellDialect::Bash).await;
    let output = bash.output("shopt login_shell; echo $FROM_PROFILE").await;
    assert_eq!(output, "login_shell    \ton\nyes\n");

    let mut sh = fixture(true, ShellDialect::Sh).await;
    assert_eq!(sh.output("echo $FROM_PROFILE").await, "yes\n");
}

#[tokio::test]
async fn other_shell_ignores_the_profile() {
    // R-EXEC-45
    let mut bash = fixture(false, ShellDialect::Bash).await;
    let output = bash
        .output("shopt login_shell || true; echo ${FROM_PROFILE-no}")
        .await;
    assert_eq!(output, "login_shell    \toff\nno\n");
}

#[tokio::test]
async fn job_variables_override_the_profile() {
    for dialect in [ShellDialect::Bash, ShellDialect::Sh] {
        let mut fixture = fixture(true, dialect).await;
        fixture.set("CHOSEN", "it's the job's");
        fixture.set("not.a.name", "x");
        fixture.set("UID", "4711");
        let output = fixture.output("echo \"$CHOSEN\"; echo \"$PATH\"").await;
        let (chosen, path) = output.split_once('\n').unwrap();
        assert_eq!(chosen, "it's the job's", "{dialect}");
        assert!(path.starts_with("/from-profile:"), "{path}");
    }
}
