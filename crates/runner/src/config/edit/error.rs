use crate::config::ConfigError;
use std::io;
use std::path::PathBuf;

/// Why a `config.toml` cannot be changed. The file is then unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file cannot be read, or is not TOML.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be locked, for example because another process edits it.
    #[error("lock {}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why it cannot be locked.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why it cannot be written.
        #[source]
        source: io::Error,
    },
    /// Another program has changed the file since it was opened.
    #[error("{} was changed by another program meanwhile; try again", .0.display())]
    Changed(PathBuf),
    /// No runner fits the selector.
    #[error("no [[runners]] has {0}")]
    NotFound(String),
    /// Several runners fit the selector.
    #[error("{count} [[runners]] have {selector}; select one by its token")]
    Ambiguous {
        /// The selector.
        selector: String,
        /// How many fit it.
        count: usize,
    },
    /// The runner has no token that could be replaced.
    #[error("the [[runners]] at line {0} has no `token`")]
    NoToken(usize),
    /// The runners are values of one line.
    #[error("the runners are written as `runners = [..]`; write each one as [[runners]] first")]
    InlineRunners,
}
