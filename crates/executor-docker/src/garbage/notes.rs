//! The content of the ledger, and the rules that change it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// How many seconds after our own record of a pull the engine's event may be: clocks differ.
const SLACK: u64 = 2;

/// The record of an engine. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notes {
    /// The version of the layout.
    pub(crate) version: u32,
    /// The address of the engine, for readers of the file.
    pub(crate) engine: String,
    /// The start of the last collection.
    pub(crate) collected: u64,
    /// Images that jobs have used, by full name.
    pub(crate) images: BTreeMap<String, ImageNote>,
    /// Volumes that jobs have used and that outlive them, by name.
    pub(crate) volumes: BTreeMap<String, VolumeNote>,
}

/// The record of a name of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageNote {
    /// The image.
    pub(crate) id: String,
    /// Its name by its digest.
    pub(crate) digest: Option<String>,
    /// When we pulled it; none when it is the user's.
    pub(crate) pulled: Option<u64>,
    pub(crate) used: u64,
    /// The job that used it last.
    pub(crate) job: String,
}

/// The record of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VolumeNote {
    pub(crate) used: u64,
    /// The job that used it last.
    pub(crate) job: String,
}

/// The images of the engine before a pull.
#[derive(Debug, Clone, Default)]
pub(crate) struct ImagesBeforePull {
    /// The image that had the name.
    pub(crate) named: Option<String>,
    /// All images.
    pub(crate) ids: HashSet<String>,
}

/// A pull that the engine reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedPull {
    /// The name in full.
    pub(crate) name: String,
    pub(crate) at: u64,
}

impl Notes {
    /// The version of the layout that this program writes.
    pub(crate) const VERSION: u32 = 1;

    /// Records the use of an image that the engine had.
    pub(crate) fn use_image(&mut self, name: &str, used: ImageNote) {
        match self.images.get_mut(name) {
            Some(note) if note.id == used.id => {
                (note.used, note.job) = (used.used, used.job);
            }
            // The user gave the name to another image.
            _ => {
                let theirs = ImageNote {
                    pulled: None,
                    ..used
                };
                self.images.insert(name.to_owned(), theirs);
            }
        }
    }

    /// Records a pull. The image is ours if neither the name nor the image existed before, or both were ours.
    pub(crate) fn pull_image(&mut self, name: &str, before: &ImagesBeforePull, pulled: ImageNote) {
        let old = self.images.get(name).cloned();
        let was_named = before.named.as_ref();
        let had_name = match (&old, was_named) {
            (_, None) => true,
            (Some(old), Some(id)) => old.pulled.is_some() && old.id == *id,
            (None, Some(_)) => false,
        };
        let is_known = |note: &ImageNote| note.id == pulled.id && note.pulled.is_some();
        let had_image = !before.ids.contains(&pulled.id) || self.images.values().any(is_known);
        if !(had_name && had_image) {
            // A concurrent job may have recorded its pull.
            self.use_image(name, pulled);
            return;
        }
        if let Some(old) = old.filter(|old| old.pulled.is_some() && old.id != pulled.id)
            && let Some(digest) = &old.digest
            && was_named.is_some()
        {
            // The previous image of the name still exists, and has only its digest.
            self.images.insert(digest.clone(), old);
        }
        self.images.insert(name.to_owned(), pulled);
    }

    /// Records the use of a volume.
    pub(crate) fn use_volume(&mut self, name: &str, note: VolumeNote) {
        self.volumes.insert(name.to_owned(), note);
    }

    /// Records pulls by the user, who then owns the images.
    pub(crate) fn see_pulls(&mut self, seen: &[ObservedPull]) {
        for pull in seen {
            for (name, note) in &mut self.images {
                // A pull by digest yields the image of our tag.
                let is_it = *name == pull.name || note.digest.as_ref() == Some(&pull.name);
                if is_it && note.pulled.is_some_and(|ours| pull.at > ours + SLACK) {
                    note.pulled = None;
                }
            }
        }
    }

    /// Forgets names that belong to other images now, and missing volumes.
    pub(crate) fn forget(
        &mut self,
        mut has_image: impl FnMut(&str, &str) -> bool,
        mut has_volume: impl FnMut(&str) -> bool,
    ) {
        self.images.retain(|name, note| has_image(name, &note.id));
        self.volumes.retain(|name, _| has_volume(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "docker.io/library/app:1";

    fn note(id: &str, at: u64) -> ImageNote {
        ImageNote {
            id: id.to_owned(),
            digest: Some(format!("docker.io/library/app@{id}")),
            pulled: Some(at),
            used: at,
            job: "build".to_owned(),
        }
    }

    fn before(named: Option<&str>, ids: &[&str]) -> ImagesBeforePull {
        ImagesBeforePull {
            named: named.map(str::to_owned),
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
        }
    }

    fn is_ours(notes: &Notes, name: &str) -> bool {
        notes.images[name].pulled.is_some()
    }

    #[test]
    fn an_image_is_ours_if_it_did_not_exist_before() {
        let check = |before: ImagesBeforePull, expect: bool| {
            let mut notes = Notes::default();
            notes.pull_image(NAME, &before, note("new", 5));
            assert_eq!(is_ours(&notes, NAME), expect, "{before:?}");
        };
        check(before(None, &["other"]), true);
        // The user had that name, for this image or an older one.
        check(before(Some("new"), &["new"]), false);
        check(before(Some("old"), &["old"]), false);
        // The user had that image by another name.
        check(before(None, &["new"]), false);
    }

    #[test]
    fn our_image_stays_ours_when_pulled_again() {
        let mut notes = Notes::default();
        notes.pull_image(NAME, &before(None, &[]), note("one", 5));
        notes.pull_image(NAME, &before(Some("one"), &["one"]), note("one", 6));
        assert!(is_ours(&notes, NAME));
        // The tag names another image now; the old one still exists.
        notes.pull_image(NAME, &before(Some("one"), &["one"]), note("two", 7));
        assert!(is_ours(&notes, NAME));
        assert_eq!(notes.images[NAME].id, "two");
        assert_eq!(notes.images["docker.io/library/app@one"].id, "one");
        // Another name of it is ours as well.
        let other = "docker.io/library/app:latest";
        notes.pull_image(other, &before(None, &["one", "two"]), note("two", 8));
        assert!(is_ours(&notes, other));
    }

    #[test]
    fn a_retagged_name_is_the_users() {
        let mut notes = Notes::default();
        notes.pull_image(NAME, &before(None, &[]), note("one", 5));
        notes.use_image(NAME, note("one", 6));
        assert!(is_ours(&notes, NAME));
        assert_eq!(notes.images[NAME].used, 6);
        notes.use_image(NAME, note("built", 7));
        assert!(!is_ours(&notes, NAME));
        notes.pull_image(NAME, &before(Some("built"), &["built"]), note("two", 8));
        assert!(!is_ours(&notes, NAME));
    }

    #[test]
    fn a_concurrent_job_does_not_undo_a_pull() {
        let mut notes = Notes::default();
        // The second job found the image before the first one recorded it.
        notes.use_image(NAME, note("one", 5));
        notes.pull_image(NAME, &before(None, &[]), note("one", 5));
        notes.pull_image(NAME, &before(Some("one"), &["one"]), note("one", 6));
        assert!(is_ours(&notes, NAME));
    }

    #[test]
    fn an_image_pulled_by_hand_is_the_users() {
        let mut notes = Notes::default();
        notes.pull_image(NAME, &before(None, &[]), note("one", 5));
        let pull = |name: &str, at| ObservedPull {
            name: name.to_owned(),
            at,
        };
        notes.see_pulls(&[pull(NAME, 4), pull(NAME, 7), pull("other", 100)]);
        assert!(is_ours(&notes, NAME));
        notes.see_pulls(&[pull(NAME, 8)]);
        assert!(!is_ours(&notes, NAME));
        notes.pull_image("other", &before(None, &[]), note("two", 5));
        notes.see_pulls(&[pull("docker.io/library/app@one", 8)]);
        assert!(is_ours(&notes, "other"), "that is another image");
        notes.see_pulls(&[pull("docker.io/library/app@two", 8)]);
        assert!(
            !is_ours(&notes, "other"),
            "the user pulled it by its digest"
        );
    }
}
