use crate::cache::{Cleaned, FunctionCache, Shelf, Unused, clean};
use crate::error::Error;
use crate::git::GitFetcher;
use crate::oci::{ImageFetcher, ImagePublisher, TREE};
use crate::options::LibraryOptions;
use async_trait::async_trait;
use process::make_private_dir;
use registry::{ImageRepository, RegistryClient, RegistryOptions, host_of};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::{Fetched, JobCredentials, Library, LibraryError, Published, Source};
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
    images: ImageFetcher,
    publisher: ImagePublisher,
    offline: bool,
    /// Set once leftovers of killed programs were removed.
    swept: OnceCell<()>,
}

impl StepLibrary {
    /// Returns a library with these options. Nothing is created or requested yet.
    ///
    /// # Errors
    ///
    /// When a file with certificates cannot be read, or a proxy or a host in [`web::Reach`] is invalid.
    pub fn new(options: LibraryOptions) -> Result<Self, LibraryError> {
        let mut web = options.web.clone();
        // Only the named hosts may go without encryption, and only where the rules allow them at all.
        let plain = options.insecure_registries.iter();
        let plain = plain.map(|host| host_of(host).to_owned());
        web.reach.plain.extend(plain);
        web.reach.plain.extend(THIS_MACHINE.map(str::to_owned));
        let web = Web::new(web).map_err(Error::Web)?;
        let registry_options = RegistryOptions {
            logins: options.logins.clone(),
            insecure: options.insecure_registries.clone(),
            deadline: options.deadline,
        };
        let registries = RegistryClient::new(&web, registry_options);
        Ok(Self {
            directory: options.cache_dir.clone(),
            budget: options.budget,
            deadline: options.deadline,
            images: ImageFetcher::new(options.clone(), registries.clone()),
            publisher: ImagePublisher::new(registries, options.deadline),
            offline: options.offline,
            git: GitFetcher::new(options, web),
            swept: OnceCell::new(),
        })
    }

    /// Removes unused entries from the cache. Blocks.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read or changed.
    pub fn clean(&self, unused: Unused) -> Result<Cleaned, LibraryError> {
        let cleaned = clean(&self.shelves(), unused);
        Ok(cleaned.map_err(Error::cache("clean", &self.directory))?)
    }

    /// Removes leftovers of killed programs.
    async fn sweep(&self) -> Result<(), Error> {
        let directory = self.directory.clone();
        let shelves = self.shelves();
        let sweep = move || {
            make_private_dir(&directory).map_err(Error::cache("make", &directory))?;
            let recovered = process::recover(&directory);
            if let Err(error) = recovered {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "Processes of killed programs remain for now.");
            }
            shelves.iter().for_each(Shelf::sweep);
            Ok(())
        };
        // It ends soon by itself, so dropping this future need not stop it.
        match tokio::task::spawn_blocking(sweep).await {
            Ok(swept) => swept,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Keeps the cache within its budget and free of abandoned entries.
    async fn tidy(&self) {
        let (shelves, budget) = (self.shelves(), self.budget);
        let tidy = move || {
            shelves.iter().for_each(Shelf::sweep);
            clean(&shelves, Unused::Above(budget))
        };
        // It ends soon by itself, so dropping this future need not stop it.
        let error = match tokio::task::spawn_blocking(tidy).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        };
        tracing::warn!(%error, "The cache of functions may exceed its budget.");
    }

    fn shelves(&self) -> [Shelf; 3] {
        FunctionCache::new(&self.directory).shelves()
    }

    /// Fetches a function, and tidies the cache also after a failure, which may have filled it.
    async fn fetch_and_tidy(
        &self,
        source: &Source,
        asker: &JobCredentials,
    ) -> Result<Fetched, Error> {
        let fetched = self.fetch_source(source, asker).await;
        self.tidy().await;
        fetched
    }

    async fn fetch_source(
        &self,
        source: &Source,
        asker: &JobCredentials,
    ) -> Result<Fetched, Error> {
        self.swept.get_or_try_init(|| self.sweep()).await?;
        let (lease, identity, directory) = match source {
            Source::Git { url, rev } => {
                let (lease, commit) = self.git.fetch(url, rev).await?;
                let directory = lease.directory().to_owned();
                (lease, commit, directory)
            }
            Source::Oci {
                registry,
                repository,
                tag,
                platform,
            } => {
                let image = ImageRepository::parse(registry, repository)?;
                let fetched = self.images.fetch(&image, tag, platform, asker);
                let (lease, digest) = fetched.await?;
                let directory = lease.directory().join(TREE);
                (lease, digest, directory)
            }
        };
        Ok(Fetched {
            directory,
            identity,
            lease: Some(Box::new(lease)),
        })
    }

    async fn publish_image(
        &self,
        archive: &Path,
        repository: &str,
        asker: &JobCredentials,
    ) -> Result<Published, Error> {
        let image = repository_of(repository)?;
        if self.offline {
            let help = "leave out `--offline` to publish".to_owned();
            let why = format!("{image}: nothing is published while offline");
            return Err(Error::Refused(why, Some(help)));
        }
        self.publisher.publish(archive, &image, asker).await
    }
}

/// Reads `REGISTRY/REPOSITORY`.
fn repository_of(text: &str) -> Result<ImageRepository, Error> {
    let invalid = |what: &str, why: &str, help: String| Error::Invalid {
        what: format!("`{what}`"),
        why: why.to_owned(),
        help: Some(help),
    };
    let Some((registry, name)) = text.split_once('/') else {
        // The part before an `@` may be secret.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let help = "write registry.example.com/group/name".to_owned();
        return Err(invalid(shown, "is not REGISTRY/REPOSITORY", help));
    };
    if let Some((bare, _)) = name.split_once([':', '@']) {
        let help = format!("write only {bare}");
        return Err(invalid(
            name,
            "has a tag, but tags come from the version",
            help,
        ));
    }
    Ok(ImageRepository::parse(registry, name)?)
}

/// The hosts of this machine, which need no encryption.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.0/8", "::1"];

#[async_trait]
impl Library for StepLibrary {
    async fn fetch(
        &self,
        source: &Source,
        asker: &JobCredentials,
    ) -> Result<Fetched, LibraryError> {
        let late = |_| Error::Late {
            what: source.to_string(),
            allowed: self.deadline,
        };
        let fetched = timeout(self.deadline, self.fetch_and_tidy(source, asker)).await;
        Ok(fetched.map_err(late).flatten()?)
    }

    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        asker: &JobCredentials,
    ) -> Result<Published, LibraryError> {
        let late = |_| Error::Late {
            what: repository.to_owned(),
            allowed: self.deadline,
        };
        let sent = timeout(
            self.deadline,
            self.publish_image(archive, repository, asker),
        )
        .await;
        Ok(sent.map_err(late).flatten()?)
    }
}
