use super::notes::Surrounding;
use super::{ApiModeError, Merged, notes};
use crate::PipelineOptions;
use crate::project::user_input::UserInput;
use crate::remote::variables::project_of;
use crate::remote::{Outside, RemoteError};
use gitlab_api::{Accounts, Client, LintRequest};
use includes::FetchPolicy;
use pipeline::Dialect;
use std::time::Duration;
use web::{Limits, Web, WebOptions};
use yaml::Limits as YamlLimits;

/// How long GitLab may take to put a file together: it gives itself 30 s to fetch what is included.
const PATIENCE: Duration = Duration::from_mins(1);

/// That the GitLab of the project reads its pipeline file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiMode {
    /// Whether the user gives variables himself.
    has_variables: bool,
}

impl ApiMode {
    /// Returns it if the options want it.
    ///
    /// # Errors
    ///
    /// When they ask for what a GitLab cannot be told.
    pub(crate) fn wanted(
        options: &PipelineOptions,
        input: &UserInput,
    ) -> Result<Option<Self>, ApiModeError> {
        if !options.elsewhere.prefer_api {
            return Ok(None);
        }
        if options.elsewhere.fetching == FetchPolicy::Offline {
            return Err(ApiModeError::Offline);
        }
        if options.dialect != Dialect::GitLab {
            return Err(ApiModeError::Dialect);
        }
        if !input.inputs.is_empty() {
            return Err(ApiModeError::Inputs);
        }
        Ok(Some(Self {
            has_variables: !input.variables.is_empty(),
        }))
    }

    /// Asks what a text means; `has_overlay` says whether a file is merged over it afterwards.
    ///
    /// # Errors
    ///
    /// When there is no answer; that the text is wrong is one.
    pub(crate) fn merge(
        self,
        outside: &Outside,
        text: &str,
        has_overlay: bool,
    ) -> Result<Merged, ApiModeError> {
        if text.len() > YamlLimits::default().bytes {
            // Nobody reads it: it is refused for its length.
            return Ok(Merged::default());
        }
        let opened = outside.opened()?;
        let accounts = &opened.accounts;
        let instance = accounts.own().ok_or(ApiModeError::NoGitLab)?;
        let remote = outside.remote();
        let project = remote.and_then(|remote| project_of(&remote, &instance));
        let project = project.ok_or_else(|| ApiModeError::NoProject(instance.clone()))?;
        let Some(token) = accounts.token(&instance) else {
            return Err(ApiModeError::NoToken {
                places: accounts.places(&instance),
                server: instance,
            });
        };
        let web = Web::new(patient(accounts.web_options())).map_err(RemoteError::from)?;
        let client = Client::new(
            web,
            instance.clone(),
            Some(token),
            accounts.places(&instance),
        );
        let request = LintRequest::new(text);
        let asking = client.ci_lint(&project, &request);
        let answer = opened
            .waiter
            .wait(asking)
            .map_err(ApiModeError::Waiting)??;
        let surrounding = Surrounding {
            server: instance.name(),
            project: &project,
            has_variables: self.has_variables,
            has_overlay,
        };
        let notes = notes(text, &answer, &surrounding);
        Ok(Merged::new(instance.name(), answer, notes))
    }
}

/// Returns how a request is sent that may take its time.
fn patient(options: WebOptions) -> WebOptions {
    WebOptions {
        limits: Limits {
            deadline: PATIENCE,
            overall: PATIENCE,
            ..options.limits
        },
        ..options
    }
}
