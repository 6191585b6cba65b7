use super::error::ArtifactError;
use content_store::{Digest, Tree};
use executor_core::RetainedArtifact;
use executor_core::job::{Artifact, JobId};
use executor_core::parse_duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An artifact in the list of a job's artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredArtifact {
    /// The type.
    #[serde(flatten)]
    pub artifact: RetainedArtifact,
    /// The digest of its tree in the content store.
    pub tree: String,
    /// When it was saved, in UTC.
    pub kept_at: String,
    /// When it expires; absent when it is kept as long as its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The label for people (`artifacts:expose_as`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expose_as: Option<String>,
}

/// The list of a job's artifacts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) version: u32,
    pub(super) job: JobId,
    pub(super) artifacts: Vec<StoredArtifact>,
    /// The types of artifacts that expired or were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<String>,
}

/// The current version of the format.
const VERSION: u32 = 1;

impl StoredArtifact {
    /// The type of an artifact that is not a report.
    pub const ARCHIVE: &str = "archive";

    /// Describes a tree saved for `artifact`, under a name whose variables are expanded.
    pub(super) fn new(artifact: &Artifact, name: &str, tree: &Tree, now: Timestamp) -> Self {
        let kind = &artifact.artifact_type;
        Self {
            artifact: RetainedArtifact {
                artifact_type: kind.clone(),
                name: archive_name(name, kind),
                files: tree.files(),
                bytes: tree.bytes(),
            },
            tree: tree.digest().to_string(),
            kept_at: now.to_string(),
            expires_at: expires_at(&artifact.expire_in, now).map(|at| at.to_string()),
            expose_as: artifact.expose_as.clone(),
        }
    }

    /// Returns the digest of its tree in the content store; `None` for a damaged list.
    pub fn digest(&self) -> Option<Digest> {
        self.tree.parse().ok()
    }

    /// Returns whether it has expired.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        let at = self.expires_at.as_deref().and_then(|at| at.parse().ok());
        at.is_some_and(|at: Timestamp| at <= now)
    }
}

impl Manifest {
    pub(super) fn new(job: JobId) -> Self {
        Self {
            version: VERSION,
            job,
            artifacts: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ArtifactError> {
        let cannot = |reason: String| ArtifactError::Manifest {
            path: path.to_owned(),
            reason,
        };
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|error| cannot(error.to_string()))?;
        if manifest.version != VERSION {
            return Err(cannot(format!("its version is {}", manifest.version)));
        }
        Ok(manifest)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("strings and numbers are JSON");
        json.push(b'\n');
        json
    }

    /// Adds an artifact, in place of one of the same type.
    pub(super) fn put(&mut self, artifact: StoredArtifact) {
        let kind = &artifact.artifact.artifact_type;
        self.artifacts
            .retain(|it| it.artifact.artifact_type != *kind);
        self.gone.retain(|it| it != kind);
        self.artifacts.push(artifact);
    }

    /// Removes artifacts, records their types, and returns whether there were any.
    pub(super) fn remove(&mut self, is_over: impl Fn(&StoredArtifact) -> bool) -> bool {
        let (gone, kept): (Vec<_>, Vec<_>) = self.artifacts.drain(..).partition(is_over);
        self.artifacts = kept;
        let is_any = !gone.is_empty();
        self.gone
            .extend(gone.into_iter().map(|it| it.artifact.artifact_type));
        is_any
    }

    pub(super) fn of_type(&self, artifact_type: &str) -> Option<&StoredArtifact> {
        let mut all = self.artifacts.iter();
        all.find(|it| it.artifact.artifact_type == artifact_type)
    }
}

/// Returns when an artifact saved now expires.
///
/// `never` and an empty text mean the same: it is kept as long as its run.
fn expires_at(expire_in: &str, now: Timestamp) -> Option<Timestamp> {
    let duration = SignedDuration::try_from(parse_duration(expire_in)?).ok()?;
    now.checked_add(duration).ok()
}

/// Returns the name of an archive, which is never a path.
fn archive_name(name: &str, artifact_type: &str) -> String {
    let last = name.trim_end_matches('/').rsplit('/').next();
    let last = last.unwrap_or_default().replace(['\0', '\n', '\r'], "");
    match last.trim() {
        "" | "." | ".." if artifact_type == StoredArtifact::ARCHIVE => "artifacts".to_owned(),
        "" | "." | ".." => artifact_type.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_names_are_not_paths() {
        let check = |name: &str, expect: &str| {
            assert_eq!(archive_name(name, "archive"), expect, "{name:?}");
        };
        check("", "artifacts");
        check("build-main", "build-main");
        check("feature/x", "x");
        check("../..", "artifacts");
        check("/etc/passwd/", "passwd");
        check("a\nb\0", "ab");
        assert_eq!(archive_name("", "junit"), "junit");
    }

    #[test]
    fn expiry_is_read_as_gitlab_does() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let check = |expire_in: &str, expect: Option<&str>| {
            let at = expires_at(expire_in, now).map(|at| at.to_string());
            assert_eq!(at.as_deref(), expect, "{expire_in:?}");
        };
        check("", None);
        check("never", None);
        check("1 hour", Some("2026-01-01T01:00:00Z"));
        check("2 weeks and 1 day", Some("2026-01-16T00:00:00Z"));
        check("90000000000 years", None);
    }

    #[test]
    fn invalid_list_is_refused() {
        let path = Path::new("5.json");
        let written = Manifest::new(JobId(5));
        let read = Manifest::parse(path, &written.to_json()).expect("read");
        assert_eq!(read, written);
        for text in ["", "[]", r#"{"version":2,"job":5,"artifacts":[]}"#] {
            let error = Manifest::parse(path, text.as_bytes()).expect_err("refused");
            assert!(
                error.to_string().starts_with("5.json is not a list"),
                "{error}"
            );
        }
    }
}
