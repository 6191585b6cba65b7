use crate::support::{Fixture, config};
use executor_core::prelude::*;
use executor_core::trace::StreamKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[tokio::test]
async fn script_runs_as_the_runners_user() {
    // R-EXEC-43
    let mut fixture = Fixture::new(config()).await;
    let script = "id -u; uname -n; readlink /proc/self/ns/net; readlink /proc/self/ns/mnt";
    let output = fixture.output(script).await;
    let own = |name: &str| std::fs::read_link(Path::new("/proc/self/ns").join(name)).unwrap();
    let expect = [
        rustix::process::getuid().as_raw().to_string(),
        fixture.environment.hostname.clone(),
        own("net").display().to_string(),
        own("mnt").display().to_string(),
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expect);
}

#[tokio::test]
async fn process_matches_the_command() {
    // R-EXEC-47
    for (dialect, is_bash) in [(ShellDialect::Bash, "yes"), (ShellDialect::Sh, "")] {
        let set = |runner: &mut RunnerConfig| runner.shell = Some(dialect);
        let mut fixture = Fixture::with_runner(config(), set).await;
        fixture.set("GREETING", "hello 'world'\n$HOME");
        let mut command = fixture.command("pwd; echo \"$GREETING\"; echo \"${BASH_VERSION:+yes}\"");
        let directory = fixture.path("elsewhere");
        std::fs::create_dir(&directory).unwrap();
        command.working_dir = directory.to_str().unwrap().to_owned();
        fixture
            .executor
            .run(command, &Cancellation::new())
            .await
            .unwrap();
        let expect = format!("{}\nhello 'world'\n$HOME\n{is_bash}\n", directory.display());
        assert_eq!(fixture.log.stdout(), expect, "{dialect}");
    }
}

#[tokio::test]
async fn script_is_not_in_a_command_line() {
    // R-EXEC-47
    let mut fixture = Fixture::new(config()).await;
    let output = fixture
        .output("tr '\\0' ' ' </proc/$$/cmdline; echo; echo only-in-the-script")
        .await;
    let (command_line, rest) = output.split_once('\n').unwrap();
    assert!(command_line.contains("bash"), "{command_line}");
    assert!(!command_line.contains("only-in"), "{command_line}");
    assert_eq!(rest, "only-in-the-script\n");
}

#[tokio::test]
async fn streams_are_separate_and_in_order() {
    // R-EXEC-48
    let mut fixture = Fixture::new(config()).await;
    // Each write waits until the previous one was read, so that their order is known.
    let script =
        "for i in 1 2 3; do echo out$i; wait_for out$i; echo err$i >&2; wait_for err$i; done";
    let script = format!("wait_for() {{ until [ -e $1 ]; do sleep 0.01; done; }}\n{script}");
    let directory = PathBuf::from(&fixture.environment.workspace.dirs().project_dir);
    let log = Arc::clone(&fixture.log);
    let names = ["out1", "err1", "out2", "err2", "out3", "err3"];
    let follow = tokio::time::timeout(Duration::from_mins(1), async {
        for (read, name) in names.iter().enumerate() {
            log.wait_for_writes(read + 1).await;
            std::fs::write(directory.join(name), "").unwrap();
        }
    });
    let follow = async { follow.await.expect("all is read") };
    tokio::join!(fixture.run(&script), follow);
    assert_eq!(fixture.log.stdout(), "out1\nout2\nout3\n");
    assert_eq!(fixture.log.stderr(), "err1\nerr2\nerr3\n");
    let (out, err) = (StreamKind::Stdout, StreamKind::Stderr);
    assert_eq!(fixture.log.order(), [out, err, out, err, out, err]);
}

#[tokio::test]
async fn large_output_arrives_completely_on_both_streams() {
    // R-EXEC-48
    let mut fixture = Fixture::new(config()).await;
    let result = fixture.run("seq 1 500000 & seq 1 500000 >&2; wait").await;
    let lines = (1..=500_000).map(|line: u32| {
        line.to_string()
            + "
"
    });
    let expect: String = lines.collect();
    assert!(fixture.log.stdout() == expect, "standard output differs");
    assert!(fixture.log.stderr() == expect, "standard error differs");
    assert_eq!(result.stdout_bytes, expect.len() as u64);
    assert_eq!(result.stderr_bytes, expect.len() as u64);
}

#[tokio::test]
async fn standard_input_is_empty() {
    // R-EXEC-48
    for dialect in [ShellDialect::Bash, ShellDialect::Sh] {
        let set = |runner: &mut RunnerConfig| runner.shell = Some(dialect);
        let mut fixture = Fixture::with_runner(config(), set).await;
        let script = "cat; cat /dev/stdin; read line || echo none; (cat); echo the rest";
        assert_eq!(
            fixture.output(script).await,
            "none\nthe rest\n",
            "{dialect}"
        );
    }
}

#[tokio::test]
async fn every_exit_code_is_reported() {
    // R-EXEC-49
    let mut fixture = Fixture::new(config()).await;
    for code in 0..=255 {
        let result = fixture.run(&format!("exit {code}")).await;
        assert_eq!(result.status, StageStatus::Exited(ExitCode(code)));
        assert!(result.cpu_time.is_some() && result.peak_memory > Some(0));
    }
}

#[tokio::test]
async fn signals_are_distinguished_from_exit_codes() {
    // R-EXEC-49
    let mut fixture = Fixture::new(config()).await;
    // Not 3: bash never dies of SIGQUIT.
    for signal in [1, 2, 6, 9, 11, 13, 15] {
        let result = fixture
            .run(&format!("ulimit -c 0; kill -{signal} $$"))
            .await;
        assert_eq!(result.status, StageStatus::Signaled { signal });
        assert_eq!(result.status.exit_code(), ExitCode(128 + signal));
    }
}

#[tokio::test]
async fn errors_have_the_scripts_line_numbers() {
    for login in [false, true] {
        let mut fixture = Fixture::new(executor_shell::ShellConfig { login, ..config() }).await;
        assert_eq!(
            fixture.output("echo 1\necho $LINENO").await,
            "1\n2\n",
            "login {login}"
        );
    }
}
