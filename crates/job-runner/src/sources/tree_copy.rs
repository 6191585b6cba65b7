use super::copier::Copier;
use super::error::SnapshotError;
use super::file_list::FileList;
use super::job_repository::{self, Repository};
use super::method::{BlockSharing, Size};
use executor_core::Cancellation;
use fail_point::fail_point;
use git::GitDir;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A copy of a working tree to make.
#[derive(Debug)]
pub(crate) struct TreeCopy {
    pub(crate) root: PathBuf,
    pub(crate) list: Arc<FileList>,
    /// The directory of the copy; emptied first.
    pub(crate) target: PathBuf,
    /// Directories of the runner to leave out, which may be in the tree: each copy would include earlier copies.
    pub(crate) excluded: Vec<PathBuf>,
    pub(crate) sharing: BlockSharing,
    pub(crate) cancellation: Cancellation,
}

/// The entries of a directory, as paths relative to it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Parents before their children.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) files: Vec<PathBuf>,
}

/// A finished copy of a working tree.
#[derive(Debug)]
pub(crate) struct CopiedTree {
    /// Without the new repositories.
    pub(crate) contents: Contents,
    pub(crate) size: Size,
    /// The directories that got a `.git`.
    pub(crate) repositories: Vec<PathBuf>,
    /// Warnings for the job's log.
    pub(crate) warnings: Vec<String>,
}

impl TreeCopy {
    /// Copies the tree; blocks.
    pub(crate) fn run(&self) -> Result<CopiedTree, SnapshotError> {
        let Ok(root) = fs::canonicalize(&self.root) else {
            return Err(self.vanished());
        };
        self.empty_target(&root)?;
        let excluded = self.excluded_within(&root);
        let is_excluded = |path: &Path| excluded.iter().any(|it| path.starts_with(it));
        let mut files: Vec<&Path> = self.list.files.iter().map(PathBuf::as_path).collect();
        files.retain(|file| !is_excluded(file));
        let inner = self.list.repositories.iter().map(PathBuf::as_path);
        let inner: Vec<&Path> = inner.filter(|path| !is_excluded(path)).collect();
        let directories = self.make_directories(&files, &inner)?;
        // A directory that became a link no longer has its tracked files, wherever the link leads.
        files.retain(|file| file.parent().is_none_or(|it| directories.contains(it)));
        let work = Copier {
            from: &self.root,
            to: &self.target,
            sharing: self.sharing,
            cancellation: &self.cancellation,
        };
        let copied = work.copy(&files);
        if !root.is_dir() {
            return Err(self.vanished());
        }
        let copied = copied?;
        let missing: BTreeSet<usize> = copied.missing.into_iter().collect();
        let there = files.iter().enumerate();
        let files: Vec<PathBuf> = there
            .filter(|(index, _)| !missing.contains(index))
            .map(|(_, file)| file.to_path_buf())
            .collect();
        let size = Size {
            files: files.len(),
            bytes: copied.bytes,
        };
        let inner = inner.into_iter().filter(|path| directories.contains(path));
        let mut repositories = Vec::new();
        let mut warnings = Vec::new();
        for path in [Path::new("")].into_iter().chain(inner) {
            warnings.extend(self.make_repository(path)?);
            repositories.push(path.to_owned());
        }
        let directories = directories.into_iter().map(Path::to_owned).collect();
        Ok(CopiedTree {
            contents: Contents { directories, files },
            size,
            repositories,
            warnings,
        })
    }

    fn empty_target(&self, root: &Path) -> Result<(), SnapshotError> {
        let error = |source| SnapshotError::Target {
            path: self.target.clone(),
            source,
        };
        fs::create_dir_all(&self.target).map_err(error)?;
        let target = fs::canonicalize(&self.target).map_err(error)?;
        if root.starts_with(&target) {
            return Err(SnapshotError::Inside { project: target });
        }
        make_empty(&target).map_err(error)
    }

    /// Returns the excluded directories that are in the tree, relative to it.
    fn excluded_within(&self, root: &Path) -> Vec<PathBuf> {
        let within = |path: &PathBuf| {
            let path = fs::canonicalize(path).ok()?;
            let path = path.strip_prefix(root).ok()?;
            (!path.as_os_str().is_empty()).then(|| path.to_owned())
        };
        self.excluded.iter().filter_map(within).collect()
    }

    /// Creates the `.git` of a copied repository, and returns a warning, if any.
    fn make_repository(&self, path: &Path) -> Result<Option<String>, SnapshotError> {
        let from = self.root.join(path);
        let to = self.target.join(path);
        let Some(git_dir) = GitDir::at(&from) else {
            return Ok(None);
        };
        let created = fail_point!(
            "job_runner::tree_copy::make_repository",
            job_repository::create(&git_dir, &to)
        );
        match created {
            Ok(Repository::Created | Repository::WithoutHead) => Ok(None),
            Ok(Repository::UnknownRefs) => Ok(Some(format!(
                "the copy of {} is not a git repository: its refs are in a format other than files",
                from.display()
            ))),
            Err(source) => Err(SnapshotError::Target {
                path: to.join(".git"),
                source,
            }),
        }
    }

    /// Creates the parents of `files` and the `others` that exist in the tree, and returns them.
    fn make_directories<'f>(
        &self,
        files: &[&'f Path],
        others: &[&'f Path],
    ) -> Result<BTreeSet<&'f Path>, SnapshotError> {
        let mut wanted: BTreeSet<&Path> = BTreeSet::new();
        let parents = files.iter().filter_map(|file| file.parent());
        for directory in parents.chain(others.iter().copied()) {
            // The parents of a known directory are known too.
            let directories = directory.ancestors();
            directories
                .take_while(|directory| wanted.insert(directory))
                .for_each(drop);
        }
        let mut created: BTreeSet<&Path> = BTreeSet::new();
        for directory in wanted {
            let from = self.root.join(directory);
            let there = directory.parent().is_none_or(|parent| {
                let is_directory = fs::symlink_metadata(from).is_ok_and(|it| it.is_dir());
                created.contains(parent) && is_directory
            });
            if there {
                make_directory(&self.target, directory)?;
                created.insert(directory);
            }
        }
        Ok(created)
    }

    fn vanished(&self) -> SnapshotError {
        SnapshotError::Vanished {
            root: self.root.clone(),
        }
    }
}

impl Contents {
    /// Creates the directories below `target`, which must exist.
    pub(crate) fn make_directories(&self, target: &Path) -> Result<(), SnapshotError> {
        let mut directories = self.directories.iter();
        directories.try_for_each(|directory| make_directory(target, directory))
    }

    /// Adds the entries of `directory`, a path relative to `root`.
    pub(crate) fn add_below(&mut self, root: &Path, directory: PathBuf) -> io::Result<()> {
        let entries = match fs::read_dir(root.join(&directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut inner = Vec::new();
        for entry in entries {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                inner.push(path);
            } else {
                self.files.push(path);
            }
        }
        self.directories.push(directory);
        inner
            .into_iter()
            .try_for_each(|path| self.add_below(root, path))
    }
}

/// Empties a directory, which may have leftovers of a killed runner, or creates it.
pub(crate) fn make_empty(directory: &Path) -> io::Result<()> {
    fail_point!(
        "job_runner::tree_copy::empty",
        process::remove_tree(directory)
    )?;
    fail_point!("job_runner::tree_copy::make", fs::create_dir_all(directory))
}

fn make_directory(target: &Path, directory: &Path) -> Result<(), SnapshotError> {
    if directory.as_os_str().is_empty() {
        return Ok(());
    }
    let path = target.join(directory);
    match fs::create_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(SnapshotError::Target {
            path,
            source: error,
        }),
        _ => Ok(()),
    }
}
