use crate::cache::{Cleaned, Unused, clean};
use crate::error::Error;
use crate::git::GitFetcher;
use crate::options::LibraryOptions;
use async_trait::async_trait;
use process::make_private_dir;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::{Asker, Fetched, Library, LibraryError, Published, Source};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use web::Web;

/// Fetches functions into a cache that several programs may share, and publishes images of them.
#[derive(Debug)]
pub struct StepLibrary {
    directory: PathBuf,
    budget: u64,
    deadline: Duration,
    git: GitFetcher,
    /// Whether what others left was removed.
    swept: OnceCell<()>,
}

impl StepLibrary {
    /// Returns one with these options. Nothing is made and nobody is asked yet.
    ///
    /// # Errors
    ///
    /// When a file with certificates cannot be read, a proxy is none, or [`web::Reach`] names what is no host.
    pub fn new(options: LibraryOptions) -> Result<Self, LibraryError> {
        let web = Web::new(options.web.clone()).map_err(Error::Web)?;
        Ok(Self {
            directory: options.cache_dir.clone(),
            budget: options.budget,
            deadline: options.deadline,
            git: GitFetcher::new(options, web),
            swept: OnceCell::new(),
        })
    }

    /// Removes what is not used from the cache. Blocks.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read or changed.
    pub fn clean(&self, unused: Unused) -> Result<Cleaned, LibraryError> {
        let cleaned = clean(&[&self.git.trees, &self.git.mirrors], unused);
        Ok(cleaned.map_err(Error::cache("clean", &self.directory))?)
    }

    /// Removes what programs left that were killed.
    async fn sweep(&self) -> Result<(), Error> {
        let (directory, trees) = (self.directory.clone(), self.git.trees.clone());
        let sweep = move || {
            make_private_dir(&directory).map_err(Error::cache("make", &directory))?;
            let recovered = process::recover(&directory);
            if let Err(error) = recovered {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "What others left is left for now.");
            }
            trees.sweep().map_err(Error::cache("sweep", &directory))
        };
        // It ends by itself, soon.
        match tokio::task::spawn_blocking(sweep).await {
            Ok(swept) => swept,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Keeps the cache within its budget.
    fn tidy(&self) {
        if let Err(error) = self.clean(Unused::Above(self.budget)) {
            tracing::warn!(%error, "The cache of functions may become too large.");
        }
    }

    async fn bring(&self, source: &Source) -> Result<Fetched, Error> {
        self.swept.get_or_try_init(|| self.sweep()).await?;
        let (lease, identity) = match source {
            Source::Git { url, rev } => self.git.fetch(url, rev).await?,
            Source::Oci { .. } => {
                return Err(Error::Refused(
                    "images are not fetched yet".to_owned(),
                    None,
                ));
            }
        };
        self.tidy();
        Ok(Fetched {
            directory: lease.directory().to_owned(),
            identity,
            lease: Some(Box::new(lease)),
        })
    }
}

#[async_trait]
impl Library for StepLibrary {
    async fn fetch(&self, source: &Source, _asker: &Asker) -> Result<Fetched, LibraryError> {
        let late = |_| Error::Late {
            what: source.to_string(),
            within: self.deadline,
        };
        let brought = timeout(self.deadline, self.bring(source)).await;
        Ok(brought.map_err(late).flatten()?)
    }

    async fn publish(
        &self,
        _archive: &Path,
        _repository: &str,
        _asker: &Asker,
    ) -> Result<Published, LibraryError> {
        Err(LibraryError::new("images are not published yet"))
    }
}
