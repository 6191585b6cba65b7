//! Standard input of a script.

use crate::conformance::check::Outcome;
use crate::conformance::session::Session;
use crate::conformance::suite::{Suite, within};
use std::sync::Arc;

/// Commands that read find an end at once, and take nothing of the script away.
pub(in super::super) async fn standard_input_is_empty(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let script = "cat\nif read line; then echo \"read $line\"; else echo end; fi\necho last line";
    let expect = session.expect(script, "end\nlast line\n");
    let outcome = within(suite.options.promptness, "a script that reads", expect).await;
    session.end(outcome.and_then(|expected| expected)).await
}
