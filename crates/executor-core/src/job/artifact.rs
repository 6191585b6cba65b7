use super::SecretString;
use super::lenient::{known_word, null_is_default};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When an artifact or a cache is saved (`artifacts:when`, `cache:when`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactWhen {
    /// Only when the script succeeded.
    #[default]
    OnSuccess,
    /// Only when the script failed.
    OnFailure,
    /// In both cases.
    Always,
}

/// How artifact files are packed (`artifact_format`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactFormat {
    /// A zip archive of all files.
    #[default]
    Zip,
    /// Gzip streams, one after the other; for reports.
    Gzip,
    /// One file, as it is.
    Raw,
    /// A tar archive compressed with zstd.
    #[serde(rename = "tarzstd")]
    TarZstd,
    /// A zip archive whose members are compressed with zstd.
    #[serde(rename = "zipzstd")]
    ZipZstd,
}

/// The kind of an upload that is not a report.
const ARCHIVE: &str = "archive";

/// One upload of a job, as the payload lists it (`artifacts[]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Artifact {
    /// The archive's name; empty means `artifacts`.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Whether untracked files are included.
    #[serde(deserialize_with = "null_is_default")]
    pub untracked: bool,
    /// Globs of the files to include, relative to the project directory.
    #[serde(deserialize_with = "null_is_default")]
    pub paths: Vec<String>,
    /// Globs of files to exclude.
    #[serde(deserialize_with = "null_is_default")]
    pub exclude: Vec<String>,
    /// When to upload.
    #[serde(deserialize_with = "known_word")]
    pub when: ArtifactWhen,
    /// `archive`, or the kind of a report (`junit`, `dotenv`, ...).
    #[serde(deserialize_with = "null_is_archive")]
    pub artifact_type: String,
    /// How to pack it.
    #[serde(deserialize_with = "known_word")]
    pub artifact_format: ArtifactFormat,
    /// The retention time, as a GitLab duration; empty means the default.
    #[serde(deserialize_with = "null_is_default")]
    pub expire_in: String,
    /// The label for display; GitLab's own payload has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expose_as: Option<String>,
}

impl Default for Artifact {
    fn default() -> Self {
        Self {
            name: String::new(),
            untracked: false,
            paths: Vec::new(),
            exclude: Vec::new(),
            when: ArtifactWhen::default(),
            artifact_type: ARCHIVE.to_owned(),
            artifact_format: ArtifactFormat::default(),
            expire_in: String::new(),
            expose_as: None,
        }
    }
}

fn null_is_archive<'de, D>(deserializer: D) -> Result<String, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let kind = Option::<String>::deserialize(deserializer)?;
    Ok(kind.unwrap_or_else(|| ARCHIVE.to_owned()))
}

/// `artifacts:reports`: the kind of a report and its files or settings.
pub type Reports = IndexMap<String, Value>;

/// `artifacts` of a pipeline file, in the normalized shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArtifactsDefinition {
    /// Globs of the files to include.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Globs of files to exclude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Whether untracked files are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untracked: Option<bool>,
    /// The retention time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_in: Option<String>,
    /// The label in a merge request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expose_as: Option<String>,
    /// When to save them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ArtifactWhen>,
    /// The archive's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether downloads are public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<bool>,
    /// The role that may download them: `all`, `developer`, `maintainer` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Typed reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports: Option<Reports>,
}

/// An earlier job whose artifacts this job downloads (`dependencies[]` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// The earlier job.
    #[serde(deserialize_with = "null_is_default")]
    pub id: super::JobId,
    /// The token for its artifacts.
    #[serde(deserialize_with = "null_is_default")]
    pub token: SecretString,
    /// The earlier job's name.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The archive to download; absent when the job has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts_file: Option<DependencyArtifactsFile>,
}

/// The archive of a [`Dependency`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DependencyArtifactsFile {
    /// The archive's file name.
    #[serde(deserialize_with = "null_is_default")]
    pub filename: String,
    /// Its size in bytes.
    #[serde(deserialize_with = "null_is_default")]
    pub size: u64,
}
