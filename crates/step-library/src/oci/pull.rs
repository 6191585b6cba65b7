use super::layer::Layer;
use crate::LibraryOptions;
use crate::cache::{Claim, FunctionCache, Lease, Shelf, Staging};
use crate::error::Error;
use crate::tree::sanitize;
use executor_core::Cancellation;
use executor_core::cancellation::CancelCause;
use process::{make_private_dir, replace_file};
use registry::{
    Access, Descriptor, Digest, ImageConfig, ImageRepository, MAX_MANIFEST, Manifest, Platform,
    RegistryClient, RegistryError, RepositoryClient, TagOrDigest,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::PathBuf;
use steps::JobCredentials;
use tokio::time::Instant;

/// The most layers of an image.
const MAX_LAYERS: usize = 256;

/// The folder with the files in a directory of the cache. The layers they come from are beside it for a while.
pub(crate) const TREE: &str = "tree";

/// Fetches images into the cache.
#[derive(Debug)]
pub(crate) struct ImageFetcher {
    options: LibraryOptions,
    registries: RegistryClient,
    /// The files of images.
    pub(crate) trees: Shelf,
    /// Holds the digest that each tag had last, for offline use.
    resolved: PathBuf,
}

/// The image to fetch.
struct Wanted<'a> {
    image: &'a ImageRepository,
    label: &'a TagOrDigest,
    platform: &'a Platform,
}

impl ImageFetcher {
    pub(crate) fn new(options: LibraryOptions, registries: RegistryClient) -> Self {
        let directory = options.cache_dir.join("oci");
        Self {
            registries,
            trees: FunctionCache::new(&options.cache_dir).images(),
            resolved: directory.join("names"),
            options,
        }
    }

    /// Returns the files of an image, and the digest of its tag.
    pub(crate) async fn fetch(
        &self,
        image: &ImageRepository,
        tag: &str,
        platform: &str,
        asker: &JobCredentials,
    ) -> Result<(Lease, String), Error> {
        let (label, platform) = (TagOrDigest::parse(tag)?, Platform::parse(platform)?);
        let wanted = Wanted {
            image,
            label: &label,
            platform: &platform,
        };
        if self.options.offline {
            return self.cached(&wanted).await;
        }
        let configs = &asker.docker_auth_configs;
        let registry = self.registries.open(image, configs, Access::Pull).await?;
        // Also for a cached image: only the registry knows whether this caller may have it.
        let digest = registry.resolve(&label).await?;
        let name = name_of(image, &digest, &platform);
        if let TagOrDigest::Tag(_) = label {
            self.record(&wanted, &digest);
        }
        let deadline = Instant::now() + self.options.deadline;
        let claim = self.trees.claim(&name, deadline).await;
        let lease = match claim.map_err(|error| self.busy(image, error))? {
            Claim::Cached(lease) => lease,
            Claim::Create(staging) => self.make(&registry, &wanted, &digest, staging).await?,
        };
        Ok((lease, digest.to_string()))
    }

    /// Returns a cached image, without a request.
    async fn cached(&self, wanted: &Wanted<'_>) -> Result<(Lease, String), Error> {
        let recorded = || fs::read_to_string(self.record_file(wanted));
        let digest = match wanted.label {
            TagOrDigest::Digest(digest) => Some(digest.clone()),
            TagOrDigest::Tag(_) => recorded().ok().and_then(|text| Digest::parse(&text)),
        };
        let absent = || Error::Offline(format!("{} {}", wanted.image, wanted.label));
        let digest = digest.ok_or_else(absent)?;
        let deadline = Instant::now() + self.options.deadline;
        let name = name_of(wanted.image, &digest, wanted.platform);
        let claim = self.trees.claim(&name, deadline).await;
        match claim.map_err(|error| self.busy(wanted.image, error))? {
            Claim::Cached(lease) => Ok((lease, digest.to_string())),
            Claim::Create(_) => Err(absent()),
        }
    }

    /// Records the digest of a tag for offline use.
    fn record(&self, wanted: &Wanted<'_>, digest: &Digest) {
        let file = self.record_file(wanted);
        let recorded = make_private_dir(&self.resolved)
            .and_then(|()| replace_file(&file, digest.to_string().as_bytes()));
        if let Err(error) = recorded {
            tracing::debug!(%error, "The digest of a tag is not recorded.");
        }
    }

    fn record_file(&self, wanted: &Wanted<'_>) -> PathBuf {
        let name = format!("{}:{}", wanted.image, wanted.label);
        self.resolved.join(Digest::of(name.as_bytes()).hex())
    }

    async fn make(
        &self,
        registry: &RepositoryClient,
        wanted: &Wanted<'_>,
        digest: &Digest,
        mut staging: Staging,
    ) -> Result<Lease, Error> {
        let layers = self.layers(registry, wanted, digest).await?;
        let what = wanted.image.to_string();
        let tree = staging.path().join(TREE);
        fs::create_dir(&tree).map_err(Error::cache("make", &tree))?;
        let mut left = self.options.max_bytes;
        for layer in layers {
            let file = staging.path().join("layer");
            registry.download(&layer, &file).await?;
            let job = LayerJob {
                what: what.clone(),
                max_bytes: left,
            };
            let (applied, bytes) = job.apply(staging).await?;
            staging = applied;
            left = left.saturating_sub(bytes);
        }
        let bytes = sanitize(&tree, &what, self.options.max_bytes)?;
        staging.publish(bytes).map_err(Error::cache("keep", &tree))
    }

    /// Returns the layers of the image for the platform.
    async fn layers(
        &self,
        registry: &RepositoryClient,
        wanted: &Wanted<'_>,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        let what = wanted.image.to_string();
        let (_, answer) = registry
            .manifest(&TagOrDigest::Digest(digest.clone()))
            .await?;
        let mut manifest = Manifest::parse(&answer.body, &what)?;
        if let Some(manifests) = &manifest.manifests {
            let chosen = Manifest::choose(manifests, wanted.platform, wanted.image)?;
            let label = TagOrDigest::Digest(chosen.digest(&what)?);
            let (_, answer) = registry.manifest(&label).await?;
            manifest = Manifest::parse(&answer.body, &what)?;
        } else if let Some(config) = &manifest.config {
            let bytes = registry.read_blob(config, MAX_MANIFEST).await?;
            // A configuration of another kind has no platform.
            let config: ImageConfig = serde_json::from_slice(&bytes).unwrap_or_default();
            config.check(wanted.platform, wanted.image)?;
        }
        let malformed = |reason: &str| {
            let (what, reason) = (what.clone(), reason.to_owned());
            Error::Registry(RegistryError::Malformed { what, reason })
        };
        let layers = manifest
            .layers
            .ok_or_else(|| malformed("its manifest has no layers"))?;
        let is_layer = |it: &Descriptor| {
            [
                "application/vnd.oci.image.layer.v1.tar",
                "application/vnd.docker.image.rootfs.diff.tar",
            ]
            .iter()
            .any(|kind| it.media_type.starts_with(kind))
        };
        if let Some(other) = layers.iter().find(|it| !is_layer(it)) {
            let kind: String = other
                .media_type
                .chars()
                .filter(char::is_ascii_graphic)
                .take(80)
                .collect();
            return Err(malformed(&format!(
                "one of its layers is `{kind}`, which is not a tar archive"
            )));
        }
        let bytes = layers
            .iter()
            .fold(0_u64, |sum, it| sum.saturating_add(it.size));
        if layers.len() > MAX_LAYERS || bytes > self.options.max_bytes {
            return Err(Error::TooLarge {
                what,
                limit: self.options.max_bytes,
                unit: "bytes, or too many layers",
            });
        }
        Ok(layers)
    }

    fn busy(&self, image: &ImageRepository, error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::TimedOut {
            return Error::Busy(image.to_string());
        }
        Error::cache("lock", &self.options.cache_dir)(error)
    }
}

/// A layer to be applied on a thread of its own.
struct LayerJob {
    what: String,
    max_bytes: u64,
}

impl LayerJob {
    /// Returns the directory. When the caller is dropped, it stops soon, and the directory is removed.
    async fn apply(self, staging: Staging) -> Result<(Staging, u64), Error> {
        let cancellation = Cancellation::new();
        let _guard = Guard(cancellation.clone());
        let work = move || {
            let path = staging.path();
            let layer = Layer {
                file: &path.join("layer"),
                scratch: &path.join("unpacked"),
                tree: &path.join(TREE),
                max_bytes: self.max_bytes,
                what: &self.what,
            };
            let bytes = layer.apply(&cancellation)?;
            Ok((staging, bytes))
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(applied) => applied,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// Stops the thread when its caller is dropped.
struct Guard(Cancellation);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort(CancelCause::User);
    }
}

/// Returns the name of an image's directory. Repositories do not share directories, even of equal files: a caller with access
/// to one need not have access to the other.
fn name_of(image: &ImageRepository, digest: &Digest, platform: &Platform) -> String {
    let repository = Sha256::digest(image.to_string());
    let mut name = format!("{}-{}-", digest.hex(), platform.directory_name());
    for byte in repository.iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
