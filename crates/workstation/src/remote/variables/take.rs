use super::{Taken, VariablesError, Wanted, ask, given};
use crate::project::situation::path_of_url;
use crate::remote::Outside;
use gitlab_api::{Accounts, Client, Instance};
use includes::FetchPolicy;
use pipeline::context::{ExternalVariable, PipelineContext};
use std::sync::Arc;

/// Reads the variables of a GitLab.
#[derive(Debug)]
pub(crate) struct GitLabVariables {
    outside: Arc<Outside>,
}

impl GitLabVariables {
    /// Returns a reader with this access to servers.
    ///
    /// # Errors
    ///
    /// When requests are forbidden.
    pub(crate) fn new(outside: Arc<Outside>) -> Result<Self, VariablesError> {
        if outside.options().fetching == FetchPolicy::Offline {
            return Err(VariablesError::Offline);
        }
        Ok(Self { outside })
    }

    /// Reads the variables of the project that was cloned from `remote`, and whether the pipeline's branch or tag is
    /// protected; `own` are the user's own variables.
    pub(crate) fn take(
        &self,
        remote: Option<&str>,
        context: &PipelineContext,
        own: &[ExternalVariable],
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
        let requests = ask(&client, &wanted);
        let answers = opened.waiter.wait(requests);
        let answers = answers.map_err(VariablesError::Waiting)??;
        Ok(given(answers, own))
    }
}

/// Returns the project's path on its GitLab, without the path of the GitLab on its server.
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
    fn project_path_leaves_out_the_path_of_the_gitlab() {
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
