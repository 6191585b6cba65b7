use std::collections::BTreeMap;

/// Artifacts that a job uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The options `artifact_format`, `artifact_type` and `expire_in`, from the query or from text parts.
    pub query: BTreeMap<String, String>,
    /// The file name.
    pub filename: String,
    /// The headers of the part `file`, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// A part of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The name of the form field.
    pub name: String,
    /// The file name, if the part is a file.
    pub filename: Option<String>,
    /// The headers, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub bytes: Vec<u8>,
}
