use super::{Taken, VariablesError, Wanted, ask, given};
use crate::project::situation::path_of_url;
use crate::remote::Outside;
use gitlab_api::{Accounts, Client, Instance};
use includes::FetchPolicy;
use pipeline::context::{GivenVariable, PipelineContext};
use std::sync::Arc;

/// The variables that a GitLab keeps, for whoever asks first.
#[derive(Debug)]
pub(crate) struct GitLabVariables {
    outside: Arc<Outside>,
}

impl GitLabVariables {
    /// Returns those of the GitLab that `outside` leads to.
    ///
    /// # Errors
    ///
    /// When no server is to be asked.
    pub(crate) fn new(outside: Arc<Outside>) -> Result<Self, VariablesError> {
        if outside.options().fetching == FetchPolicy::Offline {
            return Err(VariablesError::Offline);
        }
        Ok(Self { outside })
    }

    /// Asks for those of the project that was cloned from `remote`, and whether what its pipeline is
    /// for is protected; `own` are the variables that the user gives himself.
    pub(crate) fn take(
        &self,
        remote: Option<&str>,
        context: &PipelineContext,
        own: &[GivenVariable],
    ) -> Result<Taken, VariablesError> {
        let opened = self.outside.opened()?;
        let accounts = &opened.accounts;
        let instance = accounts.own().ok_or(VariablesError::NoGitLab)?;
        let project = remote.and_then(|remote| project_of(remote, &instance));
        let project = project.ok_or_else(|| VariablesError::NoProject(instance.clone()))?;
        let places = accounts.places(&instance);
        let token = accounts.token(&instance);
        let client = Client::new(opened.web.clone(), instance, token, places);
        if client.token().is_none() {
            return Err(client.needs_token_for_variables(&project).into());
        }
        let wanted = Wanted::of(project, context);
        let asking = ask(&client, &wanted);
        let answers = opened.waiter.wait(asking);
        let answers = answers.map_err(VariablesError::Waiting)??;
        Ok(given(answers, own))
    }
}

/// Returns the path of the project on its GitLab, which may be below a path of its server.
pub(in crate::remote) fn project_of(remote: &str, instance: &Instance) -> Option<String> {
    let path = path_of_url(remote)?;
    let root = instance.address().split_once("://")?.1.split_once('/');
    let below = root.and_then(|(_, root)| path.strip_prefix(root)?.strip_prefix('/'));
    let is_http = remote.starts_with("http://") || remote.starts_with("https://");
    Some(match below {
        Some(below) if is_http => below.to_owned(),
        _ => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_found_below_the_path_of_its_gitlab() {
        let check = |remote: &str, instance: &str, expect: Option<&str>| {
            let instance = Instance::parse(instance).expect("an address");
            let found = project_of(remote, &instance);
            assert_eq!(found.as_deref(), expect, "{remote} on {instance}");
        };
        check("https://h/g/p.git", "https://h", Some("g/p"));
        check("https://h/git/g/p.git", "https://h/git", Some("g/p"));
        check("https://h/gitty/p", "https://h/git", Some("gitty/p"));
        check("git@h:git/p.git", "https://h/git", Some("git/p"));
        check("git@h:g/p.git", "https://h", Some("g/p"));
        check("/srv/p.git", "https://h", None);
    }
}
