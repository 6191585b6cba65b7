use super::archive::{Contents, ImageArchive};
use super::tags::tags;
use crate::error::Error;
use registry::{
    Access, Digest, ImageRepository, RegistryClient, RegistryError, RepositoryClient, TagOrDigest,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::{JobCredentials, Published};

/// Publishes images to registries.
#[derive(Debug)]
pub(crate) struct ImagePublisher {
    registries: RegistryClient,
    /// The longest one blob may take.
    allowed: Duration,
}

impl ImagePublisher {
    pub(crate) fn new(registries: RegistryClient, allowed: Duration) -> Self {
        Self {
            registries,
            allowed,
        }
    }

    /// Uploads the image of an archive, and sets its tags.
    pub(crate) async fn publish(
        &self,
        archive: &Path,
        image: &ImageRepository,
        asker: &JobCredentials,
    ) -> Result<Published, Error> {
        let (path, contents) = read(archive.to_owned()).await?;
        let registry = self.open(image, asker).await?;
        let exact = TagOrDigest::Tag(contents.version.to_string());
        let own = contents.manifests.last().map(|it| &it.digest);
        check_version(&registry, &exact, own).await?;
        for (digest, region) in &contents.blobs {
            registry
                .upload(digest, &path, *region, self.allowed)
                .await?;
        }
        self.name(&registry, &contents).await
    }

    async fn open(
        &self,
        image: &ImageRepository,
        asker: &JobCredentials,
    ) -> Result<RepositoryClient, RegistryError> {
        let configs = &asker.docker_auth_configs;
        self.registries.open(image, configs, Access::Push).await
    }

    /// Uploads the manifests, those that others refer to first, and then sets the tags of the last.
    async fn name(
        &self,
        registry: &RepositoryClient,
        contents: &Contents,
    ) -> Result<Published, Error> {
        for document in &contents.manifests {
            let label = TagOrDigest::Digest(document.digest.clone());
            registry.put(document, &label).await?;
        }
        let Some(own) = contents.manifests.last() else {
            let reason = "it has no manifest".to_owned();
            let what = registry.repository().to_string();
            return Err(RegistryError::Malformed { what, reason }.into());
        };
        let tags = tags(&contents.version, &registry.tags().await?);
        for tag in &tags {
            registry.put(own, &TagOrDigest::Tag(tag.clone())).await?;
        }
        Ok(Published {
            digest: own.digest.to_string(),
            tags,
        })
    }
}

/// Refuses to replace a version, which users rely on, by another image.
async fn check_version(
    registry: &RepositoryClient,
    exact: &TagOrDigest,
    own: Option<&Digest>,
) -> Result<(), Error> {
    match registry.find(exact).await? {
        Some(found) if Some(&found) != own => Err(Error::Refused(
            format!(
                "{}:{exact} exists already, with another image",
                registry.repository()
            ),
            Some("publish it with a new version".to_owned()),
        )),
        _ => Ok(()),
    }
}

async fn read(path: PathBuf) -> Result<(PathBuf, Contents), Error> {
    let read = move || {
        let archive = ImageArchive::open(&path)?;
        let contents = archive.contents()?;
        Ok((archive.path, contents))
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
