//! Where a job in a container is, for another process that resumes it.

use crate::config::NAME;
use executor_core::BuildError;
use executor_core::ability::ResumeHandle;
use executor_core::job::JobId;
use steps::RecordedRuns;

/// The container of a job, and the facts from which the names of its other objects derive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerRef {
    /// The id of its container.
    pub(crate) container: String,
    /// The run that created it.
    pub(crate) owner: String,
    pub(crate) job: JobId,
    pub(crate) attempt: u32,
    /// The name of the container's network.
    pub(crate) network: String,
    /// Whether its files are mounted from the runner's host.
    pub(crate) mounted: bool,
    /// The name of its private directory there, unless it derives from the job.
    pub(crate) private: Option<String>,
}

impl ContainerRef {
    /// Returns the handle from which [`read`] returns this.
    pub(crate) fn handle(&self) -> ResumeHandle {
        ResumeHandle::new(
            NAME,
            [
                ("container", self.container.clone()),
                ("owner", self.owner.clone()),
                ("job", self.job.0.to_string()),
                ("attempt", self.attempt.to_string()),
                ("network", self.network.clone()),
                ("mounted", self.mounted.to_string()),
                ("private", self.private.clone().unwrap_or_default()),
            ],
        )
    }
}

/// Reads the record of another process.
pub(crate) fn read(handle: &ResumeHandle) -> Result<(ContainerRef, RecordedRuns), BuildError> {
    handle.expect_executor(NAME)?;
    let container_ref = ContainerRef {
        container: handle.field("container")?,
        owner: handle.field("owner")?,
        job: JobId(handle.field("job")?),
        attempt: handle.field("attempt")?,
        network: handle.field("network")?,
        mounted: handle.field("mounted")?,
        private: private(handle)?,
    };
    Ok((container_ref, RecordedRuns::of(handle)?))
}

/// Returns a name that does not leave its directory: the record may be wrong.
fn private(handle: &ResumeHandle) -> Result<Option<String>, BuildError> {
    let name = handle.fields.get("private").filter(|it| !it.is_empty());
    if name.is_some_and(|it| it.starts_with('.') || it.contains(['/', '\0'])) {
        return Err(ResumeHandle::unreadable("private"));
    }
    Ok(name.cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::ability::Resumable;
    use steps::RunRecord;

    fn container_ref() -> ContainerRef {
        ContainerRef {
            container: "c0ffee".to_owned(),
            owner: "3f9c".to_owned(),
            job: JobId(7),
            attempt: 2,
            network: "bridge".to_owned(),
            mounted: true,
            private: Some("runwright-3f9c-warm-0".to_owned()),
        }
    }

    fn handle() -> ResumeHandle {
        let record = RunRecord::new(container_ref().handle(), RecordedRuns::default(), None);
        record.resume_handle().unwrap()
    }

    #[test]
    fn a_record_is_read_back() {
        let found = read(&handle()).unwrap();
        assert_eq!(found, (container_ref(), RecordedRuns::default()));
    }

    #[test]
    fn a_wrong_record_is_refused() {
        let check = |change: fn(&mut ResumeHandle), expect: &str| {
            let mut handle = handle();
            change(&mut handle);
            let error = read(&handle).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(|it| "ssh".clone_into(&mut it.executor), "\"ssh\"");
        check(|it| it.fields.clear(), "\"container\"");
        check(
            |it| drop(it.fields.insert("attempt".to_owned(), "-1".to_owned())),
            "\"attempt\"",
        );
        check(
            |it| drop(it.fields.insert("private".to_owned(), "../x".to_owned())),
            "\"private\"",
        );
        check(
            |it| drop(it.fields.insert("runs".to_owned(), "[".to_owned())),
            "\"runs\"",
        );
    }
}
