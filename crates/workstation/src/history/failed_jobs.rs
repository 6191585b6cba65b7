use super::run_history::{JobHistory, RunHistory};
use scheduler::Status;

impl RunHistory {
    /// Returns the jobs that failed, also with `allow_failure`, that were canceled or did not end, and those
    /// that did not run because of that. Manual jobs that wait are not among them.
    pub fn failed(&self) -> Vec<&JobHistory> {
        let any_failed = self.planned().any(|job| has_failed(job.status));
        let failed =
            |job: &&JobHistory| has_failed(job.status) || (any_failed && did_not_run(job.status));
        self.planned().filter(failed).collect()
    }
}

fn has_failed(status: Status) -> bool {
    matches!(
        status,
        Status::Failed | Status::Canceled | Status::Canceling | Status::Pending | Status::Running
    )
}

fn did_not_run(status: Status) -> bool {
    matches!(
        status,
        Status::Created | Status::WaitingForResource | Status::Skipped
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(statuses: &[(&str, &str)], expect: &[&str]) {
        let plan = statuses.iter().enumerate();
        let plan = plan
            .map(|(at, (job, _))| json!({"job": job, "stage": "s", "id": at + 1, "definition": 0}));
        let begun = json!({"type": "run_begun", "plan": plan.collect::<Vec<_>>()});
        let came = statuses.iter();
        let came =
            came.map(|(job, status)| json!({"type": "job_status", "job": job, "status": status}));
        let lines = std::iter::once(begun).chain(came);
        let journal: String = lines
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect();
        let history = RunHistory::parse(journal.as_bytes(), 1);
        assert_eq!(history.planned().count(), statuses.len());
        let failed = history.failed();
        let failed: Vec<_> = failed.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(failed, expect, "{statuses:?}");
    }

    #[test]
    fn jobs_skipped_after_a_failure_count_as_failed() {
        check(&[("a", "success"), ("b", "skipped"), ("c", "manual")], &[]);
        check(&[("a", "success"), ("b", "manual"), ("c", "created")], &[]);
        check(
            &[
                ("a", "success"),
                ("b", "failed"),
                ("c", "skipped"),
                ("d", "manual"),
            ],
            &["b", "c"],
        );
        check(&[("a", "running"), ("b", "created")], &["a", "b"]);
        check(&[("a", "canceled"), ("b", "success")], &["a"]);
    }
}
