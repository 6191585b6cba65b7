//! A library with a cache of the test's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use step_library::{LibraryOptions, StepLibrary};
use steps::{Fetched, JobCredentials, Library, LibraryError, Source};
use tempfile::TempDir;
use web::{Origin, Url};

/// A home and a cache, removed on drop.
pub(crate) struct Home {
    path: PathBuf,
    _directory: Option<TempDir>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            path: directory.path().to_owned(),
            _directory: Some(directory),
        }
    }

    /// Returns the home of another process.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            _directory: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Returns options that allow the servers at these addresses, as if the user had named them.
    pub(crate) fn options(&self, servers: &[&str]) -> LibraryOptions {
        let mut options = LibraryOptions::new(self.cache());
        let servers = servers.iter().map(|url| Url::parse(url).unwrap());
        options.web.reach.named = servers.map(|url| Origin::of(&url).unwrap()).collect();
        options.git.environment = Some(self.environment(&[]));
        options
    }

    /// Returns an environment for git in which the user has no settings, and these variables.
    pub(crate) fn environment(&self, more: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let home = self.path.to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap();
        let all = [&[("HOME", &*home), ("PATH", &*path)], more].concat();
        let pair = |(name, value): (&str, &str)| (name.into(), value.into());
        all.into_iter().map(pair).collect()
    }

    pub(crate) fn library(&self, servers: &[&str]) -> StepLibrary {
        StepLibrary::new(self.options(servers)).unwrap()
    }

    /// Returns the names in a directory of the cache, except lock files.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.cache().join(directory)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_lock = |name: &String| [".lock", ".used"].iter().any(|end| name.ends_with(end));
        names.filter(|name| !is_lock(name)).collect()
    }
}

pub(crate) fn git(url: &str, rev: &str) -> Source {
    Source::Git {
        url: url.to_owned(),
        rev: rev.to_owned(),
    }
}

pub(crate) async fn fetch(library: &StepLibrary, source: &Source) -> Result<Fetched, LibraryError> {
    library.fetch(source, &JobCredentials::default()).await
}

/// Returns the error of a fetch.
pub(crate) async fn refusal(library: &StepLibrary, source: &Source) -> String {
    fetch(library, source).await.unwrap_err().message
}

pub(crate) fn text(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

/// Waits until a condition holds; panics if it never does.
pub(crate) fn until(what: &str, mut look: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !look() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
