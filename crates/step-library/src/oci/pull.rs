use super::digest::Digest;
use super::layer::Layer;
use super::manifest::{Config, Descriptor, LONGEST, Manifest, no_platform};
use super::name::{ImageName, Label};
use super::platform::Platform;
use super::registries::Registries;
use super::registry::{Access, Registry};
use crate::LibraryOptions;
use crate::cache::{FunctionCache, Lease, Shelf, Staging, Turn};
use crate::error::Error;
use crate::tree::tame;
use executor_core::Cancellation;
use executor_core::cancellation::CancelCause;
use process::make_private_dir;
use sha2::{Digest as _, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::PathBuf;
use steps::Asker;
use tokio::time::Instant;

/// The most layers of an image.
const MOST_LAYERS: usize = 256;

/// Where in a directory of the cache the files are; beside them is what they were made from, for a while.
pub(crate) const TREE: &str = "tree";

/// Fetches images into the cache.
#[derive(Debug)]
pub(crate) struct ImageFetcher {
    options: LibraryOptions,
    registries: Registries,
    /// The files of images.
    pub(crate) trees: Shelf,
    noted: PathBuf,
}

/// What is asked for.
struct Wanted<'a> {
    image: &'a ImageName,
    label: &'a Label,
    platform: &'a Platform,
}

impl ImageFetcher {
    pub(crate) fn new(options: LibraryOptions, registries: Registries) -> Self {
        let directory = options.cache_dir.join("oci");
        Self {
            registries,
            trees: FunctionCache::new(&options.cache_dir).images(),
            noted: directory.join("names"),
            options,
        }
    }

    /// Returns the files of an image, and the digest of what was named.
    pub(crate) async fn fetch(
        &self,
        image: &ImageName,
        tag: &str,
        platform: &str,
        asker: &Asker,
    ) -> Result<(Lease, String), Error> {
        let (label, platform) = (Label::parse(tag)?, Platform::parse(platform)?);
        let wanted = Wanted {
            image,
            label: &label,
            platform: &platform,
        };
        if self.options.offline {
            return self.here(&wanted).await;
        }
        let registry = self.registries.open(image, asker, Access::Pull).await?;
        // Also for what is in the cache: whether this asker may have it, the registry knows alone.
        let digest = registry.resolve(&label).await?;
        let name = name_of(image, &digest, &platform);
        if let Label::Tag(_) = label {
            self.note(&wanted, &digest);
        }
        let until = Instant::now() + self.options.deadline;
        let turn = self.trees.turn(&name, until).await;
        let lease = match turn.map_err(|error| self.busy(image, error))? {
            Turn::There(lease) => lease,
            Turn::Make(staging) => self.make(&registry, &wanted, &digest, staging).await?,
        };
        Ok((lease, digest.to_string()))
    }

    /// Returns what is in the cache, without asking anybody.
    async fn here(&self, wanted: &Wanted<'_>) -> Result<(Lease, String), Error> {
        let noted = || fs::read_to_string(self.noted_file(wanted));
        let digest = match wanted.label {
            Label::Digest(digest) => Some(digest.clone()),
            Label::Tag(_) => noted().ok().and_then(|text| Digest::parse(&text)),
        };
        let absent = || Error::Offline(format!("{} {}", wanted.image, wanted.label));
        let digest = digest.ok_or_else(absent)?;
        let until = Instant::now() + self.options.deadline;
        let name = name_of(wanted.image, &digest, wanted.platform);
        let turn = self.trees.turn(&name, until).await;
        match turn.map_err(|error| self.busy(wanted.image, error))? {
            Turn::There(lease) => Ok((lease, digest.to_string())),
            Turn::Make(_) => Err(absent()),
        }
    }

    /// Notes what a tag is, for when nobody may be asked.
    fn note(&self, wanted: &Wanted<'_>, digest: &Digest) {
        let file = self.noted_file(wanted);
        // Each program has one of its own: two that write the same would mix.
        let part = file.with_extension(format!("part{}", std::process::id()));
        let noted = make_private_dir(&self.noted)
            .and_then(|()| fs::write(&part, digest.to_string()))
            .and_then(|()| fs::rename(&part, &file));
        if let Err(error) = noted {
            tracing::debug!(%error, "What a tag stands for is not noted.");
        }
    }

    fn noted_file(&self, wanted: &Wanted<'_>) -> PathBuf {
        let name = format!("{}:{}", wanted.image, wanted.label);
        self.noted.join(Digest::of(name.as_bytes()).hex())
    }

    async fn make(
        &self,
        registry: &Registry,
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
            let job = Job {
                what: what.clone(),
                max_bytes: left,
            };
            let (back, bytes) = job.apply(staging).await?;
            staging = back;
            left = left.saturating_sub(bytes);
        }
        let bytes = tame(&tree, &what, self.options.max_bytes)?;
        staging.publish(bytes).map_err(Error::cache("keep", &tree))
    }

    /// Returns the layers of the image for the platform.
    async fn layers(
        &self,
        registry: &Registry,
        wanted: &Wanted<'_>,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        let what = wanted.image.to_string();
        let (_, answer) = registry.manifest(&Label::Digest(digest.clone())).await?;
        let mut manifest = Manifest::parse(&answer.body, &what)?;
        if let Some(manifests) = &manifest.manifests {
            let chosen = Manifest::choose(manifests, wanted.platform, wanted.image)?;
            let label = Label::Digest(chosen.digest(&what)?);
            let (_, answer) = registry.manifest(&label).await?;
            manifest = Manifest::parse(&answer.body, &what)?;
        } else if let Some(config) = &manifest.config {
            self.check_platform(registry, wanted, config).await?;
        }
        let malformed = |why: &str| Error::Malformed {
            what: what.clone(),
            why: why.to_owned(),
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
                "one of its layers is `{kind}`, and no tar archive"
            )));
        }
        let bytes = layers
            .iter()
            .fold(0_u64, |sum, it| sum.saturating_add(it.size));
        if layers.len() > MOST_LAYERS || bytes > self.options.max_bytes {
            return Err(Error::TooLarge {
                what,
                limit: self.options.max_bytes,
                unit: "bytes, or too many layers",
            });
        }
        Ok(layers)
    }

    /// An image that is not in a list says for what it is in its configuration.
    async fn check_platform(
        &self,
        registry: &Registry,
        wanted: &Wanted<'_>,
        config: &Descriptor,
    ) -> Result<(), Error> {
        let bytes = registry.small(config, LONGEST).await?;
        // One that is none of an image says nothing.
        let config: Config = serde_json::from_slice(&bytes).unwrap_or_default();
        let platform = Platform {
            os: config.os,
            architecture: config.architecture,
            variant: None,
        };
        let says_nothing = platform.os.is_empty() || platform.architecture.is_empty();
        if says_nothing || wanted.platform.fit(&platform).is_some() {
            return Ok(());
        }
        Err(no_platform(
            wanted.image,
            wanted.platform,
            &[platform.to_string()],
        ))
    }

    fn busy(&self, image: &ImageName, error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::TimedOut {
            return Error::Busy(image.to_string());
        }
        Error::cache("lock", &self.options.cache_dir)(error)
    }
}

/// A layer that is put on top of others on a thread of its own.
struct Job {
    what: String,
    max_bytes: u64,
}

impl Job {
    /// Gives the directory back. When nobody waits any more it ends soon, and the directory goes with it.
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

/// Stops what works for nobody.
struct Guard(Cancellation);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort(CancelCause::User);
    }
}

/// Names the directory of an image. Those of different repositories are apart, though their files may be the same: who
/// may have one need not be let see the other.
fn name_of(image: &ImageName, digest: &Digest, platform: &Platform) -> String {
    let repository = Sha256::digest(image.to_string());
    let mut name = format!("{}-{}-", digest.hex(), platform.name());
    for byte in repository.iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
