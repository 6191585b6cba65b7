//! From what a repository says of itself to what a pipeline knows of its surroundings.

use executor_core::job::{PipelineId, RefType};
use job_runner::{Head, RepositoryFacts};
use pipeline::context::{Commit, PipelineContext, Project, User};
use std::path::Path;

/// The object name that stands for no commit.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Returns what the jobs of a pipeline can know, as far as the repository tells it.
pub(super) fn context(id: u64, file: &Path, facts: &RepositoryFacts) -> PipelineContext {
    let project = project(facts);
    let commit = commit(facts);
    PipelineContext {
        id: PipelineId(id),
        iid: id,
        created_at: jiff::Timestamp::now(),
        config_path: file.display().to_string(),
        server_url: server_url(facts).unwrap_or_else(|| "https://gitlab.com".to_owned()),
        user: user(facts),
        // Ids of jobs are unique over all pipelines of a project, as in GitLab.
        first_job_id: id.saturating_mul(100_000),
        project,
        commit,
        ..PipelineContext::default()
    }
}

fn project(facts: &RepositoryFacts) -> Project {
    let from_remote = facts.remote_url.as_deref().and_then(path_of_url);
    let folder = facts
        .toplevel
        .file_name()
        .map(|name| name.to_string_lossy().replace(char::is_control, "-"));
    let path = from_remote
        .unwrap_or_else(|| format!("local/{}", folder.unwrap_or_else(|| "project".to_owned())));
    Project {
        id: 1,
        namespace_id: 1,
        path,
        default_branch: facts
            .default_branch
            .clone()
            .unwrap_or_else(|| "main".to_owned()),
        ..Project::default()
    }
}

fn commit(facts: &RepositoryFacts) -> Commit {
    let (ref_name, ref_type) = match &facts.head {
        Head::Branch(branch) => (branch.clone(), RefType::Branch),
        Head::Tag(tag) => (tag.clone(), RefType::Tag),
        Head::Detached => (
            facts
                .default_branch
                .clone()
                .unwrap_or_else(|| "HEAD".to_owned()),
            RefType::Branch,
        ),
    };
    let Some(commit) = &facts.commit else {
        return Commit {
            sha: NO_COMMIT.to_owned(),
            before_sha: NO_COMMIT.to_owned(),
            ref_name,
            ref_type,
            ..Commit::default()
        };
    };
    Commit {
        sha: commit.sha.clone(),
        before_sha: commit
            .parent
            .clone()
            .unwrap_or_else(|| NO_COMMIT.to_owned()),
        ref_name,
        ref_type,
        message: commit.message.clone(),
        author: format!("{} <{}>", commit.author_name, commit.author_email),
        timestamp: commit.committer_date.clone(),
        ..Commit::default()
    }
}

/// The one who runs the pipeline is taken for the author of the newest commit.
fn user(facts: &RepositoryFacts) -> User {
    let Some(commit) = &facts.commit else {
        return User::default();
    };
    let login = commit.author_email.split('@').next().unwrap_or_default();
    User {
        id: 1,
        login: login.to_owned(),
        name: commit.author_name.clone(),
        email: commit.author_email.clone(),
    }
}

/// Returns `group/project` of a repository's address.
fn path_of_url(url: &str) -> Option<String> {
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // The short form of ssh: `git@host:group/project.git`.
        None => {
            url.split_once(':')
                .filter(|(host, _)| !host.contains('/'))?
                .1
        }
    };
    let path = rest.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    (plain && !path.is_empty()).then(|| path.to_owned())
}

/// Returns the address of the GitLab that a repository's address points to; the port of ssh says
/// nothing about its web server.
fn server_url(facts: &RepositoryFacts) -> Option<String> {
    server_of_url(facts.remote_url.as_deref()?)
}

fn server_of_url(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        let (host, _) = url
            .split_once(':')
            .filter(|(host, _)| !host.contains('/'))?;
        return Some(format!("https://{}", host.rsplit('@').next()?));
    };
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    match scheme {
        "http" | "https" => Some(format!("{scheme}://{host}")),
        "ssh" => Some(format!("https://{}", host.split(':').next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_project_is_read_from_its_address() {
        let check = |url: &str, expect: Option<&str>| {
            assert_eq!(path_of_url(url).as_deref(), expect, "of {url}");
        };
        check(
            "https://gitlab.com/group/sub/app.git",
            Some("group/sub/app"),
        );
        check("ssh://git@host:2222/group/app", Some("group/app"));
        check("git@host:group/app.git", Some("group/app"));
        check("https://host/", None);
        check("https://host/../../etc", None);
        check("file:///srv/app.git", None);
        check("../app", None);
    }

    #[test]
    fn the_server_is_read_from_the_address_too() {
        let check = |url: &str, expect: Option<&str>| {
            assert_eq!(server_of_url(url).as_deref(), expect, "of {url}");
        };
        check(
            "git@gitlab.example.com:grp/proj.git",
            Some("https://gitlab.example.com"),
        );
        check("ssh://git@host:2222/group/app", Some("https://host"));
        check("http://host:8080/group/app", Some("http://host:8080"));
        check("file:///srv/app.git", None);
    }
}
