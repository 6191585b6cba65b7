//! Checks of a script's output.

use crate::conformance::check::{Outcome, ensure, failed};
use crate::conformance::memory::{MemoryTrace, resident_bytes};
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::Suite;
use executor_core::{CancelCause, StreamKind, TraceStream};
use std::fmt::Write;
use std::sync::Arc;

/// Longer than any pipe or reasonable buffer.
const LEAST_LINE: usize = 1_000_000;

/// A smaller output is indistinguishable from the normal growth of a process.
const LEAST_OUTPUT: u64 = 16_000_000;

/// How often memory is measured: other tests of this process may need some meanwhile, but not each time.
const MEMORY_ATTEMPTS: u32 = 3;

/// Standard output and standard error stay separate.
pub(in super::super) async fn streams_are_apart(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        session
            .expect("echo out; echo err >&2; echo out", "out\nout\n")
            .await?;
        let errors = session.trace.text(TraceStream::STDERR);
        ensure!(errors == "err\n", "standard error is {errors:?}");
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Each line of a stream arrives exactly once, in order.
pub(in super::super) async fn order_within_a_stream(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let script = "i=0; while [ $i -lt 5000 ]; do\n\
                      echo \"out $i\"; echo \"err $i\" >&2; i=$((i + 1)); done";
        let command = session.command(script);
        let printed = session.print(command).await?;
        ensure!(
            printed == numbered("out"),
            "standard output lost lines or their order"
        );
        let errors = session.trace.bytes(TraceStream::STDERR);
        ensure!(
            errors == numbered("err"),
            "standard error lost lines or their order"
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

fn numbered(word: &str) -> Vec<u8> {
    let mut lines = String::new();
    for number in 0..5000 {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{word} {number}");
    }
    lines.into_bytes()
}

/// Arbitrary bytes reach the log unchanged: NUL, invalid UTF-8, escapes.
pub(in super::super) async fn raw_bytes(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut escapes = String::new();
        for byte in &bytes {
            // Writing to a string cannot fail.
            let _ = write!(escapes, "\\{byte:03o}");
        }
        let script = format!("printf '{escapes}'; printf '\\303\\050\\r\\033[K{escapes}' >&2");
        let printed = session.print(session.command(script)).await?;
        expect_bytes("standard output", &printed, &bytes)?;
        let expect = [b"\xc3\x28\r\x1b[K", bytes.as_slice()].concat();
        let errors = session.trace.bytes(TraceStream::STDERR);
        expect_bytes("standard error", &errors, &expect)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Fails with the first difference.
fn expect_bytes(name: &str, found: &[u8], expect: &[u8]) -> Outcome {
    const SHOWN: usize = 8;
    let Some(at) = (0..found.len().max(expect.len())).find(|at| found.get(*at) != expect.get(*at))
    else {
        return Ok(());
    };
    let part = |bytes: &[u8]| {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.get(..SHOWN) {
            Some(part) => format!("{} and more", part.escape_ascii()),
            None if rest.is_empty() => "the end".to_owned(),
            None => rest.escape_ascii().to_string(),
        }
    };
    failed(format!(
        "{name} was changed: from byte {at} on, expected {}, got {}",
        part(expect),
        part(found)
    ))
}

/// The last output is in the log when `run` returns.
pub(in super::super) async fn last_bytes(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let script = "head -c 200000 /dev/zero | tr '\\0' x; printf 'the end'; exit 3";
        for _ in 0..20 {
            session.trace.clear();
            let result = session.run(session.command(script)).await?;
            ensure!(
                result.status.exit_code().0 == 3,
                "the script ended with {}",
                result.status
            );
            let printed = session.trace.bytes(TraceStream::STDOUT);
            ensure!(
                printed.len() == 200_007 && printed.ends_with(b"the end"),
                "{} of 200007 bytes were in the log when run returned",
                printed.len()
            );
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A prompt without a newline reaches the log while the script waits.
pub(in super::super) async fn output_is_live(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let command = session.command(format!("printf ready; sleep {}", suite.nap()));
        let abort = |cancellation: &executor_core::Cancellation| {
            cancellation.abort(CancelCause::User);
        };
        session
            .stop(command, abort, suite.options.promptness)
            .await
            .map(drop)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Lines have no length limit.
pub(in super::super) async fn long_line(suite: Arc<Suite>) -> Outcome {
    ensure!(
        suite.options.line_bytes >= LEAST_LINE,
        "SuiteOptions::line_bytes is {}, expected at least {LEAST_LINE}",
        suite.options.line_bytes
    );
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let length = suite.options.line_bytes;
        let script = format!("head -c {length} /dev/zero | tr '\\0' x; echo; echo after");
        let printed = session.print(session.command(script)).await?;
        let line = printed.strip_suffix(b"\nafter\n");
        ensure!(
            line.is_some_and(|line| line.len() == length && line.iter().all(|byte| *byte == b'x')),
            "a line of {length} bytes and a short one became {} bytes, or others",
            printed.len()
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Output is not collected in memory.
pub(in super::super) async fn bounded_memory(suite: Arc<Suite>) -> Outcome {
    let most = suite.options.memory_growth;
    ensure!(
        suite.options.output_bytes >= LEAST_OUTPUT.max(most.saturating_add(1)),
        "SuiteOptions::output_bytes is {}; it must be at least {LEAST_OUTPUT}, and more than the \
         {most} bytes of memory_growth",
        suite.options.output_bytes
    );
    let mut growth = 0;
    for attempt in 0..MEMORY_ATTEMPTS {
        // Twice as much each time, so that memory freed by the attempt before cannot hide collected output.
        let wanted = suite.options.output_bytes << attempt;
        growth = growth_by(&suite, wanted).await?;
        if growth <= most {
            return Ok(());
        }
    }
    failed(format!(
        "output made this process grow by more than {most} bytes {MEMORY_ATTEMPTS} times, the last time by {growth}"
    ))
}

/// Returns by how many bytes this process grows while a script prints this many.
async fn growth_by(suite: &Arc<Suite>, wanted: u64) -> Outcome<u64> {
    let trace = Arc::new(MemoryTrace::default());
    let opening = Opening::new(suite).await?.with_trace(trace.clone());
    let mut session = opening.prepare().await?;
    let mut growth = 0;
    let outcome = async {
        let line = "0123456789".repeat(8);
        let script = format!("yes {line} | head -c {wanted}");
        let earlier = trace.bytes(StreamKind::Stdout);
        let before = resident_bytes();
        let result = session.run(session.command(script)).await?;
        ensure!(
            result.status.is_success(),
            "the script ended with {}",
            result.status
        );
        let came = trace.bytes(StreamKind::Stdout) - earlier;
        ensure!(came == wanted, "{came} of {wanted} bytes arrived");
        growth = trace.peak().saturating_sub(before.unwrap_or(u64::MAX));
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await?;
    Ok(growth)
}
