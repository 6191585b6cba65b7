use super::copier::Copier;
use super::destination::Destination;
use super::error::SnapshotError;
use super::inputs::{BasePaths, Input, Inputs};
use super::method::{BlockSharing, Size};
use super::tree_copy::{Contents, CopiedTree, make_empty};
use crate::panics::off_thread;
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

/// The copy of a working tree with which all jobs start. No job writes to it.
///
/// ```text
/// <directory>/tree/            the copy
/// <directory>/layer-<n>/       the changes of one job
/// ```
#[derive(Debug)]
pub(crate) struct Base {
    /// `None` after removal.
    directory: Mutex<Option<TempDir>>,
    path: PathBuf,
    contents: Contents,
    size: Size,
    warnings: Vec<String>,
    next_layer: AtomicU64,
    paths: OnceLock<BasePaths>,
}

/// The name of the copy in the directory of a base.
const TREE: &str = "tree";

impl Base {
    /// Creates a directory for a base below `parent`.
    pub(crate) async fn directory(
        parent: &Path,
        supervisor: &Supervisor,
    ) -> Result<TempDir, SnapshotError> {
        let path = parent.to_owned();
        let supervisor = supervisor.clone();
        let make = move || match fail_point!(
            "job_runner::base::make_parent",
            process::make_private_dir_all(&path)
        ) {
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

    /// Returns the path of the copy in the directory of a base.
    pub(crate) fn tree_in(directory: &Path) -> PathBuf {
        directory.join(TREE)
    }

    /// Returns the base of a finished copy; blocks.
    pub(crate) fn new(directory: TempDir, copied: CopiedTree) -> Result<Self, SnapshotError> {
        let CopiedTree {
            mut contents,
            size,
            repositories,
            warnings,
        } = copied;
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
            paths: OnceLock::new(),
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Returns the warnings of the copy.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Removes the base, which must not be used afterwards.
    pub(crate) async fn discard(&self) {
        let directory = self.directory.lock().take();
        if let Some(directory) = directory
            && let Err(error) = directory.remove().await
        {
            let error = &error as &dyn Error;
            tracing::warn!(error, "A snapshot remains; the next run removes it.");
        }
    }

    /// Copies the base to a job's directory.
    pub(crate) async fn copy(
        self: &Arc<Self>,
        sharing: BlockSharing,
        destination: &Destination<'_>,
    ) -> Result<(), SnapshotError> {
        let base = Arc::clone(self);
        let to = destination.project.to_owned();
        let cancellation = destination.cancellation.clone();
        let copy = move || {
            make_empty(&to).map_err(|source| SnapshotError::Target {
                path: to.clone(),
                source,
            })?;
            base.contents.make_directories(&to)?;
            let work = Copier {
                from: &Self::tree_in(&base.path),
                to: &to,
                sharing,
                cancellation: &cancellation,
            };
            let copied = work.copy(&base.contents.files)?;
            match copied.missing.first() {
                None => Ok(()),
                Some(destination) => Err(SnapshotError::File {
                    path: base.contents.files[*destination].clone(),
                    source: io::ErrorKind::NotFound.into(),
                }),
            }
        };
        let copied = off_thread(copy).await;
        copied.unwrap_or_else(|source| Err(target_error(destination.project, source)))
    }

    /// Returns the paths of all entries.
    fn paths(&self) -> &BasePaths {
        self.paths.get_or_init(|| BasePaths {
            directories: self.contents.directories.iter().cloned().collect(),
            others: self.contents.files.iter().cloned().collect(),
        })
    }

    /// Mounts an overlay on a job's directory: a layer for the job's changes, artifacts that can be layers,
    /// and the base.
    pub(crate) async fn mount(
        self: &Arc<Self>,
        overlays: Overlays,
        destination: &Destination<'_>,
        inputs: &Inputs,
    ) -> Result<Layer, SnapshotError> {
        let inputs = inputs.layers(self.paths(), destination.cancellation).await;
        let base = Arc::clone(self);
        let supervisor = destination.supervisor.clone();
        let project = destination.project.to_owned();
        let mut inputs = inputs;
        let mount = move || {
            let number = base.next_layer.fetch_add(1, Ordering::Relaxed);
            let directory = base.path.join(format!("layer-{number}"));
            let [upper, work] = ["upper", "work"].map(|name| directory.join(name));
            let created = make_empty(&project)
                .and_then(|()| fail_point!("job_runner::layer::make", fs::create_dir_all(&upper)))
                .and_then(|()| fs::create_dir(&work));
            created.map_err(|source| target_error(&project, source))?;
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
        let mounted = off_thread(mount).await;
        mounted.unwrap_or_else(|source| Err(target_error(destination.project, source)))
    }
}

/// Returns the lower layers, the uppermost first, and the number of artifacts among them: as many as the
/// kernel accepts.
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

/// The mounted overlay of one job, with its changes.
#[derive(Debug)]
pub(crate) struct Layer {
    mount: Mount,
    directory: PathBuf,
    /// Kept until the overlay is unmounted.
    inputs: Vec<Input>,
    _base: Arc<Base>,
}

impl Layer {
    /// Returns the jobs whose artifacts it includes, in the order of the dependencies.
    pub(crate) fn shown(&self) -> Vec<JobId> {
        self.inputs.iter().map(|input| input.job).collect()
    }

    /// Unmounts the overlay, which leaves the job's directory empty, and removes the layer.
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
        removed.map_err(|source| {
            BuildError::system("runner", "remove the layer of the job's changes", source)
        })
    }
}
