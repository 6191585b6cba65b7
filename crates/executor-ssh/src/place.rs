//! Where a job is, for another process that resumes it.

use crate::config::NAME;
use crate::error::SshError;
use executor_core::ability::ResumeHandle;
use steps::RecordedRuns;

/// The directory of a job on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobPlace {
    /// The [route](crate::target::Target::route) to it.
    pub(crate) host: String,
    /// The id of the job there.
    pub(crate) id: String,
}

impl JobPlace {
    /// Returns the handle from which [`read`] returns this.
    pub(crate) fn handle(&self) -> ResumeHandle {
        let fields = [("host", &self.host), ("id", &self.id)];
        ResumeHandle {
            executor: NAME.to_owned(),
            fields: fields
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .into(),
        }
    }
}

/// Reads the record of another process.
///
/// # Errors
///
/// When it is that of another executor, or a field is missing or cannot be read.
pub(crate) fn read(handle: &ResumeHandle) -> Result<(JobPlace, RecordedRuns), SshError> {
    if handle.executor != NAME {
        return Err(SshError::config(format!(
            "cannot resume a job of the executor {:?}: expected {NAME:?}",
            handle.executor
        )));
    }
    let field = |key: &str| handle.fields.get(key).cloned().unwrap_or_default();
    let unreadable = |key: &str| {
        SshError::config(format!(
            "invalid record of the job to resume: its field {key:?} is missing or cannot be read"
        ))
    };
    let (host, id) = (field("host"), field("id"));
    if host.is_empty() {
        return Err(unreadable("host"));
    }
    // It is part of scripts.
    if id.is_empty() || !id.chars().all(|it| it.is_ascii_hexdigit()) {
        return Err(unreadable("id"));
    }
    let runs = RecordedRuns::of(handle).ok_or_else(|| unreadable("runs"))?;
    Ok((JobPlace { host, id }, runs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::ability::Resumable;
    use steps::RunRecord;

    #[test]
    fn record_is_read_back_or_refused() {
        let place = JobPlace {
            host: "u@h:22".to_owned(),
            id: "0f".to_owned(),
        };
        let record = RunRecord::new(place.handle(), RecordedRuns::default(), None);
        let handle = record.resume_handle().unwrap();
        assert_eq!(read(&handle).unwrap(), (place, RecordedRuns::default()));
        for (key, value) in [("host", ""), ("id", "$(id)"), ("runs", "[")] {
            let mut wrong = handle.clone();
            wrong.fields.insert(key.to_owned(), value.to_owned());
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("{key:?}")), "{error}");
        }
    }
}
