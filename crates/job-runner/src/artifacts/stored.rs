use super::error::ArtifactError;
use super::manifest::{Manifest, StoredArtifact};
use super::store::{ArtifactFiles, ArtifactStore, SavedArtifact};
use crate::panics::off_thread;
use archive::{Packed, Packing};
use async_trait::async_trait;
use content_store::{ContentStore, Digest, EntryKind, LowerLayer, StoreError, Tree};
use executor_core::Cancellation;
use executor_core::job::{Artifact, Dependency, JobId};
use fail_point::fail_point;
use jiff::Timestamp;
use process::make_private_dir_all;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The artifacts of a pipeline: their contents are in a content store of this host, and a directory of the pipeline
/// has a list for each job, `<job id>.json`.
///
/// The store may be shared with other pipelines. It and the directory are on one file system.
#[derive(Debug, Clone)]
pub struct StoredArtifacts {
    store: ContentStore,
    directory: PathBuf,
}

impl StoredArtifacts {
    /// Returns the artifacts with lists in this directory, which is created with the first list.
    pub fn new(store: ContentStore, directory: impl Into<PathBuf>) -> Self {
        Self {
            store,
            directory: directory.into(),
        }
    }

    /// Returns the content store.
    pub fn store(&self) -> &ContentStore {
        &self.store
    }

    /// Returns the jobs that saved artifacts, even if they have expired, sorted. Blocks.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn jobs(&self) -> Result<Vec<JobId>, ArtifactError> {
        let mut jobs: Vec<JobId> = self.lists()?.into_iter().map(|(job, _)| job).collect();
        jobs.sort_unstable();
        Ok(jobs)
    }

    /// Returns the artifacts of a job. Blocks.
    ///
    /// # Errors
    ///
    /// When the list cannot be read.
    pub fn of_job(&self, job: JobId) -> Result<Vec<StoredArtifact>, ArtifactError> {
        Ok(self.manifest(job)?.artifacts)
    }

    /// Returns one artifact of a job: `archive`, or the type of a report. Blocks.
    ///
    /// # Errors
    ///
    /// When the list cannot be read.
    pub fn of_type(
        &self,
        job: JobId,
        artifact_type: &str,
    ) -> Result<Option<StoredArtifact>, ArtifactError> {
        Ok(self.manifest(job)?.of_type(artifact_type).cloned())
    }

    /// Returns the tree of an artifact. Blocks.
    ///
    /// # Errors
    ///
    /// When the tree is missing or damaged.
    pub fn tree_of(&self, artifact: &StoredArtifact) -> Result<Tree, ArtifactError> {
        let digest = artifact.digest().ok_or_else(|| ArtifactError::Other {
            message: format!(
                "the list of artifacts has an invalid tree {:?}",
                artifact.tree
            ),
            source: None,
        })?;
        Ok(self.store.tree(digest)?)
    }

    /// Opens a file of an artifact for reading; `None` when it has no such file. Blocks.
    ///
    /// # Errors
    ///
    /// When the artifact or the file cannot be read.
    pub fn open(
        &self,
        artifact: &StoredArtifact,
        path: &Path,
    ) -> Result<Option<File>, ArtifactError> {
        let tree = self.tree_of(artifact)?;
        match tree.entry(path).map(|entry| &entry.kind) {
            Some(&EntryKind::File { content, .. }) => Ok(Some(self.store.open_content(content)?)),
            _ => Ok(None),
        }
    }

    /// Assigns existing artifacts of an earlier job to this job, in place of its own. Blocks.
    ///
    /// The caller must [hold](ContentStore::hold) the store until this returns.
    ///
    /// # Errors
    ///
    /// When the list cannot be written; the job then has none of the artifacts.
    pub fn take_over(
        &self,
        job: JobId,
        artifacts: Vec<StoredArtifact>,
    ) -> Result<(), ArtifactError> {
        self.forget(job)?;
        if artifacts.is_empty() {
            return Ok(());
        }
        self.make_directory()?;
        let mut manifest = Manifest::new(job);
        manifest.artifacts = artifacts;
        self.write(&manifest)
    }

    /// Restores an artifact below an existing directory. Blocks.
    ///
    /// # Errors
    ///
    /// As [`ContentStore::restore`].
    pub fn extract(
        &self,
        artifact: &StoredArtifact,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), ArtifactError> {
        let tree = self.tree_of(artifact)?;
        Ok(self.store.restore(&tree, into, cancellation)?)
    }

    /// Packs an artifact into an archive at `to`, which must not exist. Blocks.
    ///
    /// # Errors
    ///
    /// When the artifact cannot be read or the archive cannot be written.
    pub fn export(
        &self,
        artifact: &StoredArtifact,
        to: &Path,
        packing: &Packing,
        cancellation: &Cancellation,
    ) -> Result<Packed, ArtifactError> {
        let tree = self.tree_of(artifact)?;
        let shown = self.store.layer(&tree, cancellation)?;
        let paths: Vec<PathBuf> = tree.entries().iter().map(|it| it.path.clone()).collect();
        let packed = archive::pack(shown.path(), &paths, to, packing, cancellation);
        packed.map_err(|error| ArtifactError::Pack(error.into()))
    }

    /// Provides an artifact as a read-only directory until the returned value is dropped. Blocks.
    ///
    /// # Errors
    ///
    /// When the artifact cannot be read or the directory cannot be created.
    pub fn show(
        &self,
        artifact: &StoredArtifact,
        cancellation: &Cancellation,
    ) -> Result<LowerLayer, ArtifactError> {
        let tree = self.tree_of(artifact)?;
        Ok(self.store.layer(&tree, cancellation)?)
    }

    /// Removes expired artifacts from the lists, and returns the trees of the others. Blocks.
    ///
    /// The contents stay until the store is swept. An unreadable list is an error, because its trees are unknown.
    ///
    /// # Errors
    ///
    /// When a list cannot be read or written.
    pub fn expire(&self, now: Timestamp) -> Result<Vec<Digest>, ArtifactError> {
        let mut trees = Vec::new();
        for (job, _) in self.lists()? {
            let mut manifest = self.manifest(job)?;
            if manifest.remove(|it| it.is_expired(now)) {
                self.write(&manifest)?;
            }
            trees.extend(manifest.artifacts.iter().filter_map(StoredArtifact::digest));
        }
        Ok(trees)
    }

    /// Removes all artifacts from the lists, which record that there were some. Blocks.
    ///
    /// The contents stay until the store is swept.
    ///
    /// # Errors
    ///
    /// When a list cannot be written. An unreadable list is removed.
    pub fn erase(&self) -> Result<(), ArtifactError> {
        for (job, _) in self.lists()? {
            match self.manifest(job) {
                Ok(mut manifest) => {
                    if manifest.remove(|_| true) {
                        self.write(&manifest)?;
                    }
                }
                Err(ArtifactError::Manifest { .. }) => self.forget(job)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns whether any artifact has expired. Blocks.
    ///
    /// # Errors
    ///
    /// When a list cannot be read.
    pub fn has_expired(&self, now: Timestamp) -> Result<bool, ArtifactError> {
        for (job, _) in self.lists()? {
            let all = self.manifest(job)?.artifacts;
            if all.iter().any(|it| it.is_expired(now)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the trees of all lists, also those of expired artifacts. Blocks.
    ///
    /// # Errors
    ///
    /// When a list cannot be read.
    pub fn trees(&self) -> Result<Vec<Digest>, ArtifactError> {
        let mut trees = Vec::new();
        for (job, _) in self.lists()? {
            let manifest = self.manifest(job)?;
            trees.extend(manifest.artifacts.iter().filter_map(StoredArtifact::digest));
        }
        Ok(trees)
    }

    fn lists(&self) -> Result<Vec<(JobId, PathBuf)>, ArtifactError> {
        let cannot = |source| ArtifactError::File {
            action: "list",
            path: self.directory.clone(),
            source,
        };
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(cannot)?,
        };
        let mut lists = Vec::new();
        for entry in entries {
            let path = entry.map_err(cannot)?.path();
            let job = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.parse().ok());
            if path.extension().is_some_and(|it| it == "json")
                && let Some(job) = job
            {
                lists.push((JobId(job), path));
            }
        }
        Ok(lists)
    }

    fn list_of(&self, job: JobId) -> PathBuf {
        self.directory.join(format!("{job}.json"))
    }

    fn manifest(&self, job: JobId) -> Result<Manifest, ArtifactError> {
        let path = self.list_of(job);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Manifest::new(job)),
            Err(source) => Err(ArtifactError::File {
                action: "read",
                path,
                source,
            }),
            Ok(bytes) => Manifest::parse(&path, &bytes),
        }
    }

    fn write(&self, manifest: &Manifest) -> Result<(), ArtifactError> {
        let path = self.list_of(manifest.job);
        Ok(self.store.write_note(&path, &manifest.to_json())?)
    }

    fn forget(&self, job: JobId) -> Result<(), ArtifactError> {
        let path = self.list_of(job);
        match fail_point!("job_runner::artifacts::discard", fs::remove_file(&path)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(ArtifactError::File {
                action: "remove",
                path,
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Assigns the artifacts of a job in another list directory to `job`, as long as all of them exist. Returns whether
    /// they do. Blocks.
    ///
    /// # Errors
    ///
    /// When a list cannot be read or written.
    pub fn adopt(&self, from: &Self, of: JobId, job: JobId) -> Result<bool, ArtifactError> {
        let mut manifest = from.manifest(of)?;
        let now = Timestamp::now();
        if !manifest.gone.is_empty() || manifest.artifacts.iter().any(|it| it.is_expired(now)) {
            return Ok(false);
        }
        if manifest.artifacts.is_empty() {
            return Ok(true);
        }
        self.make_directory()?;
        manifest.job = job;
        self.write(&manifest)?;
        // From now on no sweep removes the trees, but an earlier one may have.
        if manifest.artifacts.iter().all(|it| self.tree_of(it).is_ok()) {
            return Ok(true);
        }
        self.forget(job)?;
        Ok(false)
    }

    fn make_directory(&self) -> Result<(), ArtifactError> {
        let created = fail_point!(
            "job_runner::artifacts::make_dir",
            make_private_dir_all(&self.directory)
        );
        created.map_err(|source| ArtifactError::File {
            action: "make",
            path: self.directory.clone(),
            source,
        })
    }

    fn keep(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: &ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError> {
        let ArtifactFiles {
            name,
            project,
            paths,
        } = files;
        self.make_directory()?;
        // No sweep may come between the tree and its first mention.
        let kept = self
            .store
            .keep_what_is_there(project, paths, cancellation)?;
        let stored = StoredArtifact::new(artifact, name, kept.tree(), Timestamp::now());
        let description = stored.artifact.clone();
        let mut manifest = self.manifest(job)?;
        manifest.put(stored);
        self.write(&manifest)?;
        Ok(SavedArtifact {
            kept: description,
            vanished: kept.vanished().to_vec(),
        })
    }

    fn archive(&self, job: JobId) -> Result<Option<Tree>, ArtifactError> {
        let artifact = self.of_type(job, StoredArtifact::ARCHIVE)?;
        artifact.map(|it| self.tree_of(&it)).transpose()
    }

    /// Returns whether this job had an archive that no longer exists.
    fn lost(&self, job: JobId) -> Result<bool, ArtifactError> {
        let manifest = self.manifest(job)?;
        let Some(archive) = manifest.of_type(StoredArtifact::ARCHIVE) else {
            return Ok(manifest.gone.iter().any(|it| it == StoredArtifact::ARCHIVE));
        };
        match self.tree_of(archive) {
            Err(ArtifactError::Content(StoreError::NoTree(_))) => Ok(true),
            // An unreadable list counts as existing; fetching it reports the error.
            _ => Ok(false),
        }
    }

    /// Runs blocking work on its own thread.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ArtifactError> + Send + 'static,
    ) -> Result<T, ArtifactError> {
        let this = self.clone();
        let done = off_thread(move || work(&this)).await;
        done.unwrap_or_else(|error| {
            Err(ArtifactError::Other {
                message: "access the artifact store".to_owned(),
                source: Some(error.into()),
            })
        })
    }
}

#[async_trait]
impl ArtifactStore for StoredArtifacts {
    async fn contains(&self, job: JobId) -> bool {
        let found = self.of_type(job, StoredArtifact::ARCHIVE);
        // An unreadable list counts as existing; fetching it reports the error.
        found.map_or(true, |found| found.is_some())
    }

    async fn lost(&self, job: JobId) -> bool {
        let found = self.off_thread(move |this| this.lost(job)).await;
        found.unwrap_or(false)
    }

    async fn discard(&self, job: JobId) -> Result<(), ArtifactError> {
        self.forget(job)
    }

    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError> {
        let artifact = artifact.clone();
        let cancellation = cancellation.clone();
        self.off_thread(move |this| this.keep(job, &artifact, &files, &cancellation))
            .await
    }

    async fn fetch(
        &self,
        dependency: &Dependency,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<usize, ArtifactError> {
        let job = dependency.id;
        let project = project.to_owned();
        let cancellation = cancellation.clone();
        self.off_thread(move |this| {
            let tree = this.archive(job)?.ok_or_else(|| ArtifactError::Other {
                message: format!("job {job} has no artifacts, or they have expired"),
                source: None,
            })?;
            this.store.restore(&tree, &project, &cancellation)?;
            Ok(usize::try_from(tree.files()).unwrap_or(usize::MAX))
        })
        .await
    }

    async fn tree(&self, job: JobId) -> Result<Option<Arc<Tree>>, ArtifactError> {
        self.off_thread(move |this| Ok(this.archive(job)?.map(Arc::new)))
            .await
    }

    async fn layer(
        &self,
        tree: &Arc<Tree>,
        cancellation: &Cancellation,
    ) -> Result<LowerLayer, ArtifactError> {
        let tree = Arc::clone(tree);
        let cancellation = cancellation.clone();
        self.off_thread(move |this| Ok(this.store.layer(&tree, &cancellation)?))
            .await
    }
}
