//! Which shell a script is written for, and how an executor starts it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The language a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellDialect {
    /// POSIX `sh`: dash, busybox, any other.
    Sh,
    /// GNU bash.
    Bash,
    /// PowerShell 6 and later.
    Pwsh,
    /// Windows PowerShell 5.
    PowerShell,
}

impl ShellDialect {
    /// Every dialect there is.
    pub const ALL: [Self; 4] = [Self::Sh, Self::Bash, Self::Pwsh, Self::PowerShell];

    /// Returns the name GitLab has for the dialect.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Bash => "bash",
            Self::Pwsh => "pwsh",
            Self::PowerShell => "powershell",
        }
    }

    /// Returns whether the dialect is one of the POSIX family.
    pub const fn is_posix(self) -> bool {
        matches!(self, Self::Sh | Self::Bash)
    }

    /// Returns the dialect a job gets on this platform when nobody chose one.
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

/// A shell's name that no [`ShellDialect`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown shell {name:?}, expected one of sh, bash, pwsh, powershell")]
pub struct UnknownShell {
    /// The name that was given.
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

/// Whether a shell reads its profile files first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellKind {
    /// It does not.
    #[default]
    Normal,
    /// It reads those of a login.
    Login,
    /// It reads those of a terminal.
    Interactive,
}

/// The shell an executor is bound to, and the scripts its operator put around the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellInfo {
    /// The language scripts are written in.
    pub dialect: ShellDialect,
    /// The program to start; `None` means the dialect's own name, looked up in `PATH`.
    pub program: Option<String>,
    /// Whether it reads profile files.
    pub kind: ShellKind,
    /// The operating-system user to run as; `None` means the runner's own.
    pub user: Option<String>,
    /// Lines of the operator before the sources are fetched.
    pub pre_get_sources_script: String,
    /// Lines of the operator after the sources are there.
    pub post_get_sources_script: String,
    /// Lines of the operator before the user's script, in the same shell.
    pub pre_build_script: String,
    /// Lines of the operator after the user's script, in the same shell.
    pub post_build_script: String,
}

impl ShellInfo {
    /// Returns the plain shell of a dialect, with nothing around the user's script.
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

    /// Returns the same shell of another kind.
    pub fn with_kind(mut self, kind: ShellKind) -> Self {
        self.kind = kind;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_dialects_round_trip() {
        for dialect in ShellDialect::ALL {
            assert_eq!(dialect.as_str().parse(), Ok(dialect));
        }
        assert!("fish".parse::<ShellDialect>().is_err());
    }
}
