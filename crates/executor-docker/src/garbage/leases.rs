use super::ItemKind;
use super::lease::Lease;
use super::ledger::{Ledger, now};
use super::notes::{ImageNote, ImagesBeforePull, Notes, VolumeNote};
use crate::error::DockerError;
use crate::image::{ImageInfo, ImageReference};
use parking_lot::Mutex;
use std::sync::Arc;

/// What keeps the images and volumes of one job from being removed; clones are the same. It ends when all of
/// them are dropped, and with the process.
///
/// What cannot be noted is told to `tracing` and keeps no job from running: at worst a thing is taken for somebody
/// else's, and stays.
#[derive(Debug, Clone)]
pub struct JobLeases {
    ledger: Ledger,
    job: Arc<str>,
    held: Arc<Mutex<Vec<Lease>>>,
}

impl JobLeases {
    /// Returns those of a job that has none yet; `job` is what people call it.
    pub fn new(ledger: Ledger, job: &str) -> Self {
        Self {
            ledger,
            job: job.into(),
            held: Arc::default(),
        }
    }

    /// Takes one of an image, before anybody looks whether the engine has it.
    pub(crate) async fn image(&self, reference: &ImageReference) {
        self.take(ItemKind::Image, &reference.exact()).await;
    }

    /// Takes one of a volume, and notes that it is used.
    pub(crate) async fn volume(&self, name: &str) {
        self.take(ItemKind::Volume, name).await;
        let note = VolumeNote {
            used: now(),
            job: self.job.to_string(),
        };
        let name = name.to_owned();
        self.note(move |notes| notes.use_volume(&name, note)).await;
    }

    /// Says that something is pulled until the result is dropped.
    pub(crate) async fn pulling(&self) -> Option<impl Send + use<>> {
        told(self.ledger.pulling().await)
    }

    /// Notes that the job uses an image which the engine had.
    pub(crate) async fn used(&self, info: &ImageInfo) {
        let (name, note) = (info.reference.exact(), self.image_note(info));
        self.note(move |notes| notes.use_image(&name, note)).await;
    }

    /// Notes that the job has pulled an image.
    pub(crate) async fn pulled(&self, info: &ImageInfo, before: ImagesBeforePull) {
        let (name, note) = (info.reference.exact(), self.image_note(info));
        self.note(move |notes| notes.pull_image(&name, &before, note))
            .await;
    }

    fn image_note(&self, info: &ImageInfo) -> ImageNote {
        let now = now();
        ImageNote {
            id: info.id.clone(),
            digest: info.digest.as_deref().and_then(super::names::in_full),
            pulled: Some(now),
            used: now,
            job: self.job.to_string(),
        }
    }

    async fn take(&self, kind: ItemKind, name: &str) {
        if let Some(lease) = told(self.ledger.lease(kind, name).await) {
            let mut held = self.held.lock();
            held.push(lease);
        }
    }

    async fn note(&self, change: impl FnOnce(&mut Notes) + Send + 'static) {
        let ledger = self.ledger.clone();
        let noted = tokio::task::spawn_blocking(move || ledger.change(change)).await;
        told(noted.unwrap_or_else(|panic| {
            Err(DockerError::Broken {
                doing: "note what a job uses".to_owned(),
                source: panic.into(),
            })
        }));
    }
}

fn told<T>(result: Result<T, DockerError>) -> Option<T> {
    result
        .inspect_err(|error| {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "What a job uses is not noted.");
        })
        .ok()
}
