//! Where local runs keep what outlives them: logs, artifacts, locks, the journal.

use super::elsewhere::Settings;
use super::kept_files::KeptFiles;
use super::runs::{RunLock, Runs};
use fail_point::fail_point;
use includes::LockFile;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The directory of all state: `$RUNWRIGHT_HOME`, or `~/.runwright`.
///
/// ```text
/// config.toml                         what the user wants to be so
/// cache/                              answers of servers
/// caches/                             what jobs keep for later runs, of all projects
/// exports/                            what is being packed for somebody
/// content/                            files that jobs left, each once
/// git/                                repositories of other projects, where they are read by Git
/// journal/                            what runs have made and must remove
/// projects/<key>/last-pipeline        the id given last
/// projects/<key>/in-place.lock        held by a run in the working tree itself
/// projects/<key>/resources/           who is in the resource groups, and who waits for them
/// projects/<key>/snapshots/           the working tree as running pipelines see it
/// projects/<key>/pipelines/<id>/      what is known of one run: record, journal, logs, artifacts
/// ```
#[derive(Debug, Clone)]
pub struct StateDir {
    root: PathBuf,
}

/// Why the state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Nothing says where the state is to be.
    #[error("neither RUNWRIGHT_HOME nor HOME says where to keep state")]
    NoHome,
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The run lives.
    #[error("run {id} still runs{}", pid.map(|pid| format!(", by process {pid}")).unwrap_or_default())]
    Running {
        /// The run.
        id: u64,
        /// Its process, where that is known.
        pid: Option<u32>,
    },
    /// Another run works in the same tree.
    #[error("another run is in place here, by process {holder}")]
    InPlace {
        /// The holder's process id, or `unknown`.
        holder: String,
    },
}

/// How many runs of a project are kept when the settings do not say.
const KEPT_PIPELINES: usize = 10;

impl StateDir {
    /// Returns the state of the user who runs this program.
    ///
    /// # Errors
    ///
    /// When neither `RUNWRIGHT_HOME` nor the home directory is known.
    pub fn of_user() -> Result<Self, StateError> {
        let named = std::env::var_os("RUNWRIGHT_HOME").filter(|value| !value.is_empty());
        let root = match named {
            Some(root) => std::path::absolute(&root).map_err(io_error("resolve", &root))?,
            None => std::env::home_dir()
                .ok_or(StateError::NoHome)?
                .join(".runwright"),
        };
        Ok(Self::at(root))
    }

    /// Returns the state in this directory, which is made when it is needed.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Makes the directory, if it is not there, so that Git does not see it in the working tree
    /// `tree`: neither in `git status` nor among the files that jobs get. The texts of a lock file stay
    /// visible, if it is the directory that has those too.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn make_unseen_in(&self, tree: &Path) -> Result<(), StateError> {
        let Ok(below) = self.root.strip_prefix(tree) else {
            return Ok(());
        };
        let has_texts = Path::new(LockFile::TEXTS).parent() == Some(below);
        // One that is there may hold files of the user's, which are not ours to hide.
        if !has_texts && self.root.exists() {
            return Ok(());
        }
        make_dir(&self.root)?;
        let hidden = if has_texts { "/*\n!/vendor/\n" } else { "*\n" };
        let file = self.root.join(".gitignore");
        // Neither over what is there, nor through a link.
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            opened => opened
                .and_then(|mut opened| opened.write_all(hidden.as_bytes()))
                .map_err(io_error("write", &file)),
        }
    }

    /// Returns the part of the state that belongs to the project in `directory`.
    pub fn project(&self, directory: &Path) -> ProjectState {
        ProjectState {
            dir: self.root.join("projects").join(project_key(directory)),
            project: directory.to_owned(),
            kept: self.kept_files(),
        }
    }

    /// Returns what jobs left for others, of all projects.
    pub fn kept_files(&self) -> KeptFiles {
        KeptFiles::at(&self.root)
    }

    /// Returns where exports grow until they are whole.
    pub fn exports(&self) -> PathBuf {
        self.root.join("exports")
    }

    /// Returns the runs of all projects, a project each.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn all_runs(&self) -> Result<Vec<Runs>, StateError> {
        let projects = self.root.join("projects");
        let entries = match fs::read_dir(&projects) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(io_error("read", &projects))?,
        };
        let directories = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let runs = directories.map(|directory| Runs::at(directory.join(PIPELINES), None));
        Ok(runs.collect())
    }
}

/// The directory of a project's runs in its state.
const PIPELINES: &str = "pipelines";

/// The state of one project.
#[derive(Debug, Clone)]
pub struct ProjectState {
    dir: PathBuf,
    project: PathBuf,
    kept: KeptFiles,
}

impl ProjectState {
    /// Makes the directory of a new pipeline, with an id no other pipeline of the project has.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    pub fn new_pipeline(&self) -> Result<PipelineDir, StateError> {
        self.new_pipeline_above(0)
    }

    /// Makes the directory of a new pipeline, with an id that is above this one too.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    pub(super) fn new_pipeline_above(&self, least: u64) -> Result<PipelineDir, StateError> {
        let pipelines = self.dir.join(PIPELINES);
        make_dir(&pipelines)?;
        let last_file = self.dir.join("last-pipeline");
        let last = fs::read_to_string(&last_file)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let mut id: u64 = last.unwrap_or(0).max(least);
        loop {
            id = id.saturating_add(1);
            let path = pipelines.join(id.to_string());
            let mut builder = DirBuilder::new();
            builder.mode(0o700);
            let made = fail_point!("runwright::state::make_pipeline", builder.create(&path));
            match made {
                Ok(()) => {
                    let written = fail_point!(
                        "runwright::state::write_last",
                        fs::write(&last_file, id.to_string())
                    );
                    written.map_err(io_error("write", &last_file))?;
                    return Self::locked(id, path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    /// Opens the directory of a pipeline that has ended, to go on with it.
    ///
    /// # Errors
    ///
    /// [`StateError::Running`] when it lives, and when the state cannot be written.
    pub(super) fn reopen_pipeline(&self, id: u64) -> Result<PipelineDir, StateError> {
        Self::locked(id, self.dir.join(PIPELINES).join(id.to_string()))
    }

    fn locked(id: u64, path: PathBuf) -> Result<PipelineDir, StateError> {
        let lock = RunLock::take(&path).map_err(io_error("lock", &path))?;
        let lock = lock.map_err(|pid| StateError::Running { id, pid })?;
        Ok(PipelineDir {
            id,
            path,
            _lock: lock,
        })
    }

    /// Returns the runs of the project.
    pub fn runs(&self) -> Runs {
        Runs::at(self.dir.join(PIPELINES), Some(self.project.clone()))
    }

    /// Removes what the oldest ended pipelines left, so that only a few are kept, and artifacts whose time
    /// is up.
    ///
    /// A pipeline that still runs is left alone, and so is one that cannot be removed now.
    pub fn prune(&self) {
        let mut freed = false;
        for path in self.runs().superfluous(self.kept_runs()) {
            // Held until all is gone, so that nobody goes on with it meanwhile.
            let Some(_lock) = RunLock::take_dead(&path) else {
                continue;
            };
            freed |= KeptFiles::has_any(&path);
            let remove = || fail_point!("runwright::state::prune", process::remove_tree(&path));
            if let Err(error) = remove() {
                tracing::debug!(path = %path.display(), %error, "Old pipeline stays.");
            }
        }
        self.kept.sweep_if_due(freed);
        super::resources::remove_unused(&self.resources());
    }

    /// Returns the top of the project.
    pub(super) fn root(&self) -> &Path {
        &self.project
    }

    /// Returns the environments of the project.
    pub fn environments(&self) -> super::environments::Environments {
        super::environments::Environments::at(&self.dir)
    }

    /// Returns what jobs left for others, of this and all other projects.
    pub fn kept_files(&self) -> &KeptFiles {
        &self.kept
    }

    /// Returns where the resource groups of the project are.
    pub(super) fn resources(&self) -> PathBuf {
        self.dir.join("resources")
    }

    /// Returns how many runs the user wants to keep. Settings with mistakes are told of elsewhere.
    fn kept_runs(&self) -> usize {
        let root = self.dir.ancestors().nth(2);
        let settings = root.map(|root| Settings::read(root, std::env::home_dir().as_deref()));
        let keep = settings.and_then(|settings| settings.ok()?.kept_runs);
        keep.map_or(KEPT_PIPELINES, NonZeroUsize::get)
    }

    /// Returns where the snapshots of running pipelines are.
    pub(super) fn snapshots(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    /// Takes the lock of a run in the working tree itself.
    ///
    /// # Errors
    ///
    /// [`StateError::InPlace`] with the holder's process id when another run has it.
    pub fn lock_in_place(&self) -> Result<InPlaceLock, StateError> {
        make_dir(&self.dir)?;
        let path = self.dir.join("in-place.lock");
        let mut file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let read = file.read_to_string(&mut holder);
                let known = read.is_ok() && !holder.trim().is_empty();
                let holder = if known {
                    holder.trim().to_owned()
                } else {
                    "unknown".to_owned()
                };
                return Err(StateError::InPlace { holder });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())
        };
        let written = fail_point!("runwright::state::name_holder", write(&mut file));
        written.map_err(io_error("write", &path))?;
        Ok(InPlaceLock { _file: file })
    }
}

/// The right to run in a working tree itself; given back when dropped.
#[derive(Debug)]
pub struct InPlaceLock {
    _file: File,
}

/// The directory of one pipeline. The pipeline counts as running until it is dropped.
#[derive(Debug)]
pub struct PipelineDir {
    /// The pipeline's id in its project, from 1.
    pub id: u64,
    /// The directory.
    pub path: PathBuf,
    _lock: RunLock,
}

/// Returns a name for the project that a person recognises and no other project has.
fn project_key(directory: &Path) -> String {
    let name = directory
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let readable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let bytes = directory.as_os_str().as_encoded_bytes();
    format!("{readable}-{:016x}", fnv1a(bytes))
}

/// FNV-1a: the key must stay the same from build to build, which std's hasher does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn make_dir(path: &Path) -> Result<(), StateError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    fail_point!("runwright::state::make_dir", builder.create(path))
        .map_err(io_error("create", path))
}

fn lock_file(path: &Path) -> Result<File, StateError> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    fail_point!("runwright::state::open_in_place", options.open(path))
        .map_err(io_error("open", path))
}

fn io_error(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> StateError {
    let path = path.as_ref().to_owned();
    move |source| StateError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_of_a_project_get_different_ids() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/a project"));
        let first = project.new_pipeline().unwrap();
        let second = project.new_pipeline().unwrap();
        assert_eq!((first.id, second.id), (1, 2));
        fs::remove_file(project.dir.join("last-pipeline")).unwrap();
        assert_eq!(
            project.new_pipeline().unwrap().id,
            3,
            "an id in use is not given again"
        );
    }

    #[test]
    fn only_a_new_directory_inside_the_tree_is_hidden() {
        let tree = tempfile::tempdir().unwrap();
        let hidden = |directory: &Path| {
            let state = StateDir::at(directory);
            state.make_unseen_in(tree.path()).unwrap();
            directory.join(".gitignore").exists()
        };
        assert!(hidden(&tree.path().join("below/state")));
        fs::create_dir(tree.path().join("mine")).unwrap();
        assert!(!hidden(&tree.path().join("mine")));
        assert!(!hidden(tree.path()));
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(!hidden(&elsewhere.path().join("state")));
        // The lock file's texts may have made it, and are the project's.
        let own = tree.path().join(".runwright");
        fs::create_dir_all(own.join("vendor")).unwrap();
        assert!(hidden(&own));
        let text = fs::read_to_string(own.join(".gitignore")).unwrap();
        assert_eq!(text, "/*\n!/vendor/\n");
        fs::write(own.join(".gitignore"), "mine").unwrap();
        assert!(hidden(&own));
        assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "mine");
    }

    #[test]
    fn old_pipelines_go_but_running_ones_stay() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/p"));
        let running = project.new_pipeline().unwrap();
        let ended = project.new_pipeline().unwrap().path;
        for _ in 0..KEPT_PIPELINES {
            project.new_pipeline().unwrap();
        }
        project.prune();
        assert!(running.path.exists());
        assert!(!ended.exists());
    }

    #[test]
    fn a_second_run_in_place_is_told_who_holds_the_tree() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/p"));
        let lock = project.lock_in_place().unwrap();
        let refused = project.lock_in_place().unwrap_err().to_string();
        assert!(
            refused.contains(&std::process::id().to_string()),
            "{refused}"
        );
        drop(lock);
        project.lock_in_place().unwrap();
    }

    #[test]
    fn projects_of_the_same_name_have_different_keys() {
        assert_ne!(
            project_key(Path::new("/a/app")),
            project_key(Path::new("/b/app"))
        );
        assert!(project_key(Path::new("/a/my app")).starts_with("my-app-"));
    }
}
