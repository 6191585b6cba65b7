//! Checks of the optional abilities.

use crate::conformance::check::{Outcome, ensure, failed, skipped};
use crate::conformance::session::{Opening, Session, quoted};
use crate::conformance::suite::{Suite, within};
use executor_core::ability::{
    FileTransfer, StepsConnector, Suspend, Terminal, TerminalRequest, TerminalSize,
};
use executor_core::{BuildError, Cancellation, ExitCode, StageStatus};
use std::io::Cursor;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The features of the provider match the abilities of its executors.
pub(in super::super) async fn features_match_abilities(suite: Arc<Suite>) -> Outcome {
    let features = suite.features()?;
    let session = Session::open(&suite).await?;
    let pairs = [
        (
            "terminal",
            features.terminal,
            session.executor.abilities().terminal.is_some(),
        ),
        (
            "native_steps_integration",
            features.native_steps_integration,
            session.executor.abilities().steps.is_some(),
        ),
        (
            "proxy",
            features.proxy,
            session.executor.abilities().port_proxy.is_some(),
        ),
    ];
    let wrong = pairs.iter().find(|(_, reported, there)| reported != there);
    let outcome = match wrong {
        None => Ok(()),
        Some((name, reported, there)) => failed(format!(
            "the provider reports the feature {name} as {reported}, but the executor has it: {there}"
        )),
    };
    session.end(outcome).await
}

/// Files are unchanged after `get` and `put`.
pub(in super::super) async fn file_transfer(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let Some(transfer) = session.executor.abilities().file_transfer else {
        session.end(Ok(())).await?;
        return skipped("the executor has no file transfer");
    };
    let outcome = copy_files(&suite, &mut session, transfer.as_ref()).await;
    session.end(outcome).await
}

async fn copy_files(suite: &Suite, session: &mut Session, transfer: &dyn FileTransfer) -> Outcome {
    let script = "mkdir -p from/deep && printf 'a\\000b' > 'from/deep/a b' && ln -s deep from/link";
    session.expect(script, "").await?;
    let project_dir = session.dirs().project_dir.clone();
    let go_on = Cancellation::new();
    let copy = async {
        let from = format!("{project_dir}/from");
        let paths = ["deep".to_owned(), "link".to_owned(), "missing".to_owned()];
        let archive = transfer.get(&from, &paths, &go_on).await?;
        let to = format!("{project_dir}/to");
        transfer.put(&to, archive, &go_on).await
    };
    no_error(
        "file transfer",
        within(suite.options.deadline, "file transfer", copy).await?,
    )?;
    session.expect("cat 'to/link/a b'", "a\0b").await
}

/// A job whose files are sent sees none that an earlier job left in the same directory.
pub(in super::super) async fn sent_files_alone(suite: Arc<Suite>) -> Outcome {
    let mut first = Session::open(&suite).await?;
    let Some(transfer) = first.executor.abilities().file_transfer else {
        first.end(Ok(())).await?;
        return skipped("the executor has no file transfer");
    };
    let slot = first.slot;
    let packed = leave_files(&suite, &mut first, transfer.as_ref()).await;
    let archive = match packed {
        Ok(archive) => {
            first.end(Ok(())).await?;
            archive
        }
        Err(stop) => return first.end(Err(stop)).await,
    };
    let mut opening = Opening::new(&suite).await?;
    opening.options.slot = slot;
    let mut second = opening.prepare().await?;
    let Some(transfer) = second.executor.abilities().file_transfer else {
        let lost = failed("the second job has no file transfer");
        return second.end(lost).await;
    };
    let outcome = receive_files(&suite, &mut second, transfer.as_ref(), archive).await;
    second.end(outcome).await
}

/// Packs one file, and then leaves others beside it.
async fn leave_files(
    suite: &Suite,
    session: &mut Session,
    transfer: &dyn FileTransfer,
) -> Outcome<Vec<u8>> {
    session.expect("mkdir -p src && echo 1 > src/a", "").await?;
    let project_dir = session.dirs().project_dir.clone();
    let go_on = Cancellation::new();
    let pack = async {
        let paths = ["src".to_owned()];
        let mut archive = transfer.get(&project_dir, &paths, &go_on).await?;
        let mut packed = Vec::new();
        let read = archive.read_to_end(&mut packed).await;
        read.map_err(|error| BuildError::system("file transfer", "read the archive", error))?;
        Ok(packed)
    };
    let packed = within(suite.options.deadline, "file transfer", pack).await?;
    let leave = "echo 2 > src/a; echo 3 > src/deleted; mkdir -p ignored; echo 4 > ignored/.x";
    session.expect(leave, "").await?;
    no_error("file transfer", packed)
}

async fn receive_files(
    suite: &Suite,
    session: &mut Session,
    transfer: &dyn FileTransfer,
    archive: Vec<u8>,
) -> Outcome {
    // The runner does so before it sends the sources.
    let empty = "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +";
    session.expect(empty, "").await?;
    let project_dir = session.dirs().project_dir.clone();
    let go_on = Cancellation::new();
    let put = transfer.put(&project_dir, Box::new(Cursor::new(archive)), &go_on);
    let put = within(suite.options.deadline, "file transfer", put).await?;
    no_error("file transfer", put)?;
    let list = "find . -mindepth 1 | sort; cat src/a";
    session.expect(list, "./src\n./src/a\n1\n").await
}

/// A terminal runs its input and ends with its shell.
pub(in super::super) async fn terminal(suite: Arc<Suite>) -> Outcome {
    let session = Session::open(&suite).await?;
    let Some(terminal) = session.executor.abilities().terminal else {
        session.end(Ok(())).await?;
        return skipped("the executor has no terminal");
    };
    let use_it = type_and_read(terminal.as_ref());
    let outcome = within(suite.options.deadline, "the terminal", use_it).await;
    session
        .end(outcome.and_then(|used| no_error("terminal", used)))
        .await
}

async fn type_and_read(terminal: &dyn Terminal) -> Result<(), BuildError> {
    let io = |error| BuildError::system("terminal", "use it", error);
    let size = TerminalSize {
        columns: 80,
        rows: 24,
    };
    let mut session = terminal
        .open(TerminalRequest::new(size), &Cancellation::new())
        .await?;
    session.resize(TerminalSize {
        columns: 100,
        rows: 30,
    })?;
    session
        .write_all(b"echo $((6*7))-typed\n")
        .await
        .map_err(io)?;
    session.flush().await.map_err(io)?;
    let mut shown = Vec::new();
    while !shown.windows(8).any(|text| text == b"42-typed") {
        if session.read_buf(&mut shown).await.map_err(io)? == 0 {
            return Err(BuildError::config("the terminal closed before its output"));
        }
    }
    session.write_all(b"exit 7\n").await.map_err(io)?;
    session.flush().await.map_err(io)?;
    session.read_to_end(&mut shown).await.map_err(io)?;
    // An executor need not know the status, but a reported status must be correct.
    match session.ended().await.map(StageStatus::exit_code) {
        None | Some(ExitCode(7)) => Ok(()),
        Some(code) => Err(BuildError::config(format!(
            "expected the shell's exit code 7, got {code}"
        ))),
    }
}

/// The service for steps accepts several connections.
pub(in super::super) async fn steps(suite: Arc<Suite>) -> Outcome {
    let session = Session::open(&suite).await?;
    let Some(steps) = session.executor.abilities().steps else {
        session.end(Ok(())).await?;
        return skipped("the executor has no steps connection");
    };
    let connect = connect_twice(steps.as_ref());
    let outcome = within(
        suite.options.deadline,
        "connecting to the steps service",
        connect,
    )
    .await;
    session
        .end(outcome.and_then(|connected| no_error("steps", connected)))
        .await
}

async fn connect_twice(steps: &dyn StepsConnector) -> Result<(), BuildError> {
    let go_on = Cancellation::new();
    let _first = steps.connect(&go_on).await?;
    steps.connect(&go_on).await.map(drop)
}

/// A prepared environment has a handle for a restarted runner.
pub(in super::super) async fn resumable(suite: Arc<Suite>) -> Outcome {
    let session = Session::open(&suite).await?;
    let Some(resumable) = session.executor.abilities().resumable else {
        session.end(Ok(())).await?;
        return skipped("the executor cannot be resumed");
    };
    let outcome = match resumable.resume_handle() {
        Some(handle) if !handle.executor.is_empty() => Ok(()),
        handle => failed(format!("after prepare the handle is {handle:?}")),
    };
    session.end(outcome).await
}

/// A later job finds the files of a suspended environment.
pub(in super::super) async fn suspend(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let Some(suspend) = session.executor.abilities().suspend else {
        session.end(Ok(())).await?;
        return skipped("the executor cannot be suspended");
    };
    let project_dir = session.dirs().project_dir.clone();
    let handle = match session.expect("echo kept > kept", "").await {
        Ok(()) => keep(&suite, suspend.as_ref()).await,
        Err(stop) => Err(stop),
    };
    let handle = match handle {
        Ok(handle) => {
            session.end(Ok(())).await?;
            handle
        }
        Err(stop) => return session.end(Err(stop)).await,
    };
    let opening = Opening::with_data(&suite, |data| data.with(handle)).await?;
    let mut session = opening.prepare().await?;
    let kept = quoted(&format!("{project_dir}/kept"));
    let outcome = session.expect(&format!("cat {kept}"), "kept\n").await;
    session.end(outcome).await
}

async fn keep(
    suite: &Suite,
    suspend: &dyn Suspend,
) -> Outcome<executor_core::ability::ResumeHandle> {
    let go_on = Cancellation::new();
    let kept = within(suite.options.deadline, "suspend", suspend.suspend(&go_on)).await?;
    match kept {
        Ok(handle) => {
            ensure!(!handle.executor.is_empty(), "the handle names no executor");
            Ok(handle)
        }
        Err(error) => failed(format!("suspend: {}", error.chain())),
    }
}

fn no_error<T>(what: &str, result: Result<T, BuildError>) -> Outcome<T> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => failed(format!("{what}: {}", error.chain())),
    }
}
