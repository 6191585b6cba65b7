use std::path::PathBuf;

/// What is wrong with the user's settings. No value of a token is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), at(*place))]
pub struct SettingsError {
    /// The file.
    pub file: PathBuf,
    /// The line and the column, from 1, if it is about a place in the file.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What the user can do.
    pub help: Option<String>,
}

fn at(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"))
}
