//! Standard input of a script.

use crate::conformance::check::Outcome;
use crate::conformance::session::Session;
use crate::conformance::suite::{Suite, within};
use std::sync::Arc;

/// Commands that read find an end at once, and take nothing of the script away.
pub(in super::super) async fn standard_input_is_empty(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    // A shell reads a short script at once; of a long one something is left for others to read.
    let rest = "# as long as the buffers of a shell\n".repeat(4000);
    let script = format!(
        "cat\nif read line; then echo \"read $line\"; else echo end; fi\n{rest}echo last line"
    );
    let expect = session.expect(&script, "end\nlast line\n");
    let outcome = within(suite.options.promptness, "a script that reads", expect).await;
    session.end(outcome.and_then(|expected| expected)).await
}
