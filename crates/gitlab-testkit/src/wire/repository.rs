//! The repository of recorded jobs, whose commits exist only in the recordings.

use crate::JobServer;
use serde_json::Value;

/// The commit of the recorded jobs.
const RECORDED_COMMIT: &str = "78ce252594a89a83999ac98a6e2dafcd27f07a27";

/// Creates the repository of a job, and replaces the recorded commit by one of that repository.
pub(super) fn with_commit(server: &JobServer, job: Value) -> Value {
    let url = job["git_info"]["repo_url"].as_str().unwrap_or_default();
    let path = url::Url::parse(url).ok().map(|url| url.path().to_owned());
    let path = path.as_deref().and_then(|path| path.strip_suffix(".git"));
    let Some(path) = path.map(|path| path.trim_start_matches('/')) else {
        return job;
    };
    let commit = create(server, path, &job);
    let text = job.to_string().replace(RECORDED_COMMIT, &commit);
    serde_json::from_str(&text).expect("a commit id is replaced by another one")
}

/// Creates the repository with the files that the recorded scripts read, unless it exists.
fn create(server: &JobServer, path: &str, job: &Value) -> String {
    let project = server.project(path);
    let head = project.commit_of("HEAD").unwrap_or_else(|| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let sub = server.project(&format!("{folder}/sub"));
        let linked = sub.commit(&[("README.md", "# sub\n")]);
        project.commit(&[("README.md", "# project\n"), ("src/main.txt", "hello\n")]);
        project.submodule("sub", "../sub.git", &linked)
    });
    if let Some(pipeline) = job["job_info"]["pipeline_id"].as_u64() {
        project.reference(&format!("refs/pipelines/{pipeline}"), &head);
    }
    let branch = job["git_info"]["ref"].as_str();
    if let Some(branch) = branch.filter(|branch| *branch != "main") {
        project.branch_at(branch, &head);
    }
    head
}
