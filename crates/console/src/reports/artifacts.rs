//! The artifacts of jobs, in a table.

use crate::text::{Row, Style, Tone, grid, shown_name, size, until};
use jiff::Timestamp;
use serde::Serialize;
use workstation::StoredArtifact;

/// A stored artifact with its job, as `runwright artifacts --json` prints it.
#[derive(Debug, Serialize)]
pub struct JobArtifact {
    /// The name of the job.
    pub job: String,
    /// The artifact.
    #[serde(flatten)]
    pub stored: StoredArtifact,
}

/// Returns the table of artifacts.
pub fn table(left: &[JobArtifact], now: Timestamp, style: Style) -> String {
    let rows = left.iter().map(|it| Row {
        cells: cells(it, now),
        tone: Tone::Plain,
    });
    let heads = ["job", "type", "name", "files", "size", "expires"];
    grid(heads, &rows.collect::<Vec<_>>(), style)
}

fn cells(left: &JobArtifact, now: Timestamp) -> [String; 6] {
    let artifact = &left.stored.artifact;
    let expires = left.stored.expires_at.as_deref();
    let expires = expires.and_then(|at| at.parse().ok());
    [
        shown_name(&left.job),
        shown_name(&artifact.artifact_type),
        shown_name(&artifact.name),
        artifact.files.to_string(),
        size(artifact.bytes),
        expires.map_or_else(|| "with the run".to_owned(), |at| until(now, at)),
    ]
}
