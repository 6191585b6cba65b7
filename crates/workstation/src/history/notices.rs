use std::fmt;
use std::sync::Arc;

/// Receives lines for the user during a run that are not events, such as who canceled it.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(&str) + Send + Sync>);

impl Notices {
    /// Returns notices that call `show` for each line.
    pub fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Shows a line.
    pub fn show(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for Notices {
    /// Returns notices that are discarded.
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Notices").finish()
    }
}
