use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The release a job makes when its script succeeded (`release`), in the normalized shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseDefinition {
    /// The tag; made when it is not there.
    pub tag_name: String,
    /// The message of a tag that is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_message: Option<String>,
    /// The title; absent means the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text, or the path of a file that holds it.
    pub description: String,
    /// The commit of a tag that is made; absent means the pipeline's.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub ref_name: Option<String>,
    /// The milestones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestones: Option<OneOrMany>,
    /// When it was or will be released, as ISO 8601 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<String>,
    /// What goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets: Option<ReleaseAssets>,
}

/// What goes with a release (`release:assets`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseAssets {
    /// Links, each as it is written: GitLab looks into them when it makes the release.
    pub links: Vec<Value>,
}

/// One text or a list of them, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Any number.
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
