use super::error::ArtifactError;
use super::manifest::{Manifest, StoredArtifact};
use super::store::{ArtifactFiles, ArtifactStore, SavedArtifact};
use crate::off_thread::off_thread;
use archive::{Packed, Packing};
use async_trait::async_trait;
use content_store::{ContentStore, Digest, EntryKind, LowerLayer, StoreError, Tree};
use executor_core::Cancellation;
use executor_core::job::{Artifact, Dependency, JobId};
use fail_point::fail_point;
use jiff::Timestamp;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The artifacts of a pipeline: their contents are in a store of this host, and a directory of the
/// pipeline has a list for each job, `<job id>.json`.
///
/// The store may be shared with other pipelines. It and the directory are on one file system.
#[derive(Debug, Clone)]
pub struct StoredArtifacts {
    store: ContentStore,
    directory: PathBuf,
}

impl StoredArtifacts {
    /// Returns the artifacts whose lists are in this directory, which is made when the first comes.
    pub fn new(store: ContentStore, directory: impl Into<PathBuf>) -> Self {
        Self {
            store,
            directory: directory.into(),
        }
    }

    /// Returns where the contents are.
    pub fn store(&self) -> &ContentStore {
        &self.store
    }

    /// Returns the jobs that left something, be it gone by now, sorted. Blocks.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn jobs(&self) -> Result<Vec<JobId>, ArtifactError> {
        let mut jobs: Vec<JobId> = self.lists()?.into_iter().map(|(job, _)| job).collect();
        jobs.sort_unstable();
        Ok(jobs)
    }

    /// Returns what a job left. Blocks.
    ///
    /// # Errors
    ///
    /// When the list cannot be read.
    pub fn of_job(&self, job: JobId) -> Result<Vec<StoredArtifact>, ArtifactError> {
        Ok(self.manifest(job)?.artifacts)
    }

    /// Returns one artifact of a job: `archive`, or the kind of a report. Blocks.
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

    /// Returns what is in an artifact. Blocks.
    ///
    /// # Errors
    ///
    /// When its tree is not there any more, or damaged.
    pub fn tree_of(&self, artifact: &StoredArtifact) -> Result<Tree, ArtifactError> {
        let digest = artifact.digest().ok_or_else(|| ArtifactError::Other {
            message: format!("the list of artifacts names a tree {:?}", artifact.tree),
            source: None,
        })?;
        Ok(self.store.tree(digest)?)
    }

    /// Opens a file of an artifact for reading; `None` where it has none of this path. Blocks.
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

    /// Gives a job artifacts that are there already, in the place of what it left: those of a job that
    /// ran earlier. Blocks.
    ///
    /// Until this returns, the caller [holds](ContentStore::hold) the store.
    ///
    /// # Errors
    ///
    /// When the list cannot be written; the job has none of them then.
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

    /// Puts all of an artifact below a directory that is there. Blocks.
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

    /// Packs all of an artifact into an archive at `to`, where there is nothing yet. Blocks.
    ///
    /// # Errors
    ///
    /// When the artifact cannot be read, or the archive not be written.
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

    /// Shows all of an artifact as a directory that is only for reading, until what is returned is
    /// dropped. Blocks.
    ///
    /// # Errors
    ///
    /// When the artifact cannot be read, or the directory not made.
    pub fn show(
        &self,
        artifact: &StoredArtifact,
        cancellation: &Cancellation,
    ) -> Result<LowerLayer, ArtifactError> {
        let tree = self.tree_of(artifact)?;
        Ok(self.store.layer(&tree, cancellation)?)
    }

    /// Takes the artifacts whose time is up from the lists, and returns the trees of the others. Blocks.
    ///
    /// Their contents stay until the store is swept. A list that cannot be read is an error: nobody
    /// knows what it needs.
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

    /// Takes all artifacts from the lists, which say from then on that there were some. Blocks.
    ///
    /// Their contents stay until the store is swept.
    ///
    /// # Errors
    ///
    /// When a list cannot be written. One that cannot be read is removed.
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

    /// Returns whether the time of any artifact is up. Blocks.
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

    /// Returns the trees that the lists name, also those whose time is up. Blocks.
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

    /// Names what a job left elsewhere as left by `job` here too, as long as all of it is there. Returns
    /// whether it is. Blocks.
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
        // From now on no sweep removes them, but one may have.
        if manifest.artifacts.iter().all(|it| self.tree_of(it).is_ok()) {
            return Ok(true);
        }
        self.forget(job)?;
        Ok(false)
    }

    fn make_directory(&self) -> Result<(), ArtifactError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let made = fail_point!(
            "job_runner::artifacts::make_dir",
            builder.create(&self.directory)
        );
        made.map_err(|source| ArtifactError::File {
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
        // No sweep comes between the tree and its first mention.
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

    /// Returns whether there was an archive of this job that nobody can have any more.
    fn lost(&self, job: JobId) -> Result<bool, ArtifactError> {
        let manifest = self.manifest(job)?;
        let Some(archive) = manifest.of_type(StoredArtifact::ARCHIVE) else {
            return Ok(manifest.gone.iter().any(|it| it == StoredArtifact::ARCHIVE));
        };
        match self.tree_of(archive) {
            Err(ArtifactError::Content(StoreError::NoTree(_))) => Ok(true),
            // What cannot be read is there: to fetch it says what is wrong.
            _ => Ok(false),
        }
    }

    /// Does what blocks elsewhere.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ArtifactError> + Send + 'static,
    ) -> Result<T, ArtifactError> {
        let this = self.clone();
        let done = off_thread(move || work(&this)).await;
        done.unwrap_or_else(|error| {
            Err(ArtifactError::Other {
                message: "use the store of artifacts".to_owned(),
                source: Some(error.into()),
            })
        })
    }
}

#[async_trait]
impl ArtifactStore for StoredArtifacts {
    async fn contains(&self, job: JobId) -> bool {
        let found = self.of_type(job, StoredArtifact::ARCHIVE);
        // What cannot be read is there: to fetch it says what is wrong.
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
                message: format!("job {job} left no artifacts, or they have expired"),
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
