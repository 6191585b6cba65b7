use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The release a job creates after its script succeeds (`release`), in the normalized shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseDefinition {
    /// The tag; created when it does not exist.
    pub tag_name: String,
    /// The message of a created tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_message: Option<String>,
    /// The title; absent means the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description, or the path of a file that contains it.
    pub description: String,
    /// The commit of a created tag; absent means the pipeline's.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub ref_name: Option<String>,
    /// The milestones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestones: Option<OneOrMany>,
    /// The time of the release, in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<String>,
    /// The assets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets: Option<ReleaseAssets>,
}

/// The assets of a release (`release:assets`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseAssets {
    /// The links, unparsed: GitLab validates them when it creates the release.
    pub links: Vec<Value>,
}

/// One text or a list of texts, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One text.
    One(String),
    /// A list of texts.
    Many(Vec<String>),
}

impl OneOrMany {
    /// Returns the texts.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}
