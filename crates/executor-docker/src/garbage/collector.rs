use super::Budget;
use super::item::{Item, ItemKind, KeepReason, Verdict};
use super::layers::Footprint;
use super::ledger::{Ledger, now};
use super::names::others;
use super::notes::{ImageNote, Notes};
use super::policy::{Candidate, decide};
use super::removal::ItemRemoval;
use super::usage::{FoundImage, Usage};
use crate::config::policy::Pattern;
use crate::engine::Engine;
use crate::error::DockerError;
use crate::image::ImageReference;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout};

/// The time limit of the survey; an engine with much data adds up all its layers.
const SURVEY: Duration = Duration::from_mins(1);

/// Removes images and volumes of jobs that exceed a budget from an engine.
#[derive(Debug, Clone)]
pub struct Collector {
    engine: Engine,
    ledger: Ledger,
    budget: Budget,
}

/// The result of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collection {
    /// The images and volumes that jobs have used, the least recently used first.
    pub items: Vec<Item>,
    /// The bytes of our items before the collection, shared ones counted once.
    pub held: u64,
}

/// A candidate, and the data for its removal.
struct TrackedItem {
    candidate: Candidate,
    /// Our names, which are removed.
    names: Vec<String>,
    /// All names that a job may use.
    all_names: Vec<String>,
    used: u64,
}

impl Collector {
    /// Returns a collector with this budget.
    pub fn new(engine: Engine, ledger: Ledger, budget: Budget) -> Self {
        Self {
            engine,
            ledger,
            budget,
        }
    }

    /// Returns the budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns what a collection would remove; removes nothing.
    ///
    /// # Errors
    ///
    /// When the engine does not answer, or the ledger cannot be read.
    pub async fn preview(&self) -> Result<Collection, DockerError> {
        let (mut known, others) = self.survey().await?;
        Ok(self.decide(&mut known, &others).0)
    }

    /// Removes what exceeds the budget, unless a pull is in progress. The survey may take `limit`, at least a minute; then
    /// removals start for `limit`.
    ///
    /// # Errors
    ///
    /// When the engine does not answer in time, or breaks. An item in use is not an error; see the result.
    ///
    /// # Cancellation
    ///
    /// Must not be dropped while it waits: a job could take what the engine is still removing.
    pub async fn collect(&self, limit: Duration) -> Result<Collection, DockerError> {
        // Recorded first, so that a slow engine is not asked after each run.
        self.ledger.change(|notes| notes.collected = now()).await?;
        let patience = limit.max(SURVEY);
        let surveyed = timeout(patience, self.survey()).await;
        let (mut known, others) = surveyed.map_err(|_| DockerError::Deadline {
            doing: "read the disk usage".to_owned(),
            after: patience,
        })??;
        let end = Instant::now() + limit;
        let (mut collection, order) = self.decide(&mut known, &others);
        for index in order {
            let item = &mut collection.items[index];
            let Verdict::Remove(because) = item.verdict else {
                continue;
            };
            let stays = self.remove(&known[index], end).await?;
            item.verdict = stays.map_or(Verdict::Removed(because), Verdict::Keep);
        }
        Ok(collection)
    }

    /// Returns the time since the start of the last collection.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub fn idle_for(&self) -> Result<Duration, DockerError> {
        let last = self.ledger.read()?.collected;
        Ok(Duration::from_secs(now().saturating_sub(last)))
    }

    async fn remove(
        &self,
        known: &TrackedItem,
        end: Instant,
    ) -> Result<Option<KeepReason>, DockerError> {
        if Instant::now() >= end {
            return Ok(Some(KeepReason::NoTime));
        }
        if self.ledger.is_pulling()? {
            return Ok(Some(KeepReason::PullsGoOn));
        }
        let candidate = &known.candidate;
        let removal = ItemRemoval {
            engine: &self.engine,
            ledger: &self.ledger,
            kind: candidate.kind,
            id: match candidate.kind {
                ItemKind::Image => &candidate.footprint.id,
                ItemKind::Volume => &candidate.name,
            },
            names: &known.names,
            all_names: &known.all_names,
            used: known.used,
        };
        removal.perform().await
    }

    /// Decides about the tracked items; returns the collection and the removals in order.
    fn decide(&self, known: &mut [TrackedItem], others: &[Footprint]) -> (Collection, Vec<usize>) {
        known.sort_by(|a, b| (a.used, &a.candidate.name).cmp(&(b.used, &b.candidate.name)));
        let things: Vec<Candidate> = known.iter().map(|it| it.candidate.clone()).collect();
        let decision = decide(&things, others, &self.budget, SystemTime::now());
        let items = things.into_iter().zip(decision.verdicts);
        let items = items.map(|(candidate, verdict)| Item {
            kind: candidate.kind,
            bytes: candidate.footprint.alone(),
            name: candidate.name,
            used: candidate.used,
            verdict,
        });
        let collection = Collection {
            items: items.collect(),
            held: decision.held,
        };
        (collection, decision.order)
    }

    /// Returns the existing items that jobs have used, and the other images.
    async fn survey(&self) -> Result<(Vec<TrackedItem>, Vec<Footprint>), DockerError> {
        // Podman has no such events, and the protection of pulls by hand is best effort.
        if let Err(error) = self.ledger.notice_pulls(&self.engine).await {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "Pulls by hand are not known.");
        }
        // In this order, so that an item recorded meanwhile does not count as missing.
        let noted = Arc::new(self.ledger.read()?);
        let usage = Arc::new(Usage::ask(&self.engine).await?);
        self.forget(Arc::clone(&noted), Arc::clone(&usage)).await?;
        let mut known = Vec::new();
        let mut strangers = Vec::new();
        for image in &usage.images {
            match self.known_image(&noted, image)? {
                Some(found) => known.push(found),
                None => strangers.push(image.footprint.clone()),
            }
        }
        for volume in &usage.volumes {
            if let Some(note) = noted.volumes.get(&volume.name) {
                let stays = if volume.has_container {
                    Some(KeepReason::InContainer)
                } else {
                    self.in_use(ItemKind::Volume, &volume.name, &note.job)?
                };
                let footprint = Footprint {
                    size: volume.bytes,
                    ..Footprint::default()
                };
                known.push(TrackedItem {
                    candidate: Candidate {
                        kind: ItemKind::Volume,
                        name: volume.name.clone(),
                        footprint,
                        used: moment(note.used),
                        stays,
                    },
                    names: vec![volume.name.clone()],
                    all_names: vec![volume.name.clone()],
                    used: note.used,
                });
            }
        }
        Ok((known, strangers))
    }

    fn known_image(
        &self,
        noted: &Notes,
        image: &FoundImage,
    ) -> Result<Option<TrackedItem>, DockerError> {
        let names = image.names.iter();
        let uses: Vec<(&String, &ImageNote)> = names
            .filter_map(|name| Some((name, noted.images.get(name)?)))
            .filter(|(_, note)| note.id == image.footprint.id)
            .collect();
        let Some((name, last)) = uses.iter().max_by_key(|(_, note)| note.used) else {
            return Ok(None);
        };
        let ours = uses.iter().filter(|(_, note)| note.pulled.is_some());
        let ours: Vec<&str> = ours.map(|(name, _)| name.as_str()).collect();
        let stays = if let Some(stays) = self.claimed(image, &ours) {
            Some(stays)
        } else if image.has_container {
            Some(KeepReason::InContainer)
        } else {
            // A job may use it by its digest, which is not one of our names.
            let mut names = image.names.iter();
            names
                .find_map(|name| self.in_use(ItemKind::Image, name, &last.job).transpose())
                .transpose()?
        };
        Ok(Some(TrackedItem {
            candidate: Candidate {
                kind: ItemKind::Image,
                name: familiar(name),
                footprint: image.footprint.clone(),
                used: moment(last.used),
                stays,
            },
            names: ours.into_iter().map(str::to_owned).collect(),
            all_names: image.names.clone(),
            used: last.used,
        }))
    }

    /// Returns why the names or the settings protect an image.
    fn claimed(&self, image: &FoundImage, ours: &[&str]) -> Option<KeepReason> {
        if ours.is_empty() {
            return Some(KeepReason::NotOurs);
        }
        if let Some(other) = others(&image.names, ours).first() {
            return Some(KeepReason::OtherName(familiar(other)));
        }
        let is_kept = |name: &&str| {
            let familiar = familiar(name);
            let matches = |pattern: &Pattern| pattern.matches(name) || pattern.matches(&familiar);
            self.budget.keep_images.iter().any(matches)
        };
        ours.iter().any(is_kept).then_some(KeepReason::Kept)
    }

    fn in_use(
        &self,
        kind: ItemKind,
        name: &str,
        job: &str,
    ) -> Result<Option<KeepReason>, DockerError> {
        let is_leased = self.ledger.is_leased(kind, name)?;
        Ok(is_leased.then(|| KeepReason::Leased(job.to_owned())))
    }

    /// Forgets records of missing objects.
    async fn forget(&self, noted: Arc<Notes>, usage: Arc<Usage>) -> Result<(), DockerError> {
        let forget = move |notes: &mut Notes| {
            let has_image = |name: &str, id: &str| {
                let is_it =
                    |it: &FoundImage| it.footprint.id == id && it.names.iter().any(|it| it == name);
                usage.images.iter().any(is_it)
            };
            let has_volume = |name: &str| usage.volumes.iter().any(|it| it.name == name);
            // A later record is newer than the survey.
            let is_new = |name: &str, id: &str| noted.images.get(name).is_none_or(|it| it.id != id);
            notes.forget(
                |name, id| is_new(name, id) || has_image(name, id),
                |name| !noted.volumes.contains_key(name) || has_volume(name),
            );
        };
        self.ledger.change(forget).await
    }
}

fn familiar(name: &str) -> String {
    ImageReference::parse(name).map_or_else(|_| name.to_owned(), |it| it.familiar())
}

fn moment(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}
