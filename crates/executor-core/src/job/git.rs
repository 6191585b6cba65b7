use super::SecretString;
use super::lenient::{known_word, null_is_default};
use serde::{Deserialize, Serialize};

/// The kind of a ref.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefType {
    /// A branch.
    #[default]
    Branch,
    /// A tag.
    Tag,
}

/// The repository and commit of a job's sources (`git_info` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitInfo {
    /// The repository's URL; empty when the job has none. It may contain a token, so `Debug` hides it.
    #[serde(deserialize_with = "null_is_default")]
    pub repo_url: SecretString,
    /// `sha1` or `sha256`; empty means `sha1`.
    #[serde(deserialize_with = "null_is_default")]
    pub repo_object_format: String,
    /// The branch or tag.
    #[serde(rename = "ref")]
    #[serde(deserialize_with = "null_is_default")]
    pub ref_name: String,
    /// The commit to check out.
    #[serde(deserialize_with = "null_is_default")]
    pub sha: String,
    /// The previous commit of the ref.
    #[serde(deserialize_with = "null_is_default")]
    pub before_sha: String,
    /// Whether the ref is a branch or a tag.
    #[serde(deserialize_with = "known_word")]
    pub ref_type: RefType,
    /// The refspecs to fetch.
    #[serde(deserialize_with = "null_is_default")]
    pub refspecs: Vec<String>,
    /// How many commits to fetch; 0 means all.
    #[serde(deserialize_with = "null_is_default")]
    pub depth: u32,
    /// Whether the ref is protected; absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<bool>,
}
