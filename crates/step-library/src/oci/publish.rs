use super::archive::{Contents, ImageArchive};
use crate::error::Error;
use registry::{
    Access, Digest, ImageRepository, RegistryClient, RegistryError, RepositoryClient, TagOrDigest,
};
use semver::Version;
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

/// Returns the tags of a version: its own, those of its minor and major version, and `latest`, except those that belong to a
/// later version. A pre-release has only its own.
fn tags(version: &Version, published: &[String]) -> Vec<String> {
    let mut tags = vec![version.to_string()];
    if !version.pre.is_empty() {
        return tags;
    }
    let parsed = published.iter().filter_map(|tag| Version::parse(tag).ok());
    let later: Vec<Version> = parsed
        .filter(|it| it.pre.is_empty() && it > version)
        .collect();
    let (major, minor) = (version.major, version.minor);
    if !later
        .iter()
        .any(|it| (it.major, it.minor) == (major, minor))
    {
        tags.push(format!("{major}.{minor}"));
    }
    if !later.iter().any(|it| it.major == major) {
        tags.push(major.to_string());
    }
    if later.is_empty() {
        tags.push("latest".to_owned());
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_move_to_later_versions_only() {
        let check = |version: &str, published: &[&str], expect: &[&str]| {
            let published: Vec<String> = published.iter().map(|&it| it.to_owned()).collect();
            let version = Version::parse(version).unwrap();
            assert_eq!(
                tags(&version, &published),
                expect,
                "{version} {published:?}"
            );
        };
        check("1.2.3", &[], &["1.2.3", "1.2", "1", "latest"]);
        check(
            "1.2.3",
            &["1.2.3", "latest", "1", "main"],
            &["1.2.3", "1.2", "1", "latest"],
        );
        check("1.2.3", &["1.2.4"], &["1.2.3"]);
        check("1.2.3", &["1.3.0"], &["1.2.3", "1.2"]);
        check("1.2.3", &["2.0.0"], &["1.2.3", "1.2", "1"]);
        check("1.10.0", &["1.9.0"], &["1.10.0", "1.10", "1", "latest"]);
        check("1.2.3", &["2.0.0-rc.1"], &["1.2.3", "1.2", "1", "latest"]);
        check("2.0.0-rc.1", &["1.0.0"], &["2.0.0-rc.1"]);
        check("0.1.0", &["0.2.0"], &["0.1.0", "0.1"]);
    }
}
