use super::{Outside, RemoteError};
use crate::PipelineOptions;
use crate::project::local_project::LocalProject;
use crate::project::repository::BlockingGit;
use crate::remote::variables::project_of;
use gitlab_api::{Accounts, ApiError, Client, Instance, TokenInfo, TokenKind};
use includes::FetchPolicy;
use std::sync::Arc;

/// Which GitLab a project has, who asks there, and whether that works.
#[derive(Debug, Clone)]
pub struct GitLabStatus {
    /// The GitLab.
    pub instance: Instance,
    /// The project's path there, if its remote tells.
    pub path: Option<String>,
    /// Where the token was found.
    pub token: Option<String>,
    /// Where a token was looked for, in words, in order; what was found is last.
    pub places: Vec<String>,
    /// What GitLab answered, in the order in which it was asked; nothing when it was not.
    pub answers: Vec<StatusAnswer>,
}

/// What a GitLab answered to one question.
#[derive(Debug, Clone)]
pub struct StatusAnswer {
    /// What was asked for: `version`, `user`, `scopes`, `project`.
    pub what: &'static str,
    /// The answer in words, or why there is none.
    pub answer: Result<String, ApiError>,
}

impl GitLabStatus {
    /// Finds the GitLab of a project and asks it who the user is there, unless no server is to be
    /// asked; nothing when no GitLab is known.
    ///
    /// # Errors
    ///
    /// When the user's settings are wrong, or no requests can be sent.
    pub fn of(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Option<Self>, RemoteError> {
        let git = Arc::new(BlockingGit::new(project.root()));
        let outside = Outside::new(&options.elsewhere, options.home.clone(), &git);
        let opened = outside.opened()?;
        let Some(instance) = opened.accounts.own() else {
            return Ok(None);
        };
        let remote = outside.remote();
        let path = remote.and_then(|remote| project_of(&remote, &instance));
        let token = opened.accounts.token(&instance);
        let places = opened.accounts.places(&instance);
        let answers = if options.elsewhere.fetching == FetchPolicy::Offline {
            Vec::new()
        } else {
            // Where a token was looked for is said once, and not by each answer.
            let (web, token) = (opened.web.clone(), token.clone());
            let client = Client::new(web, instance.clone(), token, Vec::new());
            let asking = ask(&client, path.as_deref());
            let answers = opened.waiter.wait(asking);
            answers.map_err(|error| RemoteError::waiting(&error))?
        };
        Ok(Some(Self {
            instance,
            path,
            token: token.map(|token| token.found),
            places,
            answers,
        }))
    }

    /// Returns whether all that was asked was answered.
    pub fn works(&self) -> bool {
        self.answers.iter().all(|it| it.answer.is_ok())
    }
}

async fn ask(client: &Client, path: Option<&str>) -> Vec<StatusAnswer> {
    let mut answers = Vec::new();
    let mut answered = |what, answer| answers.push(StatusAnswer { what, answer });
    // A token of a job may not ask who it is, and a stranger not even for the version.
    if let Some(token) = client.token().filter(|token| token.kind != TokenKind::Job) {
        let kind = token.kind;
        let version = client.version().await;
        let is_in_vain = version.as_ref().is_err_and(|error| {
            // A token that lacks a scope may have another one.
            !matches!(error, ApiError::Forbidden { .. })
        });
        answered("version", version.map(|it| it.version));
        if is_in_vain {
            // What does not answer, or not to this token, would say the same to each question.
            return answers;
        }
        let user = client.user().await;
        answered(
            "user",
            user.map(|it| format!("{} ({})", it.username, it.name)),
        );
        if kind == TokenKind::Access {
            answered("scopes", client.token_info().await.map(|it| words(&it)));
        }
    }
    match path {
        Some(path) => {
            let project = client.project(path).await;
            answered("project", project.map(|it| it.path_with_namespace));
        }
        // There is nothing that a stranger could ask, and that is what GitLab says.
        None if client.token().is_none() => {
            let version = client.version().await;
            answered("version", version.map(|it| it.version));
        }
        None => {}
    }
    answers
}

fn words(token: &TokenInfo) -> String {
    let TokenInfo {
        name,
        scopes,
        expires_at,
        ..
    } = token;
    let scopes = scopes.join(", ");
    let end = match expires_at {
        Some(day) => format!("ends {day}"),
        None => "has no end".to_owned(),
    };
    format!("{scopes} (the token `{name}` {end})")
}
