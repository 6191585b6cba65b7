//! The shell a script is written for, and how an executor starts it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The language a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellDialect {
    /// POSIX `sh`: dash, busybox and others.
    Sh,
    /// GNU bash.
    Bash,
    /// PowerShell 6 and later.
    Pwsh,
    /// Windows PowerShell 5.
    PowerShell,
}

impl ShellDialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::Sh, Self::Bash, Self::Pwsh, Self::PowerShell];

    /// Returns GitLab's name of the dialect.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Bash => "bash",
            Self::Pwsh => "pwsh",
            Self::PowerShell => "powershell",
        }
    }

    /// Returns whether the dialect belongs to the POSIX family.
    pub const fn is_posix(self) -> bool {
        matches!(self, Self::Sh | Self::Bash)
    }

    /// Returns the default dialect of this platform.
    pub const fn platform_default() -> Self {
        if cfg!(windows) {
            Self::Pwsh
        } else {
            Self::Bash
        }
    }
}

impl fmt::Display for ShellDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of parsing an unknown [`ShellDialect`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown shell {name:?}, expected one of sh, bash, pwsh, powershell")]
pub struct UnknownShell {
    /// The unknown name.
    pub name: String,
}

impl FromStr for ShellDialect {
    type Err = UnknownShell;

    fn from_str(name: &str) -> Result<Self, UnknownShell> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
            .ok_or_else(|| UnknownShell {
                name: name.to_owned(),
            })
    }
}

/// The profile files that a shell reads when it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellKind {
    /// None.
    #[default]
    Normal,
    /// Those of a login shell.
    Login,
    /// Those of an interactive shell.
    Interactive,
}

/// The shell of an executor, and the operator's lines around the user's scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellInfo {
    /// The language scripts are written in.
    pub dialect: ShellDialect,
    /// The program to start; `None` means the dialect's own name, looked up in `PATH`.
    pub program: Option<String>,
    /// The profile files it reads.
    pub kind: ShellKind,
    /// The operating-system user to run as; `None` means the runner's own.
    pub user: Option<String>,
    /// The operator's lines before the sources are fetched.
    pub pre_get_sources_script: String,
    /// The operator's lines after the sources are fetched.
    pub post_get_sources_script: String,
    /// The operator's lines before the user's script, in the same shell.
    pub pre_build_script: String,
    /// The operator's lines after the user's script, in the same shell.
    pub post_build_script: String,
}

impl ShellInfo {
    /// Returns the plain shell of a dialect, without the operator's lines.
    pub fn new(dialect: ShellDialect) -> Self {
        Self {
            dialect,
            program: None,
            kind: ShellKind::Normal,
            user: None,
            pre_get_sources_script: String::new(),
            post_get_sources_script: String::new(),
            pre_build_script: String::new(),
            post_build_script: String::new(),
        }
    }

    /// Sets the kind.
    pub fn with_kind(mut self, kind: ShellKind) -> Self {
        self.kind = kind;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialect_names_round_trip() {
        for dialect in ShellDialect::ALL {
            assert_eq!(dialect.as_str().parse(), Ok(dialect));
        }
        assert!("fish".parse::<ShellDialect>().is_err());
    }
}
