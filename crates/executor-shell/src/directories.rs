//! The directories of a job on this host.

use crate::error::ShellError;
use executor_core::{BuildDirs, RunnerConfig};
use fail_point::fail_point;
use rustix::fs::{Access, access};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Returns the settings with builds where the runner says that they may be on this host, unless it says
/// where they are to be.
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

/// Returns the directories with paths that mean the same from wherever a job stands.
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
    // A job's script can name no path that is not text.
    text.map_err(|_| error(io::ErrorKind::InvalidFilename.into()))
}

/// Makes the directories that are missing, and sees that builds and caches can be written to.
///
/// What is made here stays: builds and caches are for later jobs too.
///
/// Nothing is made for a project that is not the runner's: were somebody's tree gone, the job would
/// succeed in an empty one.
pub(crate) fn make_usable(dirs: &BuildDirs, project_is_ours: bool) -> Result<(), ShellError> {
    usable("builds directory", Path::new(&dirs.builds_dir))?;
    usable("cache directory", Path::new(&dirs.cache_dir))?;
    // The project's own directory is made by whoever brings the sources.
    match Path::new(&dirs.project_dir).parent() {
        Some(parent) if project_is_ours => make("directory of the project", parent),
        _ => Ok(()),
    }
}

fn usable(what: &'static str, path: &Path) -> Result<(), ShellError> {
    make(what, path)?;
    access(path, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|errno| error(what, path, errno.into()))
}

fn make(what: &'static str, path: &Path) -> Result<(), ShellError> {
    let made = fail_point!(
        "executor_shell::directories::make",
        std::fs::create_dir_all(path)
    );
    made.map_err(|source| error(what, path, source))
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
