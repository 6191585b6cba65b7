use super::ArtifactWhen;
use super::lenient::{known_word, null_is_default};
use serde::{Deserialize, Serialize};

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

/// `cache:key` of a pipeline file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CacheKeyDefinition {
    /// A text; may hold variables.
    Text(String),
    /// Files whose state makes the key.
    Files(CacheKeyFiles),
}

impl Default for CacheKeyDefinition {
    fn default() -> Self {
        Self::Text("default".to_owned())
    }
}

/// Files whose state makes the key of a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheKeyFiles {
    /// Files whose content counts; may hold `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Files whose last commits count; may hold `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_commits: Option<Vec<String>>,
    /// What stands before the digest; may hold variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// `cache` of a pipeline file, one entry, in the normalized shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheDefinition {
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<CacheKeyDefinition>,
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
