//! Checks of masking in split output.

use crate::conformance::check::{Outcome, ensure};
use crate::conformance::session::{Opening, quoted};
use crate::conformance::suite::Suite;
use crate::recording::MaskingTrace;
use executor_core::TraceStream;
use std::fmt::Write;
use std::sync::Arc;

const SECRET: &str = "hush-hush-4711";

/// A secret written in two pieces is masked at every split, on both streams.
///
/// It fails for an executor that inserts bytes between pieces or bypasses the log.
pub(in super::super) async fn masking_at_every_split(suite: Arc<Suite>) -> Outcome {
    let trace = Arc::new(MaskingTrace::new([SECRET]));
    let opening = Opening::new(&suite).await?.with_trace(trace.clone());
    let mut session = opening.prepare().await?;
    // `prepare` may have its say in the log.
    let before = trace.visible();
    let said = [TraceStream::STDOUT, TraceStream::STDERR].map(|stream| before.bytes(stream).len());
    let outcome = async {
        // The pause makes the reader receive two pieces; without it they often arrive as one.
        let mut script = "pause() { sleep 0.02 2>/dev/null || sleep 1; }\n".to_owned();
        for at in 1..SECRET.len() {
            let (head, tail) = (quoted(&SECRET[..at]), quoted(&SECRET[at..]));
            // Writing to a string cannot fail.
            let _ = writeln!(
                script,
                "printf '<%s' {head}; printf '<%s' {head} >&2; pause\n\
                 printf '%s>' {tail}; printf '%s>' {tail} >&2; pause"
            );
        }
        let result = session.run(session.command(script)).await?;
        ensure!(
            result.status.is_success(),
            "the script ended with {}",
            result.status
        );
        let visible = trace.finish();
        let expect = "<[MASKED]>".repeat(SECRET.len() - 1);
        for (name, stream, said) in [
            ("standard output", TraceStream::STDOUT, said[0]),
            ("standard error", TraceStream::STDERR, said[1]),
        ] {
            let bytes = visible.bytes(stream);
            let text = String::from_utf8_lossy(&bytes[said..]);
            ensure!(
                text == expect,
                "{name} should be {expect:?} and is {text:?}"
            );
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}
