//! The disk usage of an engine.

use super::layers::Footprint;
use super::names::in_full;
use crate::engine::Engine;
use crate::error::DockerError;
use futures_util::StreamExt;
use futures_util::stream;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How many images are inspected at once.
const AT_ONCE: usize = 8;

/// How long an engine that is busy with the same request is asked again, and the pause in between.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// The images and volumes of an engine.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) images: Vec<FoundImage>,
    pub(super) volumes: Vec<FoundVolume>,
}

/// An image.
#[derive(Debug)]
pub(super) struct FoundImage {
    pub(super) footprint: Footprint,
    /// All its full names.
    pub(super) names: Vec<String>,
    /// Whether a container uses it.
    pub(super) has_container: bool,
}

/// A volume.
#[derive(Debug)]
pub(super) struct FoundVolume {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Whether a container uses it.
    pub(super) has_container: bool,
}

/// The answer, in the layout up to API 1.51 or the later one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Answer {
    images: Option<Vec<ImageAnswer>>,
    volumes: Option<Vec<VolumeAnswer>>,
    image_usage: Option<Items<ImageAnswer>>,
    volume_usage: Option<Items<VolumeAnswer>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Items<T> {
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageAnswer {
    id: String,
    #[serde(default)]
    size: i64,
    #[serde(default)]
    shared_size: i64,
    #[serde(default)]
    containers: i64,
    repo_tags: Option<Vec<String>>,
    repo_digests: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VolumeAnswer {
    name: String,
    usage_data: Option<VolumeUsage>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VolumeUsage {
    #[serde(default)]
    size: i64,
    #[serde(default)]
    ref_count: i64,
}

impl Usage {
    /// Asks the engine.
    pub(super) async fn ask(engine: &Engine) -> Result<Self, DockerError> {
        let answer = ask_when_free(engine).await?;
        let images = answer.images.or(answer.image_usage.map(|it| it.items));
        let volumes = answer.volumes.or(answer.volume_usage.map(|it| it.items));
        let images = images.unwrap_or_default().into_iter().map(FoundImage::of);
        let mut images: Vec<FoundImage> = images.collect();
        add_layers(engine, &mut images).await?;
        let volumes = volumes.unwrap_or_default().into_iter();
        Ok(Self {
            images,
            volumes: volumes.map(FoundVolume::of).collect(),
        })
    }
}

/// Asks until the engine answers: it refuses concurrent requests of this kind.
async fn ask_when_free(engine: &Engine) -> Result<Answer, DockerError> {
    let path = "/system/df?type=image&type=volume&verbose=1";
    let begun = Instant::now();
    loop {
        match engine.get("read the disk usage", path).await {
            Err(error) if error.status() == Some(500) && begun.elapsed() < PATIENCE => {}
            answer => return answer,
        }
        sleep(PAUSE).await;
    }
}

/// Adds the layers of images that share some.
async fn add_layers(engine: &Engine, images: &mut [FoundImage]) -> Result<(), DockerError> {
    let sharing = images.iter_mut().filter(|image| image.footprint.shared > 0);
    let asked = sharing.map(|image| async move {
        let found = engine.api().inspect_image(&image.footprint.id);
        match engine.call("read the layers of an image", found).await {
            Ok(found) => {
                let layers = found.root_fs.and_then(|it| it.layers);
                image.footprint.layers = layers.unwrap_or_default();
                Ok(())
            }
            // It was removed meanwhile.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    });
    let asked = stream::iter(asked).buffer_unordered(AT_ONCE);
    let all: Vec<Result<(), DockerError>> = asked.collect().await;
    all.into_iter().collect()
}

impl FoundImage {
    fn of(answer: ImageAnswer) -> Self {
        let tags = answer.repo_tags.unwrap_or_default();
        let digests = answer.repo_digests.unwrap_or_default();
        let names = tags.iter().chain(&digests);
        Self {
            footprint: Footprint {
                id: answer.id,
                layers: Vec::new(),
                size: bytes(answer.size),
                shared: bytes(answer.shared_size),
            },
            names: names.filter_map(|name| in_full(name)).collect(),
            has_container: answer.containers > 0,
        }
    }
}

impl FoundVolume {
    fn of(answer: VolumeAnswer) -> Self {
        let usage = answer.usage_data.as_ref();
        Self {
            name: answer.name,
            bytes: bytes(usage.map_or(0, |it| it.size)),
            has_container: usage.is_some_and(|it| it.ref_count > 0),
        }
    }
}

/// Returns a number of bytes; the engine reports an unknown one as -1.
fn bytes(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) {
        let answer: Answer = serde_json::from_str(text).unwrap();
        let images = answer.images.or(answer.image_usage.map(|it| it.items));
        let volumes = answer.volumes.or(answer.volume_usage.map(|it| it.items));
        let image = FoundImage::of(images.unwrap().remove(0));
        assert_eq!(
            (image.footprint.size, image.footprint.shared),
            (10, 0),
            "{text}"
        );
        assert_eq!(image.names, ["docker.io/library/debian:12"]);
        let volume = FoundVolume::of(volumes.unwrap().remove(0));
        assert_eq!((volume.bytes, volume.has_container), (7, true), "{text}");
    }

    #[test]
    fn both_layouts_are_read() {
        let image = r#"{"Id":"sha256:1","Size":10,"SharedSize":-1,"Containers":0,"RepoTags":["debian:12"],"RepoDigests":null}"#;
        let volume = r#"{"Name":"v","UsageData":{"Size":7,"RefCount":1}}"#;
        check(&format!(
            r#"{{"LayersSize":1,"Images":[{image}],"Volumes":[{volume}]}}"#
        ));
        check(&format!(
            r#"{{"ImageUsage":{{"Items":[{image}]}},"VolumeUsage":{{"Items":[{volume}]}}}}"#
        ));
    }
}
