use super::RegistryError;
use crate::{Digest, ImageRepository, Platform};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The kinds of manifests that are understood, for the header `Accept`.
pub(super) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The most bytes of a manifest, the limit of registries.
pub const MAX_MANIFEST: usize = 4 << 20;

/// The manifest of an image, or of a list of images for several platforms.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Its own media type.
    pub media_type: Option<String>,
    /// The configuration of an image.
    pub config: Option<Descriptor>,
    /// The layers of an image.
    pub layers: Option<Vec<Descriptor>>,
    /// The images of a list.
    pub manifests: Option<Vec<Descriptor>>,
    /// Annotations.
    pub annotations: Option<BTreeMap<String, String>>,
}

/// Refers to a manifest or a blob.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Its media type.
    #[serde(default)]
    pub media_type: String,
    /// Its digest, see [`Self::digest`].
    pub digest: String,
    /// Its bytes.
    pub size: u64,
    /// Its platform, in a list.
    pub platform: Option<Platform>,
    /// Annotations.
    pub annotations: Option<BTreeMap<String, String>>,
}

/// The platform in an image's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ImageConfig {
    /// The operating system; empty if unknown.
    pub os: String,
    /// The architecture; empty if unknown.
    pub architecture: String,
}

impl Manifest {
    /// Reads a manifest; `what` names the image in an error.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Malformed`].
    pub fn parse(bytes: &[u8], what: &str) -> Result<Self, RegistryError> {
        serde_json::from_slice(bytes).map_err(|error| {
            RegistryError::malformed(what, format!("its manifest is invalid: {error}"))
        })
    }

    /// Returns the image of a list that suits a platform best.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Refused`] when none does.
    pub fn choose<'m>(
        manifests: &'m [Descriptor],
        wanted: &Platform,
        repository: &ImageRepository,
    ) -> Result<&'m Descriptor, RegistryError> {
        let fitting = manifests.iter().filter_map(|it| {
            let fit = wanted.fit(it.platform.as_ref()?)?;
            Some((fit, it))
        });
        // Of two that suit it equally, the first is chosen.
        let best = fitting.rev().max_by_key(|(fit, _)| *fit);
        best.map(|(_, it)| it).ok_or_else(|| {
            let known = manifests.iter().filter_map(|it| it.platform.as_ref());
            let known = known.filter(|it| it.os != "unknown");
            let mut found: Vec<String> = known.map(ToString::to_string).collect();
            found.sort();
            found.dedup();
            no_platform(repository, wanted, &found)
        })
    }
}

impl Descriptor {
    /// Reads the digest; `what` names the image in an error.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Malformed`] when it is not SHA-256.
    pub fn digest(&self, what: &str) -> Result<Digest, RegistryError> {
        Digest::parse(&self.digest).ok_or_else(|| {
            RegistryError::malformed(what, "a digest in its manifest is not SHA-256")
        })
    }
}

impl ImageConfig {
    /// Checks that an image suits a platform, as far as its configuration says.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Refused`] when it does not.
    pub fn check(
        self,
        wanted: &Platform,
        repository: &ImageRepository,
    ) -> Result<(), RegistryError> {
        let platform = Platform {
            os: self.os,
            architecture: self.architecture,
            variant: None,
        };
        let is_unknown = platform.os.is_empty() || platform.architecture.is_empty();
        if is_unknown || wanted.fit(&platform).is_some() {
            return Ok(());
        }
        Err(no_platform(repository, wanted, &[platform.to_string()]))
    }
}

fn no_platform(repository: &ImageRepository, wanted: &Platform, found: &[String]) -> RegistryError {
    let found = match found {
        [] => "none that is known".to_owned(),
        found => found.join(", "),
    };
    RegistryError::Refused {
        reason: format!("{repository} has no image for {wanted}, it has {found}"),
        help: Some("publish it for this platform, or run the job on one of those".to_owned()),
    }
}
