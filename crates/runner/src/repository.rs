//! The address from which a job fetches its sources.

use executor_core::job::{Job, SecretString};
use web::{Origin, Url};

/// The user to whom a job's token belongs.
const USER: &str = "gitlab-ci-token";

/// Replaces the server in the address of a job's repository by `clone_url`, and adds the job's token if the address has no user.
///
/// An address of another server than these two stays as it is: the token is not for it.
pub(crate) fn prepare(job: &mut Job, server: &Url, clone_url: Option<&Url>) {
    let Ok(mut url) = Url::parse(job.git_info.repo_url.expose()) else {
        return;
    };
    if let Some(base) = clone_url
        && !job.job_info.project_full_path.is_empty()
    {
        let mut own = base.clone();
        let path = base.path().trim_end_matches('/');
        own.set_path(&format!("{path}/{}.git", job.job_info.project_full_path));
        url = own;
    }
    let known = [Some(server), clone_url].into_iter().flatten();
    let mut known = known.filter_map(Origin::of);
    let is_known = Origin::of(&url).is_some_and(|it| known.any(|known| known == it));
    if is_known && url.username().is_empty() {
        // Both fail only for addresses that cannot have a user.
        let _ = url.set_username(USER);
        let _ = url.set_password(Some(job.token.expose()));
    }
    job.git_info.repo_url = SecretString::new(url);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_goes_to_the_jobs_own_server_alone() {
        let url = |text: &str| Url::parse(text).expect("an address");
        let prepared = |repository: &str, clone_url: Option<&str>| {
            let mut job = Job {
                token: "t".into(),
                ..Job::default()
            };
            job.git_info.repo_url = repository.into();
            job.job_info.project_full_path = "g/p".to_owned();
            let clone_url = clone_url.map(url);
            prepare(&mut job, &url("https://gitlab.example"), clone_url.as_ref());
            job.git_info.repo_url.expose().to_owned()
        };
        for (repository, clone_url, expect) in [
            (
                "https://gitlab.example/g/p.git",
                None,
                "https://gitlab-ci-token:t@gitlab.example/g/p.git",
            ),
            (
                "https://u:x@gitlab.example/g/p.git",
                None,
                "https://u:x@gitlab.example/g/p.git",
            ),
            (
                "https://other.example/g/p.git",
                None,
                "https://other.example/g/p.git",
            ),
            (
                "https://u:x@gitlab.example/g/p.git",
                Some("http://10.0.0.1:8080/gl"),
                "http://gitlab-ci-token:t@10.0.0.1:8080/gl/g/p.git",
            ),
            ("", None, ""),
        ] {
            assert_eq!(prepared(repository, clone_url), expect);
        }
    }
}
