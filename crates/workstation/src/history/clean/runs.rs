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
            if kind == RemovableKind::Artifacts && !has_artifacts(&artifacts) {
                continue;
            }
            if !cleaning.is_old_enough(last_change(&directory)) {
                continue;
            }
            let size = artifact_bytes(&artifacts);
            found.push(Removable {
                kind,
                name: id.to_string(),
                project: project_of(runs, &directory),
                bytes: match kind {
                    RemovableKind::Run => size + size_of(&directory),
                    _ => size,
                },
                fate: fate(cleaning, kind, &directory, &artifacts),
            });
        }
    }
    cleaning.sweep_after(&found);
    Ok(found)
}

fn fate(
    cleaning: &Cleaning<'_>,
    kind: RemovableKind,
    directory: &Path,
    artifacts: &StoredArtifacts,
) -> Fate {
    if cleaning.dry_run {
        return if RunLock::is_held(directory) {
            Fate::InUse
        } else {
            Fate::Seen
        };
    }
    // Held until all is removed, so that no command continues the run meanwhile.
    let Some(_lock) = RunLock::take_dead(directory) else {
        return Fate::InUse;
    };
    let removed = if kind == RemovableKind::Artifacts {
        // The lists stay, so that a continued run knows that artifacts were removed.
        artifacts.erase().map_err(|error| chain(&error))
    } else {
        let removed = fail_point!("workstation::clean::run", process::remove_tree(directory));
        removed.map_err(|error| error.to_string())
    };
    removed.map_or_else(Fate::Stays, |()| Fate::Removed)
}

/// Returns the project of a run, from its record if necessary.
fn project_of(runs: &Runs, directory: &Path) -> Option<PathBuf> {
    let known = runs.known_project().map(Path::to_owned);
    known.or_else(|| Some(RunRecord::read(directory).ok()??.project))
}

/// Returns when a run last changed.
fn last_change(directory: &Path) -> Timestamp {
    let journal = fs::metadata(directory.join("journal.jsonl"));
    let modified = journal
        .or_else(|_| fs::metadata(directory))
        .and_then(|it| it.modified());
    let moment = modified.ok().and_then(|it| Timestamp::try_from(it).ok());
    moment.unwrap_or(Timestamp::MIN)
}

/// Returns whether a run has artifacts. An unreadable list counts as one.
fn has_artifacts(artifacts: &StoredArtifacts) -> bool {
    let jobs = artifacts.jobs().unwrap_or_default();
    let mut lists = jobs.into_iter().map(|job| artifacts.of_job(job));
    lists.any(|list| list.map_or(true, |list| !list.is_empty()))
}

/// Returns the size of a run's artifacts, as far as known.
fn artifact_bytes(artifacts: &StoredArtifacts) -> u64 {
    let jobs = artifacts.jobs().unwrap_or_default().into_iter();
    let all = jobs.flat_map(|job| artifacts.of_job(job).unwrap_or_default());
    all.map(|it| it.artifact.bytes).sum()
}

/// Returns the size of the files below a directory, without following links.
fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_of(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
