//! The directories of a job on this host.

use crate::error::ShellError;
use executor_core::{BuildDirs, RunnerConfig};
use fail_point::fail_point;
use rustix::fs::{Access, access};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Returns the settings with builds in the runner's builds directory for this host, unless `builds_dir` is set.
pub(crate) fn on_this_host(config: Arc<RunnerConfig>) -> Arc<RunnerConfig> {
    let Some(host) = config.host_builds_dir.clone() else {
        return config;
    };
    if config.builds_dir.is_some() {
        return config;
    }
    let mut config = Arc::unwrap_or_clone(config);
    let below = |name: &str| format!("{}/{name}", host.trim_end_matches('/'));
    config.cache_dir.get_or_insert_with(|| below(".cache"));
    config.builds_dir = Some(host);
    Arc::new(config)
}

/// Returns the directories with absolute paths.
pub(crate) fn absolute(dirs: &BuildDirs) -> Result<BuildDirs, ShellError> {
    Ok(BuildDirs {
        builds_dir: absolute_path("builds directory", &dirs.builds_dir)?,
        cache_dir: absolute_path("cache directory", &dirs.cache_dir)?,
        project_dir: absolute_path("project directory", &dirs.project_dir)?,
        temp_dir: absolute_path("temporary directory", &dirs.temp_dir)?,
        shared: dirs.shared,
    })
}

fn absolute_path(what: &'static str, path: &str) -> Result<String, ShellError> {
    let error = |source| error(what, Path::new(path), source);
    let absolute = std::path::absolute(path).map_err(error)?;
    let text = absolute.into_os_string().into_string();
    // A script cannot name a path that is not UTF-8.
    text.map_err(|_| error(io::ErrorKind::InvalidFilename.into()))
}

/// Creates missing directories, and checks that builds and caches are writable.
///
/// These directories are kept, because later jobs use them too.
///
/// Nothing is created for a project of the user: if it vanished, the job would succeed in an empty directory.
pub(crate) fn make_usable(dirs: &BuildDirs, owns_project: bool) -> Result<(), ShellError> {
    usable("builds directory", Path::new(&dirs.builds_dir))?;
    usable("cache directory", Path::new(&dirs.cache_dir))?;
    // The project directory itself is created with the sources.
    match Path::new(&dirs.project_dir).parent() {
        Some(parent) if owns_project => make("directory of the project", parent),
        _ => Ok(()),
    }
}

fn usable(what: &'static str, path: &Path) -> Result<(), ShellError> {
    make(what, path)?;
    access(path, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|errno| error(what, path, errno.into()))
}

fn make(what: &'static str, path: &Path) -> Result<(), ShellError> {
    let created = fail_point!(
        "executor_shell::directories::make",
        std::fs::create_dir_all(path)
    );
    created.map_err(|source| error(what, path, source))
}

fn error(what: &'static str, path: &Path, source: io::Error) -> ShellError {
    ShellError::Directory {
        what,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_directory_is_configured_or_chosen() {
        let check =
            |builds: Option<&str>, host: Option<&str>, expect: (Option<&str>, Option<&str>)| {
                let mut config = RunnerConfig::new("r", "shell");
                config.builds_dir = builds.map(str::to_owned);
                config.host_builds_dir = host.map(str::to_owned);
                let config = on_this_host(Arc::new(config));
                let found = (config.builds_dir.as_deref(), config.cache_dir.as_deref());
                assert_eq!(found, expect, "{builds:?} {host:?}");
            };
        check(None, None, (None, None));
        check(Some("/b"), Some("/h"), (Some("/b"), None));
        check(None, Some("/h/"), (Some("/h/"), Some("/h/.cache")));
    }

    #[test]
    fn relative_paths_start_at_the_working_directory() {
        let here = std::env::current_dir().unwrap();
        let path = absolute_path("builds directory", "builds/x").unwrap();
        assert_eq!(Path::new(&path), here.join("builds/x"));
        assert_eq!(absolute_path("builds directory", "/b").unwrap(), "/b");
    }
}
