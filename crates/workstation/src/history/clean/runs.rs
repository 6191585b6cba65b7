use super::{Cleaning, Fate, Removable, RemovableKind};
use crate::error::LocalError;
use crate::history::{RunLock, RunRecord, Runs};
use executor_core::chain;
use fail_point::fail_point;
use jiff::Timestamp;
use job_runner::StoredArtifacts;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn clean(
    cleaning: &Cleaning<'_>,
    kind: RemovableKind,
) -> Result<Vec<Removable>, LocalError> {
    let projects = match cleaning.project {
        Some(project) => vec![project.runs()],
        None => cleaning.state.all_runs()?,
    };
    let kept = cleaning.state.kept_files();
    let mut found = Vec::new();
    for runs in &projects {
        for (id, directory) in runs.directories()? {
            let artifacts = kept.of_run(&directory);
            if kind == RemovableKind::Artifacts && !left_any(&artifacts) {
                continue;
            }
            if !cleaning.is_old_enough(last_change(&directory)) {
                continue;
            }
            let left = bytes_left(&artifacts);
            found.push(Removable {
                kind,
                name: id.to_string(),
                project: project_of(runs, &directory),
                bytes: match kind {
                    RemovableKind::Run => left + size_of(&directory),
                    _ => left,
                },
                fate: fate(cleaning, kind, &directory, &artifacts),
            });
        }
    }
    if found.iter().any(|it| it.fate == Fate::Removed)
        && let Err(error) = kept.sweep()
    {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "Files that nobody needs stay for now.");
    }
    Ok(found)
}

fn fate(
    cleaning: &Cleaning<'_>,
    kind: RemovableKind,
    directory: &Path,
    artifacts: &StoredArtifacts,
) -> Fate {
    if cleaning.dry_run {
        return if RunLock::lives(directory) {
            Fate::InUse
        } else {
            Fate::Seen
        };
    }
    // Held until all is gone, so that nobody goes on with it meanwhile.
    let Some(_lock) = RunLock::take_dead(directory) else {
        return Fate::InUse;
    };
    let removed = if kind == RemovableKind::Artifacts {
        // The lists stay, and say to a run that goes on that there was something.
        artifacts.erase().map_err(|error| chain(&error))
    } else {
        let removed = fail_point!("runwright::clean::run", process::remove_tree(directory));
        removed.map_err(|error| error.to_string())
    };
    removed.map_or_else(Fate::Stays, |()| Fate::Removed)
}

/// Returns the project of a run: what its record says where nobody else knows.
fn project_of(runs: &Runs, directory: &Path) -> Option<PathBuf> {
    let known = runs.known_project().map(Path::to_owned);
    known.or_else(|| Some(RunRecord::read(directory).ok()??.project))
}

/// Returns when something happened last in a run.
fn last_change(directory: &Path) -> Timestamp {
    let journal = fs::metadata(directory.join("journal.jsonl"));
    let modified = journal
        .or_else(|_| fs::metadata(directory))
        .and_then(|it| it.modified());
    let moment = modified.ok().and_then(|it| Timestamp::try_from(it).ok());
    moment.unwrap_or(Timestamp::MIN)
}

/// Returns whether anything is there of what the jobs of a run left; a list that nobody can read is.
fn left_any(artifacts: &StoredArtifacts) -> bool {
    let jobs = artifacts.jobs().unwrap_or_default();
    let mut left = jobs.into_iter().map(|job| artifacts.of_job(job));
    left.any(|left| left.map_or(true, |left| !left.is_empty()))
}

/// Returns how many bytes the artifacts of a run have, as far as that is known.
fn bytes_left(artifacts: &StoredArtifacts) -> u64 {
    let jobs = artifacts.jobs().unwrap_or_default().into_iter();
    let all = jobs.flat_map(|job| artifacts.of_job(job).unwrap_or_default());
    all.map(|it| it.artifact.bytes).sum()
}

/// Returns how many bytes the files below a directory have, links not followed.
fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
