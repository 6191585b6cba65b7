use super::digest::Digest;
use super::name::ImageName;
use super::platform::Platform;
use crate::error::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The kinds of manifests that are understood, as registries are told.
pub(super) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The most bytes of a manifest, as registries have it.
pub(super) const LONGEST: usize = 4 << 20;

/// An image, or a list of images for several platforms. One type reads both.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) media_type: Option<String>,
    pub(super) config: Option<Descriptor>,
    pub(super) layers: Option<Vec<Descriptor>>,
    pub(super) manifests: Option<Vec<Descriptor>>,
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

/// What says of something where it is and what it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) platform: Option<Platform>,
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

/// What of an image's configuration says for what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    pub(super) os: String,
    pub(super) architecture: String,
}

impl Manifest {
    pub(super) fn parse(bytes: &[u8], what: &str) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(|error| Error::Malformed {
            what: what.to_owned(),
            why: format!("its manifest is none: {error}"),
        })
    }

    /// Returns the image for a platform.
    pub(super) fn choose<'m>(
        manifests: &'m [Descriptor],
        wanted: &Platform,
        image: &ImageName,
    ) -> Result<&'m Descriptor, Error> {
        let fitting = manifests.iter().filter_map(|it| {
            let fit = wanted.fit(it.platform.as_ref()?)?;
            Some((fit, it))
        });
        // Of two that fit alike the first counts.
        let best = fitting.rev().max_by_key(|(fit, _)| *fit);
        best.map(|(_, it)| it).ok_or_else(|| {
            let known = manifests.iter().filter_map(|it| it.platform.as_ref());
            let known = known.filter(|it| it.os != "unknown");
            let mut there: Vec<String> = known.map(ToString::to_string).collect();
            there.sort();
            there.dedup();
            no_platform(image, wanted, &there)
        })
    }
}

impl Descriptor {
    pub(super) fn digest(&self, what: &str) -> Result<Digest, Error> {
        Digest::parse(&self.digest).ok_or_else(|| Error::Malformed {
            what: what.to_owned(),
            why: "a digest in its manifest is none of SHA-256".to_owned(),
        })
    }
}

pub(super) fn no_platform(image: &ImageName, wanted: &Platform, there: &[String]) -> Error {
    let there = match there {
        [] => "none that is known".to_owned(),
        there => there.join(", "),
    };
    Error::Refused(
        format!("{image} has no image for {wanted}, it has {there}"),
        Some("publish it for this platform, or run the job on one of those".to_owned()),
    )
}
