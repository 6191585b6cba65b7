use std::io;
use std::path::{Path, PathBuf};

/// Why an image could not be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error("input \"{input}\": {why}")]
    Input { input: String, why: String },
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} {why}", path.display())]
    Entry { path: PathBuf, why: &'static str },
    #[error("two files have the path {} in the image", .0.display())]
    Twice(PathBuf),
    #[error("stopped")]
    Stopped,
}

impl ImageError {
    pub(super) fn input(input: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Input {
            input: input.into(),
            why: why.into(),
        }
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn entry(path: &Path, why: &'static str) -> Self {
        Self::Entry {
            path: path.to_owned(),
            why,
        }
    }
}
