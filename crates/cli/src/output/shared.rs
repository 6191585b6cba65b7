//! A buffered stream that several writers share and that nobody waits for.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a line may wait for company before it is shown.
const PATIENCE: Duration = Duration::from_millis(40);

/// A stream that takes lines and shows them at once when something has happened, else soon.
///
/// A stream that cannot be written any more is told of once, and the run goes on: the jobs matter
/// more than their audience. Clones share one stream.
#[derive(Clone)]
pub struct SharedWriter(Arc<Mutex<Option<Buffered>>>);

type Buffered = BufWriter<Box<dyn Write + Send>>;

impl SharedWriter {
    /// Returns a stream that ends in `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        let buffered = BufWriter::with_capacity(64 * 1024, Box::new(writer) as Box<_>);
        Self(Arc::new(Mutex::new(Some(buffered))))
    }

    /// Takes a piece of text, to be shown soon.
    pub fn write(&self, text: &[u8]) {
        self.with(|writer| writer.write_all(text));
    }

    /// Shows all there is.
    pub fn flush(&self) {
        self.with(Write::flush);
    }

    /// Shows from time to time what was taken. Never returns.
    pub async fn keep_flushed(&self) {
        loop {
            tokio::time::sleep(PATIENCE).await;
            self.flush();
        }
    }

    fn with(&self, action: impl FnOnce(&mut Buffered) -> io::Result<()>) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = guard.as_mut() else { return };
        if let Err(error) = action(writer) {
            if let Some(broken) = guard.take() {
                // What is left in the buffer would be tried again on drop.
                drop(broken.into_parts());
            }
            tracing::debug!(%error, "Output is not written any more.");
        }
    }
}

impl fmt::Debug for SharedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedWriter")
    }
}
