use crate::support::{Fixture, config, living, unique_seconds};
use executor_core::ability::{TerminalRequest, TerminalSession, TerminalSize};
use executor_core::prelude::*;
use executor_core::{FileVariable, StageVariables};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SIZE: TerminalSize = TerminalSize {
    columns: 100,
    rows: 30,
};

async fn open(fixture: &Fixture) -> Box<dyn TerminalSession> {
    let terminal = fixture.executor.abilities().terminal.unwrap();
    let request = TerminalRequest::new(SIZE);
    terminal.open(request, &Cancellation::new()).await.unwrap()
}

/// Awaits a result, with a limit so that a failed test ends.
async fn within<T>(work: impl Future<Output = T>) -> T {
    let limit = std::time::Duration::from_mins(1);
    tokio::time::timeout(limit, work).await.expect("it comes")
}

/// Types a line and reads until the terminal shows `expect`.
async fn type_line(session: &mut Box<dyn TerminalSession>, line: &str, expect: &str) {
    session
        .write_all(format!("{line}\n").as_bytes())
        .await
        .unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expect) {
        let read = within(session.read_buf(&mut shown)).await.unwrap();
        assert_ne!(read, 0, "it ended");
    }
}

#[tokio::test]
async fn input_runs_in_the_job_environment() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set("OF_THE_JOB", "it is");
    fixture.run("true").await;
    let mut session = open(&fixture).await;
    type_line(&mut session, "echo $((40+2))", "42").await;
    type_line(&mut session, "echo \"=$OF_THE_JOB=\"", "=it is=").await;
    type_line(&mut session, "basename \"$PWD\" | tr a-z A-Z", "PROJECT").await;
}

#[tokio::test]
async fn shell_has_the_terminal_size() {
    let fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    type_line(&mut session, "stty size", "30 100").await;
    session
        .resize(TerminalSize {
            columns: 77,
            rows: 11,
        })
        .unwrap();
    type_line(&mut session, "stty size", "11 77").await;
}

#[tokio::test]
async fn session_ends_with_its_shell() {
    let fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    // Its leftover has the terminal open, and is killed with the shell.
    session
        .write_all(b"sleep 1000 & disown; exit 7\n")
        .await
        .unwrap();
    let mut shown = Vec::new();
    session.read_to_end(&mut shown).await.unwrap();
    let status = Some(StageStatus::Exited(ExitCode(7)));
    assert_eq!(session.ended().await, status);
    assert_eq!(session.ended().await, status);
}

#[tokio::test]
async fn session_ends_with_the_job() {
    let mut fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    let seconds = unique_seconds();
    // The child of the shell has the expected name only after its `execve`.
    let line = format!(
        "sleep {seconds} & until grep -q {seconds} /proc/$!/cmdline; do :; done; echo $((1+1))up"
    );
    type_line(&mut session, &line, "2up").await;
    assert_eq!(living(&seconds), 1);
    fixture.executor.cleanup().await.unwrap();
    assert_eq!(living(&seconds), 0);
    let terminal = fixture.executor.abilities().terminal.unwrap();
    let go_on = Cancellation::new();
    let again = terminal.open(TerminalRequest::new(SIZE), &go_on).await;
    assert!(again.is_err());
}

/// Opens a shell as an interactive user does.
async fn open_with(fixture: &Fixture, commands: &[&str]) -> Box<dyn TerminalSession> {
    let commands = commands.iter().map(|&text| text.to_owned()).collect();
    let project = fixture.environment.workspace.dirs().project_dir.clone();
    let variables = StageVariables {
        environment: vec![("CI_PROJECT_DIR".to_owned(), project)],
        ..StageVariables::default()
    };
    let request = TerminalRequest::new(SIZE)
        .with_variables(Arc::new(variables))
        .with_title("job $(echo no) \x1b[31m`x`")
        .with_history(commands);
    let terminal = fixture.executor.abilities().terminal.unwrap();
    terminal.open(request, &Cancellation::new()).await.unwrap()
}

/// Reads until the terminal shows `expect`, and returns all output.
async fn read_until(session: &mut Box<dyn TerminalSession>, expect: &str) -> String {
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expect) {
        let read = within(session.read_buf(&mut shown)).await.unwrap();
        assert_ne!(read, 0, "it ended with {}", String::from_utf8_lossy(&shown));
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[tokio::test]
async fn script_is_in_the_history() {
    let fixture = Fixture::new(config()).await;
    let commands = [
        "echo one-$((1+1))",
        "for i in a b; do\n  echo $i-$((3*3))\ndone",
    ];
    let mut session = open_with(&fixture, &commands).await;
    let greeting = read_until(&mut session, "[job $(echo no) \u{fffd}[31m`x`] $ ").await;
    assert!(greeting.contains("rerun"), "{greeting}");
    // The last command is one entry with all its lines; the previous command is the next entry.
    session.write_all(b"\x1b[A\n").await.unwrap();
    read_until(&mut session, "b-9").await;
    session.write_all(b"\x1b[A\x1b[A\x1b[A\n").await.unwrap();
    read_until(&mut session, "one-2").await;
    type_line(&mut session, "rerun 1", "one-2").await;
    type_line(&mut session, "rerun; echo =$?=", "=0=").await;
    type_line(&mut session, "rerun 7; echo =$?=", "=2=").await;
    type_line(&mut session, "script", "   2  for i in a b; do").await;
}

#[tokio::test]
async fn script_function_stops_like_the_job() {
    let fixture = Fixture::new(config()).await;
    let commands = [
        "cd /",
        "echo in-$PWD",
        "(exit 4) | cat",
        "echo not-$((1+1))",
    ];
    let mut session = open_with(&fixture, &commands).await;
    session
        .write_all(b"rerun; echo =$?=$(basename $PWD)=\n")
        .await
        .unwrap();
    let shown = read_until(&mut session, "=4=project=").await;
    assert!(shown.contains("in-/"), "{shown}");
    assert!(shown.contains("exit code 4"), "{shown}");
    assert!(!shown.contains("not-2"), "{shown}");
}

#[tokio::test]
async fn user_files_are_neither_read_nor_written() {
    let fixture = Fixture::new(config()).await;
    let mut session = open_with(&fixture, &["true"]).await;
    let line = "echo \"=${HISTFILE##*/}= $(stat -c %a \"${HISTFILE%/*}\" \"$HISTFILE\" | tr '\\n' ' ')\"; env | grep -c ^HISTFILE";
    type_line(&mut session, line, "=history= 700 600 ").await;
    type_line(
        &mut session,
        "history -a; wc -l <$HISTFILE | sed s/^/lines-/",
        "lines-",
    )
    .await;
    type_line(
        &mut session,
        "declare -p PROMPT_COMMAND 2>&1 | sed s/not/NOT/",
        "NOT found",
    )
    .await;
    session.write_all(b"exit\n").await.unwrap();
    session.read_to_end(&mut Vec::new()).await.unwrap();
    drop(session);
    let left = std::fs::read_dir(fixture.temp_dir()).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names
            .iter()
            .all(|name| !name.to_string_lossy().contains("shell-")),
        "{names:?}"
    );
}

#[tokio::test]
async fn shell_without_line_editing_prints_the_script() {
    let sh = |runner: &mut RunnerConfig| runner.shell = Some(ShellDialect::Sh);
    let fixture = Fixture::with_runner(config(), sh).await;
    let mut session = open_with(&fixture, &["echo one-$((1+1))"]).await;
    read_until(&mut session, "   1  echo one-$((1+1))").await;
    type_line(&mut session, "rerun 1", "one-2").await;
    type_line(&mut session, "rerun; echo =$?=", "=0=").await;
    type_line(&mut session, "exec 2>&1; rerun x", "no such line").await;
}

#[tokio::test]
async fn given_variables_are_in_the_shell() {
    let fixture = Fixture::new(config()).await;
    let variables = StageVariables {
        environment: vec![("GIVEN".to_owned(), "it is".to_owned())],
        files: vec![FileVariable {
            key: "AS_FILE".to_owned(),
            content: b"in-a-file".to_vec(),
        }],
        ..StageVariables::default()
    };
    let request = TerminalRequest::new(SIZE).with_variables(Arc::new(variables));
    let terminal = fixture.executor.abilities().terminal.unwrap();
    let mut session = terminal.open(request, &Cancellation::new()).await.unwrap();
    type_line(&mut session, "echo \"=$GIVEN=\"", "=it is=").await;
    type_line(&mut session, "cat \"$AS_FILE\" | tr a-z A-Z", "IN-A-FILE").await;
}
