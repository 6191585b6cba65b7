use std::fmt;
use std::path::PathBuf;

/// Where the value of a setting is from. Those that come later win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Nobody says otherwise.
    BuiltIn,
    /// The user's file says so.
    User(FilePlace),
    /// The project's file says so.
    Project(FilePlace),
    /// A variable of the environment says so.
    Variable(String),
    /// The command line says so.
    Option(String),
}

/// A place in a file.
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
    /// Returns how much it counts: more than what has a smaller number.
    pub fn rank(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::User(_) => 1,
            Self::Project(_) => 2,
            Self::Variable(_) => 3,
            Self::Option(_) => 4,
        }
    }

    /// Returns the place in a file, if it is one.
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
