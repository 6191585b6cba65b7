use crate::cache::{Cleaned, FunctionCache, Shelf, Unused, clean};
use crate::error::Error;
use crate::git::GitFetcher;
use crate::oci::{ImageFetcher, ImageName, ImagePublisher, Registries, TREE, bare};
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
    images: ImageFetcher,
    publisher: ImagePublisher,
    offline: bool,
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
        let mut web = options.web.clone();
        // Without encryption only what is named so is asked, and it is that only where the rules let it in.
        let plain = options.insecure_registries.iter();
        let plain = plain.map(|host| bare(host).to_owned());
        web.reach.plain.extend(plain);
        web.reach.plain.extend(HERE.map(str::to_owned));
        let web = Web::new(web).map_err(Error::Web)?;
        let registries = Registries::new(&options, &web);
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

    /// Removes what is not used from the cache. Blocks.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read or changed.
    pub fn clean(&self, unused: Unused) -> Result<Cleaned, LibraryError> {
        let cleaned = clean(&self.shelves(), unused);
        Ok(cleaned.map_err(Error::cache("clean", &self.directory))?)
    }

    /// Removes what programs left that were killed.
    async fn sweep(&self) -> Result<(), Error> {
        let directory = self.directory.clone();
        let shelves = self.shelves();
        let sweep = move || {
            make_private_dir(&directory).map_err(Error::cache("make", &directory))?;
            let recovered = process::recover(&directory);
            if let Err(error) = recovered {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "What others left is left for now.");
            }
            shelves.iter().for_each(Shelf::sweep);
            Ok(())
        };
        // It ends by itself, soon.
        match tokio::task::spawn_blocking(sweep).await {
            Ok(swept) => swept,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Keeps the cache within its budget, and free of what was given up.
    async fn tidy(&self) {
        let (shelves, budget) = (self.shelves(), self.budget);
        let tidy = move || {
            shelves.iter().for_each(Shelf::sweep);
            clean(&shelves, Unused::Above(budget))
        };
        // It ends by itself, soon.
        let error = match tokio::task::spawn_blocking(tidy).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        };
        tracing::warn!(%error, "The cache of functions may become too large.");
    }

    fn shelves(&self) -> [Shelf; 3] {
        FunctionCache::new(&self.directory).shelves()
    }

    /// What could not be brought may have left more in the cache than there is room for, too.
    async fn bring(&self, source: &Source, asker: &Asker) -> Result<Fetched, Error> {
        let found = self.find(source, asker).await;
        self.tidy().await;
        found
    }

    async fn find(&self, source: &Source, asker: &Asker) -> Result<Fetched, Error> {
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
                let image = ImageName::parse(registry, repository)?;
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

    async fn send(
        &self,
        archive: &Path,
        repository: &str,
        asker: &Asker,
    ) -> Result<Published, Error> {
        let image = repository_of(repository)?;
        if self.offline {
            let help = "leave out `--offline` to publish".to_owned();
            let why = format!("{image}: nothing is published while nobody is asked");
            return Err(Error::Refused(why, Some(help)));
        }
        self.publisher.publish(archive, &image, asker).await
    }
}

/// Reads `REGISTRY/REPOSITORY`.
fn repository_of(text: &str) -> Result<ImageName, Error> {
    let wrong = |what: &str, why: &str, help: String| Error::Invalid {
        what: format!("`{what}`"),
        why: why.to_owned(),
        help: Some(help),
    };
    let Some((registry, name)) = text.split_once('/') else {
        // What stands before an `@` may be secret.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let help = "write registry.example.com/group/name".to_owned();
        return Err(wrong(shown, "is no REGISTRY/REPOSITORY", help));
    };
    if let Some((bare, _)) = name.split_once([':', '@']) {
        let help = format!("write {bare} alone");
        return Err(wrong(
            name,
            "has a tag, and those come from the version",
            help,
        ));
    }
    ImageName::parse(registry, name)
}

/// The hosts of this machine, which need no encryption.
const HERE: [&str; 3] = ["localhost", "127.0.0.0/8", "::1"];

#[async_trait]
impl Library for StepLibrary {
    async fn fetch(&self, source: &Source, asker: &Asker) -> Result<Fetched, LibraryError> {
        let late = |_| Error::Late {
            what: source.to_string(),
            allowed: self.deadline,
        };
        let brought = timeout(self.deadline, self.bring(source, asker)).await;
        Ok(brought.map_err(late).flatten()?)
    }

    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        asker: &Asker,
    ) -> Result<Published, LibraryError> {
        let late = |_| Error::Late {
            what: repository.to_owned(),
            allowed: self.deadline,
        };
        let sent = timeout(self.deadline, self.send(archive, repository, asker)).await;
        Ok(sent.map_err(late).flatten()?)
    }
}
