//! Which tool's reading of a pipeline file is meant.

use serde::{Deserialize, Serialize};

/// A way to read pipeline files.
///
/// GitLab's is the rule. The other one is a bundle of deviations, for those who come from a tool
/// that reads the same files a little differently; none of them can be had alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// As GitLab reads it.
    #[default]
    GitLab,
    /// As bitrab reads it: `include: local` starts at the including file, a component is refused,
    /// and templates and files of other projects are left out with a warning.
    Bitrab,
}
