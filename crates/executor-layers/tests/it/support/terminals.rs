use executor_core::ability::{TerminalRequest, TerminalSession};
use executor_core::prelude::*;

/// An ability that is there, and no more.
#[derive(Debug)]
pub(crate) struct Terminals;

#[async_trait]
impl Terminal for Terminals {
    async fn open(
        &self,
        _request: TerminalRequest,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        Err(BuildError::config("nobody opens it here"))
    }
}
