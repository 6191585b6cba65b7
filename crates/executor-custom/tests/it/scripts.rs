//! Scripts hold all that a job needs, since a driver can pass nothing else to its environment.

use crate::driver::{TestDriver, job};
use executor_core::job::Step;
use executor_core::trace::TraceStream;
use executor_core::{JobState, JobVariable};

#[tokio::test(flavor = "multi_thread")]
async fn scripts_run_in_an_empty_environment() {
    // R-EXEC-102: as a file, and on the standard input of a shell on another machine.
    for run in ["\"$4\"", "sh <\"$4\"", "bash <\"$4\""] {
        let mut driver = TestDriver::new();
        let shell = if run.starts_with("sh") { "sh" } else { "bash" };
        driver.runner.shell = Some(shell.parse().unwrap());
        for stage in [
            "prepare_script",
            "build_script",
            "after_script",
            "cleanup_file_variables",
        ] {
            let lines = format!(
                "env -i PATH=/usr/bin:/bin sh -c 'cd /; exec {}'; exit",
                run.replace("$4", "'\"$4\"'")
            );
            driver.plan(&format!("run.{stage}"), &lines);
        }
        let mut job = job()
            .variable(JobVariable::file("KEY", "secret\n$HOME 'x'\n"))
            .variable(JobVariable::file("BINARY", "a\0b"))
            .variable(JobVariable::masked("TOKEN", "it's \"$HOME\""))
            .build();
        job.steps = vec![
            Step {
                name: Step::SCRIPT.to_owned(),
                script: vec![
                    "cat; echo \"$TOKEN in ${PWD##*/}\"".to_owned(),
                    "cat \"$KEY\"; ls -l \"$KEY\" | cut -c 1-10".to_owned(),
                    "od -An -c \"$BINARY\"; echo KEPT=yes >>\"$GITLAB_ENV\"".to_owned(),
                ],
                ..Step::default()
            },
            Step {
                name: Step::AFTER_SCRIPT.to_owned(),
                script: vec!["echo \"$KEPT $CI_JOB_STATUS\"".to_owned()],
                ..Step::default()
            },
        ];
        let outcome = driver.run(job).await;
        let log = driver.log();
        assert_eq!(outcome.state, JobState::Success, "{run}: {log}");
        let output = driver.observer.output().text(TraceStream::STDOUT);
        let lines: Vec<&str> = output
            .lines()
            .filter(|line| !line.starts_with('\u{1b}'))
            .collect();
        let expect = [
            "[MASKED] in project",
            "secret",
            "$HOME 'x'",
            "-rw-------",
            "   a  \\0   b",
            "yes success",
        ];
        assert_eq!(lines[lines.len() - expect.len()..], expect, "{run}: {log}");
        let call = &driver.calls()[4];
        assert_eq!(call.environ["CUSTOM_ENV_KEY"], "secret\n$HOME 'x'\n");
        assert_eq!(call.environ["CUSTOM_ENV_TOKEN"], "it's \"$HOME\"");
        driver.assert_nothing_left();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn powershell_scripts_have_their_name_and_first_line() {
    let driver = TestDriver::new();
    driver.plan("config", r#"echo '{"shell": "pwsh"}'; exit 0"#);
    let job = job().variable(JobVariable::file("KEY", "x'y")).build();
    let outcome = driver.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", driver.log());
    let calls = driver.calls();
    let call = calls.iter().find(|it| it.name == "run.build_script");
    let call = call.unwrap();
    let script = call.noted("script");
    assert!(
        call.argv[1].ends_with("/script3/script.ps1"),
        "{:?}",
        call.argv
    );
    let mut lines = script.lines();
    assert_eq!(lines.next(), Some("#!/usr/bin/env pwsh"));
    let project = format!("{}/builds/group/project", driver.path().display());
    for line in [
        format!("${{env:KEY}} = '{project}.tmp/KEY'"),
        format!(
            "[IO.File]::WriteAllBytes('{project}.tmp/KEY', [Convert]::FromBase64String('eCd5'))"
        ),
        format!("Set-Location -LiteralPath '{project}'"),
    ] {
        assert!(lines.any(|it| it == line), "{line} in {script}");
    }
}
