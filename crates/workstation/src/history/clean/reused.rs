use super::{Cleaning, Fate, Removable, RemovableKind};
use crate::error::LocalError;
use crate::reuse::{KeptJob, ReuseStore};
use jiff::Timestamp;

pub(super) fn clean(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let stores = match cleaning.project {
        Some(project) => vec![project.reuse()],
        None => cleaning.state.all_reuse()?,
    };
    let mut found = Vec::new();
    for store in stores {
        let mut jobs = store.jobs().map_err(|error| store.unreadable(error))?;
        jobs.sort_by(|one, other| (&one.name, &one.path).cmp(&(&other.name, &other.path)));
        for job in jobs {
            let used = Timestamp::try_from(job.used).unwrap_or(Timestamp::MIN);
            if cleaning.is_old_enough(used) {
                found.push(Removable {
                    kind: RemovableKind::Reuse,
                    fate: fate(cleaning, &job),
                    name: job.name,
                    project: cleaning.project.map(|it| it.root().to_owned()),
                    bytes: job.bytes,
                });
            }
        }
    }
    if found.iter().any(|it| it.fate == Fate::Removed)
        && let Err(error) = cleaning.state.kept_files().sweep()
    {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "Files that nobody needs stay for now.");
    }
    Ok(found)
}

/// A run that took a job does not need it any more, so none is in use.
fn fate(cleaning: &Cleaning<'_>, job: &KeptJob) -> Fate {
    if cleaning.dry_run {
        return Fate::Seen;
    }
    match ReuseStore::remove(job) {
        Ok(()) => Fate::Removed,
        Err(error) => Fate::Stays(error.to_string()),
    }
}
