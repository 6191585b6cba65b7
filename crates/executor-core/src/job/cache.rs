use super::ArtifactWhen;
use super::lenient::{known_word, null_is_default};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One cache of a job, as the payload lists it (`cache[]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
    /// The key; empty means job name and ref.
    #[serde(deserialize_with = "null_is_default")]
    pub key: String,
    /// Whether files unknown to Git are taken too.
    #[serde(deserialize_with = "null_is_default")]
    pub untracked: bool,
    /// Which way it is moved: `pull-push`, `pull` or `push`; a variable in it is expanded by the
    /// runner.
    #[serde(deserialize_with = "null_is_default")]
    pub policy: String,
    /// Globs of the files to keep.
    #[serde(deserialize_with = "null_is_default")]
    pub paths: Vec<String>,
    /// When to save.
    #[serde(deserialize_with = "known_word")]
    pub when: ArtifactWhen,
    /// Keys to look for when the key itself is absent, in this order.
    #[serde(deserialize_with = "null_is_default")]
    pub fallback_keys: Vec<String>,
}

/// `cache` of a pipeline file, one entry, in the normalized shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheDefinition {
    /// The key: a string, or `{files, prefix}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    /// Globs of the files to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Whether files unknown to Git are taken too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untracked: Option<bool>,
    /// Which way to move it; may hold a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// When to save it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ArtifactWhen>,
    /// Whether protected and other refs share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprotect: Option<bool>,
    /// Keys to look for when the key itself is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_keys: Option<Vec<String>>,
}
