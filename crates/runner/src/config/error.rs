use super::Problem;
use std::io;
use std::path::PathBuf;

/// Why a `config.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file does not exist.
    #[error("{} does not exist; `runwright runner register` creates it", .0.display())]
    Absent(PathBuf),
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{0}")]
    Syntax(Problem),
    /// The file has errors. Displayed as one line each.
    #[error("{}", lines(.0))]
    Invalid(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
