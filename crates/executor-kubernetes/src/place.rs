//! Where the pod of a job is, for another process that resumes it.

use crate::config::NAME;
use executor_core::BuildError;
use executor_core::ability::ResumeHandle;
use executor_core::job::JobId;
use steps::RecordedRuns;

/// The pod of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodPlace {
    pub(crate) pod: String,
    /// The API server and the namespace.
    pub(crate) cluster: String,
    /// The process that created it.
    pub(crate) owner: String,
    pub(crate) job: JobId,
}

impl PodPlace {
    /// Returns the handle from which [`read`] returns this.
    pub(crate) fn handle(&self) -> ResumeHandle {
        ResumeHandle::new(
            NAME,
            [
                ("pod", self.pod.clone()),
                ("cluster", self.cluster.clone()),
                ("owner", self.owner.clone()),
                ("job", self.job.0.to_string()),
            ],
        )
    }
}

/// Reads the record of another process.
///
/// # Errors
///
/// When it is that of another executor, or a field is missing or cannot be read.
pub(crate) fn read(handle: &ResumeHandle) -> Result<(PodPlace, RecordedRuns), BuildError> {
    handle.expect_executor(NAME)?;
    let place = PodPlace {
        pod: handle.field("pod")?,
        cluster: handle.field("cluster")?,
        owner: handle.field("owner")?,
        job: JobId(handle.field("job")?),
    };
    Ok((place, RecordedRuns::of(handle)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::ability::Resumable;
    use steps::RunRecord;

    #[test]
    fn a_record_is_read_back_or_refused() {
        let place = PodPlace {
            pod: "p".to_owned(),
            cluster: "https://c:6443 n".to_owned(),
            owner: "o".to_owned(),
            job: JobId(7),
        };
        let record = RunRecord::new(place.handle(), RecordedRuns::default(), None);
        let handle = record.resume_handle().unwrap();
        assert_eq!(read(&handle).unwrap(), (place, RecordedRuns::default()));
        for (key, value) in [("pod", ""), ("job", "x"), ("runs", "[")] {
            let mut wrong = handle.clone();
            wrong.fields.insert(key.to_owned(), value.to_owned());
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("{key:?}")), "{error}");
        }
    }
}
