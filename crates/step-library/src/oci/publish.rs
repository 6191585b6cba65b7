use super::archive::{Contents, ImageArchive};
use super::digest::Digest;
use super::name::{ImageName, Label};
use super::registries::Registries;
use super::registry::{Access, Registry};
use super::tags::tags;
use crate::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::{Asker, Published};

/// Sends images to registries.
#[derive(Debug)]
pub(crate) struct ImagePublisher {
    registries: Registries,
    /// How long one blob may take.
    allowed: Duration,
}

impl ImagePublisher {
    pub(crate) fn new(registries: Registries, allowed: Duration) -> Self {
        Self {
            registries,
            allowed,
        }
    }

    /// Sends the image of an archive, and has tags name it.
    pub(crate) async fn publish(
        &self,
        archive: &Path,
        image: &ImageName,
        asker: &Asker,
    ) -> Result<Published, Error> {
        let (path, contents) = read(archive.to_owned()).await?;
        let registry = self.registries.open(image, asker, Access::Push).await?;
        let exact = Label::Tag(contents.version.to_string());
        let own = contents.manifests.last().map(|it| &it.digest);
        check_version(&registry, &exact, own).await?;
        for (digest, region) in &contents.blobs {
            registry
                .upload(digest, &path, *region, self.allowed)
                .await?;
        }
        self.name(&registry, &contents).await
    }

    /// Sends the manifests, those that others refer to first, and then has tags name the last.
    async fn name(&self, registry: &Registry, contents: &Contents) -> Result<Published, Error> {
        for document in &contents.manifests {
            let label = Label::Digest(document.digest.clone());
            registry.put(document, &label).await?;
        }
        let Some(own) = contents.manifests.last() else {
            return Err(Error::Malformed {
                what: registry.image.to_string(),
                why: "there is nothing to be sent".to_owned(),
            });
        };
        let tags = tags(&contents.version, &registry.tags().await?);
        for tag in &tags {
            registry.put(own, &Label::Tag(tag.clone())).await?;
        }
        Ok(Published {
            digest: own.digest.to_string(),
            tags,
        })
    }
}

/// A version that somebody may use is not made another one.
async fn check_version(
    registry: &Registry,
    exact: &Label,
    own: Option<&Digest>,
) -> Result<(), Error> {
    match registry.find(exact).await? {
        Some(there) if Some(&there) != own => Err(Error::Refused(
            format!(
                "{}:{exact} is there already, and is another image",
                registry.image
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
