use std::path::PathBuf;

/// An error in the settings. It never contains the value of a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), at(*place))]
pub struct SettingsError {
    /// The file.
    pub file: PathBuf,
    /// The line and column, from 1, if the error has a location in the file.
    pub place: Option<(usize, usize)>,
    /// The message.
    pub message: String,
    /// What the user can do about it.
    pub help: Option<String>,
}

fn at(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"))
}
