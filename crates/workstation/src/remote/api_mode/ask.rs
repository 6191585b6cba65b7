use super::notes::LintContext;
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

/// How long GitLab may take to merge a file: it allows itself 30 s to fetch includes.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The mode in which the project's GitLab reads its pipeline file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiMode {
    /// Whether the user sets variables.
    has_variables: bool,
}

impl ApiMode {
    /// Returns the mode if the options select it.
    ///
    /// # Errors
    ///
    /// When other options cannot be passed to a GitLab.
    pub(crate) fn wanted(
        options: &PipelineOptions,
        input: &UserInput,
    ) -> Result<Option<Self>, ApiModeError> {
        if !options.remote.prefer_api {
            return Ok(None);
        }
        if options.remote.fetching == FetchPolicy::Offline {
            return Err(ApiModeError::Offline);
        }
        if options.dialect != Dialect::GitLab {
            return Err(ApiModeError::Dialect);
        }
        if !input.inputs.is_empty() {
            return Err(ApiModeError::Inputs { file: None });
        }
        let file = input.inputs_file.as_ref();
        if let Some(file) = file.filter(|file| !file.text.trim().is_empty()) {
            let file = Some(file.name.clone());
            return Err(ApiModeError::Inputs { file });
        }
        Ok(Some(Self {
            has_variables: !input.variables.is_empty(),
        }))
    }

    /// Sends a text to the lint; `has_overlay` is whether a file is merged over it afterwards.
    ///
    /// # Errors
    ///
    /// When there is no response. An invalid text has one.
    pub(crate) fn merge(
        self,
        outside: &Outside,
        text: &str,
        has_overlay: bool,
    ) -> Result<Merged, ApiModeError> {
        if text.len() > YamlLimits::default().bytes {
            // The reader refuses it for its length.
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
        let web = Web::new(with_timeout(accounts.web_options())).map_err(RemoteError::from)?;
        let client = Client::new(
            web,
            instance.clone(),
            Some(token),
            accounts.places(&instance),
        );
        let request = LintRequest::new(text);
        let lint = client.ci_lint(&project, &request);
        let answer = opened.waiter.wait(lint).map_err(ApiModeError::Waiting)??;
        let context = LintContext {
            server: instance.name(),
            project: &project,
            has_variables: self.has_variables,
            has_overlay,
        };
        let notes = notes(text, &answer, &context);
        Ok(Merged::new(instance.name(), answer, notes))
    }
}

/// Sets the timeout for a slow request.
fn with_timeout(options: WebOptions) -> WebOptions {
    WebOptions {
        limits: Limits {
            deadline: TIMEOUT,
            overall: TIMEOUT,
            ..options.limits
        },
        ..options
    }
}
