use super::ItemKind;
use super::lease::Lease;
use super::ledger::{Ledger, now};
use super::notes::{ImageNote, ImagesBeforePull, Notes, VolumeNote};
use crate::error::DockerError;
use crate::image::{ImageInfo, ImageReference};
use parking_lot::Mutex;
use std::sync::Arc;

/// Protects the images and volumes of one job from removal. Clones share the leases, which end when all clones are
/// dropped, or with the process.
///
/// A failure is logged and does not fail the job: at worst an object counts as the user's and is kept.
#[derive(Debug, Clone)]
pub struct JobLeases {
    ledger: Ledger,
    job: Arc<str>,
    held: Arc<Mutex<Vec<Lease>>>,
}

impl JobLeases {
    /// Returns no leases yet for the job with the name `job`.
    pub fn new(ledger: Ledger, job: &str) -> Self {
        Self {
            ledger,
            job: job.into(),
            held: Arc::default(),
        }
    }

    /// Takes a lease of an image, before the engine is asked whether it has it.
    pub(crate) async fn image(&self, reference: &ImageReference) {
        self.take(ItemKind::Image, &reference.exact()).await;
    }

    /// Takes a lease of a volume and records its use.
    pub(crate) async fn volume(&self, name: &str) {
        self.take(ItemKind::Volume, name).await;
        let note = VolumeNote {
            used: now(),
            job: self.job.to_string(),
        };
        let name = name.to_owned();
        self.note(move |notes| notes.use_volume(&name, note)).await;
    }

    /// Marks a pull as in progress until the result is dropped.
    pub(crate) async fn pulling(&self) -> Option<impl Send + use<>> {
        log_error(self.ledger.pulling().await)
    }

    /// Records the use of an image that the engine had.
    pub(crate) async fn used(&self, info: &ImageInfo) {
        let (name, note) = (info.reference.exact(), self.image_note(info));
        self.note(move |notes| notes.use_image(&name, note)).await;
    }

    /// Records a pull of the job.
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
        if let Some(lease) = log_error(self.ledger.lease(kind, name).await) {
            let mut held = self.held.lock();
            held.push(lease);
        }
    }

    async fn note(&self, change: impl FnOnce(&mut Notes) + Send + 'static) {
        log_error(self.ledger.change(change).await);
    }
}

fn log_error<T>(result: Result<T, DockerError>) -> Option<T> {
    result
        .inspect_err(|error| {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "The use of an image or volume is not recorded.");
        })
        .ok()
}
