//! Telling people what no event tells.

use std::fmt;
use std::sync::Arc;

/// Takes lines that somebody should read while a run goes on: who told it to end, and why.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(&str) + Send + Sync>);

impl Notices {
    /// Returns notices that are given to `tell`, a line each.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells one.
    pub fn tell(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for Notices {
    /// Returns notices that nobody reads.
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Notices").finish()
    }
}
