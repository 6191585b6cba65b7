use std::fmt;
use std::path::PathBuf;

/// The origin of a setting's value. Later variants take precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The built-in default.
    BuiltIn,
    /// The user's file.
    User(FilePlace),
    /// The project's file.
    Project(FilePlace),
    /// An environment variable.
    Variable(String),
    /// A command-line option.
    Option(String),
}

/// A location in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl SettingOrigin {
    /// Returns the precedence; a higher rank wins.
    pub fn rank(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::User(_) => 1,
            Self::Project(_) => 2,
            Self::Variable(_) => 3,
            Self::Option(_) => 4,
        }
    }

    /// Returns the location, if the value comes from a file.
    pub fn place(&self) -> Option<&FilePlace> {
        match self {
            Self::User(place) | Self::Project(place) => Some(place),
            _ => None,
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::User(place) | Self::Project(place) => {
                write!(f, "{}:{}", place.file.display(), place.line)
            }
            Self::Variable(name) => write!(f, "${name}"),
            Self::Option(name) => write!(f, "--{name}"),
        }
    }
}
