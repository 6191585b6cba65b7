use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

/// Returns the value of the variable with a name.
type LookUp = dyn Fn(&str) -> Option<OsString> + Send + Sync;

/// The variables of an environment, looked up when somebody asks for one.
///
/// `Debug` shows none.
#[derive(Clone)]
pub struct Variables {
    look_up: Arc<LookUp>,
}

impl Variables {
    /// Returns those of this process.
    pub fn of_process() -> Self {
        Self {
            look_up: Arc::new(|name| std::env::var_os(name)),
        }
    }

    /// Returns these.
    pub fn of<N: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let pairs = pairs.into_iter();
        let pairs: HashMap<String, OsString> = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            look_up: Arc::new(move |name| pairs.get(name).cloned()),
        }
    }

    /// Returns a variable that is set to something.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        (self.look_up)(name).filter(|value| !value.is_empty())
    }

    /// Returns a variable that is set to some text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.into_string().ok()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}
