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
    /// Whether untracked files are included.
    #[serde(deserialize_with = "null_is_default")]
    pub untracked: bool,
    /// The direction: `pull-push`, `pull` or `push`; the runner expands a variable in it.
    #[serde(deserialize_with = "null_is_default")]
    pub policy: String,
    /// Globs of the files to include.
    #[serde(deserialize_with = "null_is_default")]
    pub paths: Vec<String>,
    /// When to save.
    #[serde(deserialize_with = "known_word")]
    pub when: ArtifactWhen,
    /// Keys to try, in this order, when the key itself has no cache.
    #[serde(deserialize_with = "null_is_default")]
    pub fallback_keys: Vec<String>,
}

/// `cache:key` of a pipeline file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CacheKeyDefinition {
    /// A text; may contain variables.
    Text(String),
    /// Files whose state determines the key.
    Files(CacheKeyFiles),
}

impl Default for CacheKeyDefinition {
    fn default() -> Self {
        Self::Text("default".to_owned())
    }
}

/// Files whose state determines the key of a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheKeyFiles {
    /// Files whose content counts; may contain `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Files whose last commits count; may contain `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_commits: Option<Vec<String>>,
    /// The prefix of the digest; may contain variables.
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
    /// Globs of the files to include.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Whether untracked files are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untracked: Option<bool>,
    /// The direction; may contain a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// When to save it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ArtifactWhen>,
    /// Whether protected and other refs share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprotect: Option<bool>,
    /// Keys to try when the key itself has no cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_keys: Option<Vec<String>>,
}
