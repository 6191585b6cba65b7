use super::copier::Copier;
use super::error::SnapshotError;
use super::inputs::{Ground, Input, Inputs};
use super::means::{Clones, Size};
use super::snapshot::Place;
use super::take::{Contents, Taken, make_empty};
use crate::off_thread::off_thread;
use executor_core::BuildError;
use executor_core::job::JobId;
use fail_point::fail_point;
use parking_lot::Mutex;
use process::{Layers, Mount, Overlays, ProcessError, Supervisor, TempDir};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The one copy of a working tree that jobs begin with. No job writes to it.
///
/// ```text
/// <directory>/tree/            the copy
/// <directory>/layer-<n>/       what one job changed of it
/// ```
#[derive(Debug)]
pub(crate) struct Base {
    /// None once it is removed.
    directory: Mutex<Option<TempDir>>,
    path: PathBuf,
    contents: Contents,
    size: Size,
    warnings: Vec<String>,
    next_layer: AtomicU64,
    ground: OnceLock<Ground>,
}

/// The name of the copy in the directory of a base.
const TREE: &str = "tree";

impl Base {
    /// Makes a directory for a base below `parent`.
    pub(crate) async fn directory(
        parent: &Path,
        supervisor: &Supervisor,
    ) -> Result<TempDir, SnapshotError> {
        let path = parent.to_owned();
        let supervisor = supervisor.clone();
        let make =
            move || match fail_point!("job_runner::base::make_parent", fs::create_dir_all(&path)) {
                Ok(()) => supervisor
                    .temp_dir(&path, "snapshot-")
                    .map_err(SnapshotError::Keep),
                Err(source) => Err(SnapshotError::Target { path, source }),
            };
        off_thread(make).await.unwrap_or_else(|source| {
            let path = parent.to_owned();
            Err(SnapshotError::Target { path, source })
        })
    }

    /// Returns where the copy goes in a directory of a base.
    pub(crate) fn tree_in(directory: &Path) -> PathBuf {
        directory.join(TREE)
    }

    /// Returns the base whose copy was made; blocks.
    pub(crate) fn new(directory: TempDir, taken: Taken) -> Result<Self, SnapshotError> {
        let Taken {
            mut contents,
            size,
            repositories,
            warnings,
        } = taken;
        let path = directory.path().to_owned();
        let tree = Self::tree_in(&path);
        for repository in repositories {
            let git = repository.join(".git");
            contents
                .add_below(&tree, git)
                .map_err(|source| SnapshotError::Target {
                    path: tree.clone(),
                    source,
                })?;
        }
        Ok(Self {
            directory: Mutex::new(Some(directory)),
            path,
            contents,
            size,
            warnings,
            next_layer: AtomicU64::new(1),
            ground: OnceLock::new(),
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Returns what was to be said when the copy was made.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Removes it; nobody may use it any more.
    pub(crate) async fn discard(&self) {
        let directory = self.directory.lock().take();
        if let Some(directory) = directory
            && let Err(error) = directory.remove().await
        {
            let error = &error as &dyn Error;
            tracing::warn!(error, "A snapshot is left for the next run to remove.");
        }
    }

    /// Copies it to a job's directory.
    pub(crate) async fn copy(
        self: &Arc<Self>,
        clones: Clones,
        place: &Place<'_>,
    ) -> Result<(), SnapshotError> {
        let base = Arc::clone(self);
        let to = place.project.to_owned();
        let cancellation = place.cancellation.clone();
        let copy = move || {
            make_empty(&to).map_err(|source| SnapshotError::Target {
                path: to.clone(),
                source,
            })?;
            base.contents.make_directories(&to)?;
            let work = Copier {
                from: &Self::tree_in(&base.path),
                to: &to,
                clones,
                cancellation: &cancellation,
            };
            let copied = work.copy(&base.contents.files)?;
            match copied.missing.first() {
                None => Ok(()),
                Some(place) => Err(SnapshotError::File {
                    path: base.contents.files[*place].clone(),
                    source: io::ErrorKind::NotFound.into(),
                }),
            }
        };
        let copied = off_thread(copy).await;
        copied.unwrap_or_else(|source| Err(target_error(place.project, source)))
    }

    /// Returns what it holds, by its paths.
    fn ground(&self) -> &Ground {
        self.ground.get_or_init(|| Ground {
            directories: self.contents.directories.iter().cloned().collect(),
            others: self.contents.files.iter().cloned().collect(),
        })
    }

    /// Shows it in a job's directory, below those artifacts that can be shown too, with a layer of its
    /// own for what the job changes.
    pub(crate) async fn lay(
        self: &Arc<Self>,
        overlays: Overlays,
        place: &Place<'_>,
        inputs: &Inputs,
    ) -> Result<Layer, SnapshotError> {
        let inputs = inputs.layers(self.ground(), place.cancellation).await;
        let base = Arc::clone(self);
        let supervisor = place.supervisor.clone();
        let project = place.project.to_owned();
        let mut inputs = inputs;
        let lay = move || {
            let number = base.next_layer.fetch_add(1, Ordering::Relaxed);
            let directory = base.path.join(format!("layer-{number}"));
            let [upper, work] = ["upper", "work"].map(|name| directory.join(name));
            let made = make_empty(&project)
                .and_then(|()| fail_point!("job_runner::layer::make", fs::create_dir_all(&upper)))
                .and_then(|()| fs::create_dir(&work));
            made.map_err(|source| target_error(&project, source))?;
            let tree = Self::tree_in(&base.path);
            let (lower, count) = lower_layers(&inputs, &tree, &upper, &work);
            let layers = Layers {
                lower: &lower,
                upper: &upper,
                work: &work,
            };
            let mount = supervisor
                .mount(overlays, &layers, &project)
                .map_err(|error| SnapshotError::Overlay(Arc::new(error)))?;
            drop(lower);
            inputs.truncate(count);
            Ok(Layer {
                mount,
                directory,
                inputs,
                _base: base,
            })
        };
        let laid = off_thread(lay).await;
        laid.unwrap_or_else(|source| Err(target_error(place.project, source)))
    }
}

/// Returns what is shown, the uppermost first, and how many artifacts are among it: as many as the
/// kernel takes.
fn lower_layers<'l>(
    inputs: &'l [Input],
    tree: &'l Path,
    upper: &Path,
    work: &Path,
) -> (Vec<&'l Path>, usize) {
    let mut count = inputs.len();
    loop {
        let shown = inputs[..count].iter().rev();
        let mut lower: Vec<&Path> = shown.map(|input| input.layer.path()).collect();
        lower.push(tree);
        let layers = Layers {
            lower: &lower,
            upper,
            work,
        };
        if count == 0 || layers.fit() {
            return (lower, count);
        }
        count -= 1;
    }
}

fn target_error(path: &Path, source: io::Error) -> SnapshotError {
    let path = path.to_owned();
    SnapshotError::Target { path, source }
}

/// What one job changes of a base, shown over it in the job's directory.
#[derive(Debug)]
pub(crate) struct Layer {
    mount: Mount,
    directory: PathBuf,
    /// Kept until nothing shows them any more.
    inputs: Vec<Input>,
    _base: Arc<Base>,
}

impl Layer {
    /// Returns the jobs whose artifacts it shows, in the order in which they come.
    pub(crate) fn shown(&self) -> Vec<JobId> {
        self.inputs.iter().map(|input| input.job).collect()
    }

    /// Takes it out of the job's directory, which is empty then, and removes it.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        let failed = |source: ProcessError| {
            BuildError::system("runner", "unmount the build directory", source)
        };
        self.mount.unmount().await.map_err(failed)?;
        let directory = self.directory;
        let removed = off_thread(move || {
            fail_point!(
                "job_runner::layer::remove",
                process::remove_tree(&directory)
            )
        });
        let removed = removed.await.flatten();
        removed.map_err(|source| BuildError::system("runner", "remove what the job wrote", source))
    }
}
