//! Where a job is, for another process that resumes it.

use crate::config::NAME;
use executor_core::BuildError;
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
        let fields = [("host", self.host.clone()), ("id", self.id.clone())];
        ResumeHandle::new(NAME, fields)
    }
}

/// Reads the record of another process.
///
/// # Errors
///
/// When it is that of another executor, or a field is missing or cannot be read.
pub(crate) fn read(handle: &ResumeHandle) -> Result<(JobPlace, RecordedRuns), BuildError> {
    handle.expect_executor(NAME)?;
    let (host, id): (_, String) = (handle.field("host")?, handle.field("id")?);
    // It is part of scripts.
    if !id.chars().all(|it| it.is_ascii_hexdigit()) {
        return Err(ResumeHandle::unreadable("id"));
    }
    Ok((JobPlace { host, id }, RecordedRuns::of(handle)?))
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
