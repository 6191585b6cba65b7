//! The record of a run.

use super::error::RunsError;
use crate::project::local_project::LocalProject;
use crate::project::read_file::open_file;
use executor_core::PipelineId;
use executor_core::job::RefType;
use fail_point::fail_point;
use jiff::Timestamp;
use pipeline::{Plan, Selection};
use process::NewFile;
use scheduler::event::ParentJob;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The version of the record's shape.
const RECORD_VERSION: u32 = 1;

/// The file in a run's directory.
const FILE: &str = "run.json";

/// The name of the file while it is written.
const TEMP: &str = ".run.json.new";

/// What a run was started with: `run.json` in its directory.
///
/// It is written before the first job starts and does not change. It contains no secret, unless the words of the
/// command do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The version of the shape.
    pub v: u32,
    /// The run's number in its project.
    pub id: PipelineId,
    /// The job that started it, for a downstream pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentJob>,
    /// The root of that job's project, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The pipeline file, relative to that if inside.
    pub file: PathBuf,
    /// The command that started it.
    #[serde(default)]
    pub command: RunCommand,
    /// What it ran for: ref, commit and source.
    pub situation: RunSituation,
    /// The selected jobs.
    #[serde(default)]
    pub selection: Selection,
    /// The name of the executor.
    pub executor: String,
    /// When it started.
    pub started_at: Timestamp,
    /// The process that started it.
    pub pid: u32,
    /// The version of this program.
    pub version: String,
}

/// A command line, to run it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCommand {
    /// Its words, without the program. They must contain no secret; the name of a secret, or of a file with it, is
    /// enough to find it again. What is not UTF-8 is recorded as U+FFFD; see [`is_exact`](Self::is_exact).
    pub words: Vec<String>,
    /// The directory that it ran in.
    pub directory: PathBuf,
}

impl RunCommand {
    /// Returns whether words in this form are those that were given. Otherwise they would name other files or jobs.
    pub fn is_exact(words: &[String]) -> bool {
        let is_exact = |word: &String| !word.contains(char::REPLACEMENT_CHARACTER);
        words.iter().all(is_exact)
    }
}

/// What a run is for: ref, commit and source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSituation {
    /// The branch or tag; for a merge request, its source branch.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Whether that is a tag.
    #[serde(default)]
    pub is_tag: bool,
    /// The commit.
    pub sha: String,
    /// What started it (`CI_PIPELINE_SOURCE`).
    pub source: String,
}

impl RunSituation {
    /// Returns what a plan's pipeline is for.
    pub fn of(plan: &Plan) -> Self {
        let context = plan.context();
        Self {
            reference: context.commit.ref_name.clone(),
            is_tag: context.commit.ref_type == RefType::Tag,
            sha: context.commit.sha.clone(),
            source: context.source.clone(),
        }
    }
}

impl RunRecord {
    /// Returns the record of a run that starts now in this process.
    pub(crate) fn new(
        plan: &Plan,
        project: &LocalProject,
        selection: &Selection,
        executor: &str,
        command: &RunCommand,
    ) -> Self {
        Self {
            v: RECORD_VERSION,
            id: plan.id(),
            parent: None,
            above: None,
            project: project.root().to_owned(),
            file: project.file().to_owned(),
            command: command.clone(),
            situation: RunSituation::of(plan),
            selection: selection.clone(),
            executor: executor.to_owned(),
            started_at: Timestamp::now(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Writes the record into the directory of its run, whole or not at all.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), RunsError> {
        let target = directory.join(FILE);
        let written = serde_json::to_vec_pretty(self)
            .map_err(io::Error::from)
            .and_then(|bytes| publish(&bytes, &directory.join(TEMP), &target));
        written.map_err(RunsError::io("write", target))
    }

    /// Returns whether the directory has a record, readable or not.
    pub(super) fn is_in(directory: &Path) -> bool {
        directory.join(FILE).symlink_metadata().is_ok()
    }

    /// Reads the record of a run; `None` without one, since no run started there.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, RunsError> {
        let path = directory.join(FILE);
        let bytes = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(RunsError::io("read", &path))?,
        };
        match Self::parse(&bytes) {
            Ok(Ok(record)) => Ok(Some(record)),
            Ok(Err(version)) => Err(RunsError::Version { path, version }),
            Err(source) => Err(RunsError::Damaged { path, source }),
        }
    }

    /// Parses a record; `Err(version)` inside if it has another version.
    fn parse(text: &[u8]) -> Result<Result<Self, u32>, serde_json::Error> {
        let Versioned { v } = serde_json::from_slice(text)?;
        if v != RECORD_VERSION {
            return Ok(Err(v));
        }
        serde_json::from_slice(text).map(Ok)
    }
}

/// The field that all versions have.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// The longest record that is read; command lines are far shorter.
const LONGEST: u64 = 64 << 20;

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_file(path)?;
    if file.metadata()?.len() > LONGEST {
        return Err(io::Error::other("the record is too long"));
    }
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn publish(bytes: &[u8], temp: &Path, target: &Path) -> io::Result<()> {
    let write = || NewFile::write(temp, bytes, 0o600);
    let new = fail_point!("workstation::record::write", write())?;
    fail_point!("workstation::record::publish", new.replace(target))
}
