//! The directories of a job: mounted from this host, or in a volume of the engine.

use crate::engine::labels::{Labels, Role};
use crate::error::DockerError;
use crate::job::container::JobContainer;
use crate::job::files::tree::{Owner, Tree};
use bollard::models::{Mount, MountType, MountVolumeOptions};
use executor_core::ability::FileTransfer;
use executor_core::{BuildDirs, PlannedWorkspace, PrepareOptions, Workspace};
use fail_point::fail_point;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directories of a job, and how they get into its container.
#[derive(Debug, Clone)]
pub(crate) struct JobFiles {
    /// The paths that scripts see.
    pub(crate) inside: BuildDirs,
    /// The paths on this host, when they are mounted.
    pub(crate) host: Option<BuildDirs>,
    /// The mounts of the container.
    pub(crate) mounts: Vec<Mount>,
    /// Whether the caller creates the project's directory, and may be filling it already.
    leaves_project: bool,
}

impl JobFiles {
    /// Returns directories of this host below `root`.
    ///
    /// `private` is the unique name of the temporary directory, so that only an engine that sees this host's files can
    /// create a container with it.
    pub(crate) fn mounted(
        root: &Path,
        dirs: &BuildDirs,
        options: &PrepareOptions,
        private: &str,
    ) -> Result<Self, DockerError> {
        let inside = inside(dirs);
        let project = options.job.job_info.project_id;
        let slot = options.slot.concurrent_project_id;
        let mut builds = root.to_owned();
        let token = options.config.short_token();
        if !token.is_empty() {
            builds.push(token);
        }
        builds.push(format!("{project}-{slot}"));
        let path = Path::new(&inside.project_dir)
            .strip_prefix(&inside.builds_dir)
            .unwrap_or(Path::new("project"));
        let own = builds.join(path);
        let project_dir = match &options.project_dir {
            Some(there) => PathBuf::from(there),
            None => own.clone(),
        };
        let temp_dir = root.join(".tmp").join(private);
        let host = BuildDirs {
            builds_dir: text(&builds)?,
            cache_dir: text(&root.join(".cache"))?,
            project_dir: text(&project_dir)?,
            temp_dir: text(&temp_dir)?,
            shared: false,
        };
        let mut mounts = vec![
            bind(&host.builds_dir, &inside.builds_dir),
            bind(&host.temp_dir, &inside.temp_dir),
        ];
        if options.project_dir.is_some() {
            mounts.push(bind(&host.project_dir, &inside.project_dir));
        }
        // Paths that the job's files refer to, under the same names.
        let reads = options.config.host_reads.iter();
        mounts.extend(reads.map(|path| Mount {
            read_only: Some(true),
            ..bind(path, path)
        }));
        Ok(Self {
            inside,
            host: Some(host),
            mounts,
            leaves_project: options
                .planned
                .as_ref()
                .is_some_and(PlannedWorkspace::is_announced),
        })
    }

    /// Returns the name of the private directory on this host, if there is one.
    pub(crate) fn private(&self) -> Option<String> {
        let directory = Path::new(&self.host.as_ref()?.temp_dir);
        let name = directory.file_name()?.to_str()?;
        Some(name.to_owned())
    }

    /// Returns the directory on this host for the agent's socket and spool, if there is one.
    pub(crate) fn agent_directory(&self) -> Option<PathBuf> {
        let host = self.host.as_ref()?;
        Some(PathBuf::from(format!("{}.agent", host.temp_dir)))
    }

    /// Returns directories in a volume that is removed with the container.
    pub(crate) fn remote(dirs: &BuildDirs, labels: &Labels) -> Self {
        let volume = Mount {
            typ: Some(MountType::VOLUME),
            target: Some(dirs.builds_dir.clone()),
            volume_options: Some(MountVolumeOptions {
                labels: Some(labels.for_role(Role::Volume)),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        };
        Self {
            inside: dirs.clone(),
            host: None,
            mounts: vec![volume],
            leaves_project: false,
        }
    }

    /// Returns the location of the files.
    pub(crate) fn workspace(&self, transfer: Option<Arc<dyn FileTransfer>>) -> Workspace {
        let inside = self.inside.clone();
        match self.host.clone() {
            Some(host) => Workspace::Mounted { inside, host },
            None => Workspace::Remote {
                dirs: inside,
                transfer,
            },
        }
    }

    /// Creates the directories on this host.
    pub(crate) fn make(&self, in_place: bool) -> Result<(), DockerError> {
        let Some(host) = &self.host else {
            return Ok(());
        };
        let beside = Path::new(&self.inside.temp_dir)
            .strip_prefix(&self.inside.builds_dir)
            .unwrap_or(Path::new("project.tmp"));
        // The engine would create it for the mount, owned by root.
        let below = Path::new(&host.builds_dir).join(beside);
        make("builds directory", &below)?;
        make("cache directory", Path::new(&host.cache_dir))?;
        make(
            "temporary directory",
            Path::new(&host.temp_dir).parent().unwrap_or(Path::new("/")),
        )?;
        let private = fail_point!(
            "executor_docker::workspace::make_temp_dir",
            process::make_private_dir(Path::new(&host.temp_dir))
        );
        private.map_err(|source| failed("temporary directory", &host.temp_dir, source))?;
        if in_place && !Path::new(&host.project_dir).is_dir() {
            let source = io::ErrorKind::NotFound.into();
            return Err(failed("project directory", &host.project_dir, source));
        }
        Ok(())
    }

    /// Creates the directories in the container, owned by the job's user.
    pub(crate) async fn make_inside(
        &self,
        container: &JobContainer,
        owner: Owner,
        read_only: bool,
    ) -> Result<(), DockerError> {
        let inside = &self.inside;
        let builds = Path::new(&inside.builds_dir);
        let below = |path: &str| {
            let below = Path::new(path).strip_prefix(builds);
            below.map(|path| path.to_string_lossy().into_owned())
        };
        let mut tree = Tree::new(owner);
        if self.host.is_none() {
            // In a read-only container it is a volume, or does not exist.
            if !read_only {
                container.upload("/", self.cache_directory(owner)?).await?;
            }
            if let Some(Ok(parent)) = Path::new(&inside.project_dir)
                .parent()
                .and_then(Path::to_str)
                .map(below)
            {
                tree.directory(&parent, 0o755)?;
            }
        } else if owner.uid == 0 {
            return Ok(());
        } else if let Ok(project) = below(&inside.project_dir)
            && !self.is_in_place()
            && !self.leaves_project
        {
            tree.only_directory(&project, 0o755)?;
        }
        tree.only_directory(".", 0o755)?;
        if let Ok(temp_dir) = below(&inside.temp_dir) {
            tree.only_directory(&temp_dir, 0o700)?;
        }
        container.upload(&inside.builds_dir, tree.finish()?).await
    }

    /// Returns whether the project's directory is the user's own tree, whose owner does not change.
    pub(crate) fn is_in_place(&self) -> bool {
        let own = |host: &BuildDirs| Path::new(&host.project_dir).starts_with(&host.builds_dir);
        self.host.as_ref().is_some_and(|host| !own(host))
    }

    /// Returns an archive of the cache directory, for the root of a container.
    pub(crate) fn cache_directory(&self, owner: Owner) -> Result<Vec<u8>, DockerError> {
        let mut root = Tree::new(owner);
        root.directory(&self.inside.cache_dir, 0o777)?;
        root.finish()
    }
}

/// Returns the directories in the container; the user's own tree takes the place of the project's directory.
fn inside(dirs: &BuildDirs) -> BuildDirs {
    let own = dirs
        .temp_dir
        .strip_suffix(".tmp")
        .unwrap_or("/builds/project");
    BuildDirs {
        project_dir: own.to_owned(),
        ..dirs.clone()
    }
}

fn bind(source: &str, target: &str) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_owned()),
        target: Some(target.to_owned()),
        ..Mount::default()
    }
}

fn text(path: &Path) -> Result<String, DockerError> {
    let absolute = std::path::absolute(path)
        .map_err(|source| failed("builds directory", &path.to_string_lossy(), source))?;
    let text = absolute.into_os_string().into_string();
    text.map_err(|path| {
        failed(
            "builds directory",
            &path.to_string_lossy(),
            io::ErrorKind::InvalidFilename.into(),
        )
    })
}

fn make(what: &str, path: &Path) -> Result<(), DockerError> {
    let made = fail_point!(
        "executor_docker::workspace::make_dir",
        std::fs::create_dir_all(path)
    );
    made.map_err(|source| failed(what, &path.to_string_lossy(), source))
}

fn failed(what: &str, path: &str, source: io::Error) -> DockerError {
    DockerError::Config {
        message: format!("use {what} {path}"),
        source: Some(source.into()),
    }
}
