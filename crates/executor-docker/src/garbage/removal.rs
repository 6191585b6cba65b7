//! Removes one image or volume, unless it has changed meanwhile.

use super::ItemKind;
use super::item::KeepReason;
use super::ledger::Ledger;
use super::names::{in_full, others, repository};
use super::notes::Notes;
use crate::engine::Engine;
use crate::engine::labels::{KEEP, MANAGED};
use crate::error::DockerError;
use bollard::query_parameters::{RemoveImageOptions, RemoveVolumeOptions, TagImageOptions};
use fail_point::fail_point;
use std::collections::{BTreeSet, HashMap};

/// An item to remove.
#[derive(Debug)]
pub(super) struct ItemRemoval<'r> {
    pub(super) engine: &'r Engine,
    pub(super) ledger: &'r Ledger,
    pub(super) kind: ItemKind,
    /// The image's id, or the volume's name.
    pub(super) id: &'r str,
    /// Our names of it.
    pub(super) names: &'r [String],
    /// All its names that jobs may use.
    pub(super) all_names: &'r [String],
    /// The last use at the time of the decision, in seconds since 1970.
    pub(super) used: u64,
}

impl ItemRemoval<'_> {
    /// Removes the item, or returns why it is kept. No lease of it is granted meanwhile.
    pub(super) async fn perform(&self) -> Result<Option<KeepReason>, DockerError> {
        let mut claims = Vec::new();
        // Each name once: a second claim of the same name fails.
        for name in self.all_names.iter().collect::<BTreeSet<_>>() {
            match self.ledger.claim_removal(self.kind, name)? {
                Some(claim) => claims.push(claim),
                None => return Ok(Some(KeepReason::Leased(self.last_job()?))),
            }
        }
        if self.was_used()? {
            return Ok(Some(KeepReason::WithinBudget));
        }
        let stays = match self.kind {
            ItemKind::Image => self.remove_image().await?,
            ItemKind::Volume => self.remove_volume().await?,
        };
        if stays.is_none() {
            let (kind, names) = (self.kind, self.all_names.to_vec());
            let forget = move |notes: &mut Notes| {
                for name in &names {
                    match kind {
                        ItemKind::Image => drop(notes.images.remove(name)),
                        ItemKind::Volume => drop(notes.volumes.remove(name)),
                    }
                }
            };
            self.ledger.change(forget).await?;
        }
        drop(claims);
        Ok(stays)
    }

    /// Returns whether a job has used it since the decision.
    fn was_used(&self) -> Result<bool, DockerError> {
        let notes = self.ledger.read()?;
        let last = self.all_names.iter().filter_map(|name| match self.kind {
            ItemKind::Image => notes.images.get(name).map(|it| it.used),
            ItemKind::Volume => notes.volumes.get(name).map(|it| it.used),
        });
        Ok(last.max().is_some_and(|last| last > self.used))
    }

    fn last_job(&self) -> Result<String, DockerError> {
        let notes = self.ledger.read()?;
        let jobs = self.all_names.iter().filter_map(|name| match self.kind {
            ItemKind::Image => notes.images.get(name).map(|it| (it.used, it.job.clone())),
            ItemKind::Volume => notes.volumes.get(name).map(|it| (it.used, it.job.clone())),
        });
        Ok(jobs.max().map(|(_, job)| job).unwrap_or_default())
    }

    /// Removes our names of an image. Without force, the engine refuses to remove an image of a container.
    async fn remove_image(&self) -> Result<Option<KeepReason>, DockerError> {
        let found = self.engine.api().inspect_image(self.id);
        let found = match self.engine.call("look for an image", found).await {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let names = found.repo_tags.iter().chain(&found.repo_digests).flatten();
        let names: Vec<String> = names.filter_map(|name| in_full(name)).collect();
        let ours: Vec<&str> = self.names.iter().map(String::as_str).collect();
        if let Some(other) = others(&names, &ours).first() {
            return Ok(Some(KeepReason::OtherName((*other).to_owned())));
        }
        let mut removed = Vec::new();
        // A digest is removed with the last tag of its repository.
        for name in self.names.iter().filter(|name| names.contains(name)) {
            // Unnamed parents may be the user's.
            let options = RemoveImageOptions {
                noprune: true,
                ..RemoveImageOptions::default()
            };
            let answer = self.engine.api().remove_image(name, Some(options), None);
            let answer = fail_point!(
                "executor_docker::garbage::remove_image",
                self.engine
                    .call(format!("remove image {name}"), answer)
                    .await
            );
            match refused(answer.map(drop)) {
                Ok(None) => removed.push(name.as_str()),
                stays => {
                    self.tag_again(&removed).await;
                    return stays;
                }
            }
        }
        Ok(None)
    }

    /// Restores the removed names of an image that is kept.
    async fn tag_again(&self, removed: &[&str]) {
        for name in removed {
            let Some(options) = tag_of(name) else {
                continue;
            };
            let tagged = self.engine.api().tag_image(self.id, Some(options));
            let tagged = self.engine.call(format!("tag image {name}"), tagged).await;
            // A job that needs the name pulls it again.
            if let Err(error) = tagged {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "An image has lost a name.");
            }
        }
    }

    async fn remove_volume(&self) -> Result<Option<KeepReason>, DockerError> {
        let found = self.engine.api().inspect_volume(self.id);
        let found = match self.engine.call("look for a volume", found).await {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_ours(&found.labels) {
            return Ok(Some(KeepReason::NotOurs));
        }
        let options = RemoveVolumeOptions { force: false };
        let removed = self.engine.api().remove_volume(self.id, Some(options));
        let removed = fail_point!(
            "executor_docker::garbage::remove_volume",
            self.engine
                .call(format!("remove volume {}", self.id), removed)
                .await
        );
        refused(removed)
    }
}

/// Returns the tag request for a full name; `None` for a digest, which cannot be tagged.
fn tag_of(full: &str) -> Option<TagImageOptions> {
    let repo = repository(full);
    let tag = full.strip_prefix(repo)?.strip_prefix(':')?;
    Some(TagImageOptions {
        repo: Some(repo.to_owned()),
        tag: Some(tag.to_owned()),
    })
}

/// Returns whether a volume has the labels of our cache volumes.
fn is_ours(labels: &HashMap<String, String>) -> bool {
    let has = |label: &str| labels.get(label).is_some_and(|value| value == "true");
    has(MANAGED) && has(KEEP)
}

/// Returns the reason when the engine refuses to remove an object in use.
fn refused(removed: Result<(), DockerError>) -> Result<Option<KeepReason>, DockerError> {
    match removed {
        Ok(()) => Ok(None),
        Err(error) if error.is_not_found() => Ok(None),
        Err(DockerError::Api {
            status: 409,
            message,
            ..
        }) => Ok(Some(KeepReason::Refused(message))),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_can_be_restored_and_a_digest_cannot() {
        let given = tag_of("registry:5000/team/app:1.2").unwrap();
        assert_eq!(given.repo.as_deref(), Some("registry:5000/team/app"));
        assert_eq!(given.tag.as_deref(), Some("1.2"));
        let digest = format!("registry:5000/team/app@sha256:{}", "a".repeat(64));
        assert!(tag_of(&digest).is_none());
        assert!(tag_of("registry:5000/team/app").is_none());
    }
}
