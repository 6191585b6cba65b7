use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

/// Looks a variable up.
type LookUp = dyn Fn(&str) -> Option<OsString> + Send + Sync;

/// The variables of a process environment, read when needed.
///
/// `Debug` shows none.
#[derive(Clone)]
pub struct Variables {
    look_up: Arc<LookUp>,
}

impl Variables {
    /// Returns the variables of this process.
    pub fn of_process() -> Self {
        Self {
            look_up: Arc::new(|name| std::env::var_os(name)),
        }
    }

    /// Returns these variables, for tests.
    pub fn of<N: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let pairs = pairs.into_iter();
        let pairs: HashMap<String, OsString> = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            look_up: Arc::new(move |name| pairs.get(name).cloned()),
        }
    }

    /// Returns a variable, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        (self.look_up)(name).filter(|value| !value.is_empty())
    }

    /// Returns a variable that is text and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.into_string().ok()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}
