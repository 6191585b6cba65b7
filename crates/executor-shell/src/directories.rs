//! The directories of a job on this host.

use crate::error::ShellError;
use executor_core::BuildDirs;
use rustix::fs::{Access, access};
use std::io;
use std::path::Path;

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
    let error = |source| ShellError::Directory {
        what,
        path: path.into(),
        source,
    };
    let absolute = std::path::absolute(path).map_err(error)?;
    let text = absolute.into_os_string().into_string();
    // A job's script can name no path that is not text.
    text.map_err(|_| error(io::ErrorKind::InvalidFilename.into()))
}

/// Makes the directories that are missing, and sees that all can be written to.
///
/// What is made here stays: builds and caches are for later jobs too.
pub(crate) fn make_usable(dirs: &BuildDirs) -> Result<(), ShellError> {
    usable("builds directory", Path::new(&dirs.builds_dir))?;
    usable("cache directory", Path::new(&dirs.cache_dir))?;
    usable("project directory", Path::new(&dirs.project_dir))
}

fn usable(what: &'static str, path: &Path) -> Result<(), ShellError> {
    let error = |source| ShellError::Directory {
        what,
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(path).map_err(error)?;
    access(path, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| error(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_where_the_runner_does() {
        let here = std::env::current_dir().unwrap();
        let path = absolute_path("builds directory", "builds/x").unwrap();
        assert_eq!(Path::new(&path), here.join("builds/x"));
        assert_eq!(absolute_path("builds directory", "/b").unwrap(), "/b");
    }
}
