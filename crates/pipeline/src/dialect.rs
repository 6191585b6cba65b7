//! The tool whose reading of pipeline files is followed.

use serde::{Deserialize, Serialize};

/// The rules by which pipeline files are read.
///
/// GitLab's is the default. The other is a bundle of deviations for users of a tool that reads the
/// same files slightly differently; they cannot be selected one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// As GitLab reads it.
    #[default]
    GitLab,
    /// As bitrab reads it: `include: local` is relative to the including file, components are
    /// refused, and templates and files of other projects are skipped with a warning.
    Bitrab,
}
