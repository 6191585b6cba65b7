//! The suite's verdicts on working and broken abilities.

use executor_core::ability::{
    ByteStream, Connection, ResumeHandle, TerminalRequest, TerminalSession, TerminalSize,
};
use executor_core::prelude::*;
use executor_testkit::{
    Directive, Report, ScriptedAbilities, ScriptedProvider, SuiteOptions, Verdict, conformance,
    runner_config,
};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

/// Runs one check on an executor with these abilities, whose scripts print these texts in turn.
async fn check(name: &str, abilities: ScriptedAbilities, printed: &[&str]) -> Report {
    let provider = ScriptedProvider::new();
    provider.set_abilities(abilities);
    for text in printed {
        let print = Directive::exit(0).stdout(*text).times(1);
        provider.on(BuildStage::script(), print);
    }
    let options = SuiteOptions::new(runner_config("scripted"))
        .only([name])
        .deadline(Duration::from_secs(3));
    let report = conformance(provider.shared(), options).await;
    provider.assert_obeyed();
    report
}

#[track_caller]
fn assert_fails(report: &Report, part: &str) {
    let verdict = &report.checks[0].verdict;
    assert!(
        matches!(verdict, Verdict::Failed(reason) if reason.contains(part)),
        "it does not say {part:?}: {verdict:?}"
    );
}

fn broken(message: &str) -> BuildError {
    BuildError::config(message)
}

/// Transfers nothing; the scripted output decides what the check finds afterwards.
#[derive(Debug)]
struct Mover;

#[async_trait]
impl FileTransfer for Mover {
    async fn put(
        &self,
        directory: &str,
        _archive: ByteStream,
        _cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        assert!(
            directory.ends_with("/to") || directory.ends_with("/project"),
            "{directory}"
        );
        Ok(())
    }

    async fn get(
        &self,
        _directory: &str,
        paths: &[String],
        _cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        assert!(paths == ["deep", "link", "missing"] || paths == ["src"]);
        Ok(Box::new(tokio::io::empty()))
    }
}

/// Refuses a missing path, which it should skip.
#[derive(Debug)]
struct Pedant;

#[async_trait]
impl FileTransfer for Pedant {
    async fn put(
        &self,
        _directory: &str,
        _archive: ByteStream,
        _cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        Ok(())
    }

    async fn get(
        &self,
        _directory: &str,
        _paths: &[String],
        _cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        Err(broken("missing does not exist"))
    }
}

#[tokio::test]
async fn lost_files_are_caught() {
    let with = |transfer| ScriptedAbilities {
        file_transfer: Some(transfer),
        ..ScriptedAbilities::default()
    };
    let there = check("file_transfer", with(Arc::new(Mover)), &["", "a\0b"]).await;
    there.assert_part_passed();
    let lost = check("file_transfer", with(Arc::new(Mover)), &["", "a"]).await;
    assert_fails(&lost, r#"expected "a\0b", got "a""#);
    let refused = check("file_transfer", with(Arc::new(Pedant)), &["", "a\0b"]).await;
    assert_fails(&refused, "file transfer: missing does not exist");

    let sent = "./src\n./src/a\n1\n";
    let name = "sent_files_alone";
    let exact = check(name, with(Arc::new(Mover)), &["", "", "", sent]).await;
    exact.assert_part_passed();
    let stale = "./src\n./src/a\n./src/deleted\n2\n";
    let kept = check(name, with(Arc::new(Mover)), &["", "", "", stale]).await;
    assert_fails(&kept, "./src/deleted");
}

/// A terminal that shows this text and then nothing more.
#[derive(Debug)]
struct ScriptedTerminal {
    text: &'static str,
    /// The reported exit code of its shell.
    code: i32,
}

#[derive(Debug)]
struct ScriptedSession {
    session: DuplexStream,
    /// Receives the input.
    _shell: DuplexStream,
    code: i32,
}

#[async_trait]
impl Terminal for ScriptedTerminal {
    async fn open(
        &self,
        _request: TerminalRequest,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        let failed = |error| BuildError::system("terminal", "show", error);
        let (mut shell, session) = tokio::io::duplex(1024);
        shell
            .write_all(self.text.as_bytes())
            .await
            .map_err(failed)?;
        shell.shutdown().await.map_err(failed)?;
        Ok(Box::new(ScriptedSession {
            session,
            _shell: shell,
            code: self.code,
        }))
    }
}

#[async_trait]
impl TerminalSession for ScriptedSession {
    fn resize(&self, _size: TerminalSize) -> Result<(), BuildError> {
        Ok(())
    }

    async fn ended(&mut self) -> Option<StageStatus> {
        Some(StageStatus::Exited(ExitCode(self.code)))
    }
}

impl AsyncRead for ScriptedSession {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.session).poll_read(context, buffer)
    }
}

impl AsyncWrite for ScriptedSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.session).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.session).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.session).poll_shutdown(context)
    }
}

#[tokio::test]
async fn a_terminal_that_runs_nothing_is_caught() {
    let with = |text, code| ScriptedAbilities {
        terminal: Some(Arc::new(ScriptedTerminal { text, code })),
        ..ScriptedAbilities::default()
    };
    let answer = "$ echo $((6*7))-typed\r\n42-typed\r\n";
    let runs = check("terminal", with(answer, 7), &[]).await;
    runs.assert_part_passed();
    let lies = check("terminal", with(answer, 0), &[]).await;
    assert_fails(&lies, "expected the shell's exit code 7, got 0");
    // Input is echoed, which does not count as output.
    let echoes = check("terminal", with("$ echo $((6*7))-typed\r\n", 7), &[]).await;
    assert_fails(&echoes, "terminal: the terminal closed before its output");
}

/// Serves this many connections.
#[derive(Debug)]
struct Serves(AtomicU32);

#[async_trait]
impl StepsConnector for Serves {
    async fn connect(
        &self,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return Err(broken("somebody is connected"));
        }
        self.0.store(left - 1, Ordering::Relaxed);
        Ok(Box::new(tokio::io::duplex(64).0))
    }
}

#[tokio::test]
async fn a_service_for_one_connection_is_caught() {
    let with = |connections| ScriptedAbilities {
        steps: Some(Arc::new(Serves(AtomicU32::new(connections)))),
        ..ScriptedAbilities::default()
    };
    check("steps", with(2), &[]).await.assert_part_passed();
    let once = check("steps", with(1), &[]).await;
    assert_fails(&once, "steps: somebody is connected");
}

/// Returns this name as the handle of an environment.
#[derive(Debug)]
struct NamedHandle(Option<&'static str>);

impl NamedHandle {
    fn handle(&self) -> Option<ResumeHandle> {
        self.0.map(|executor| ResumeHandle {
            executor: executor.to_owned(),
            fields: BTreeMap::new(),
        })
    }
}

impl Resumable for NamedHandle {
    fn resume_handle(&self) -> Option<ResumeHandle> {
        self.handle()
    }
}

#[async_trait]
impl Suspend for NamedHandle {
    async fn suspend(&self, _cancellation: &Cancellation) -> Result<ResumeHandle, BuildError> {
        self.handle().ok_or_else(|| broken("it cannot be stopped"))
    }
}

#[tokio::test]
async fn an_environment_without_a_name_is_caught() {
    let with = |name| ScriptedAbilities {
        resumable: Some(Arc::new(NamedHandle(name))),
        ..ScriptedAbilities::default()
    };
    let named = check("resumable", with(Some("scripted")), &[]).await;
    named.assert_part_passed();
    for name in [None, Some("")] {
        let nameless = check("resumable", with(name), &[]).await;
        assert_fails(&nameless, "after prepare the handle is");
    }
}

#[tokio::test]
async fn a_discarded_environment_is_caught() {
    let with = |name| ScriptedAbilities {
        suspend: Some(Arc::new(NamedHandle(name))),
        ..ScriptedAbilities::default()
    };
    let kept = check("suspend", with(Some("scripted")), &["", "kept\n"]).await;
    kept.assert_part_passed();
    let new = check("suspend", with(Some("scripted")), &["", ""]).await;
    assert_fails(&new, r#"expected "kept\n", got """#);
    let nameless = check("suspend", with(Some("")), &[""]).await;
    assert_fails(&nameless, "the handle names no executor");
    let refused = check("suspend", with(None), &[""]).await;
    assert_fails(&refused, "suspend: it cannot be stopped");
}
