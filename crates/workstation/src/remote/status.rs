use super::{Outside, RemoteError};
use crate::PipelineOptions;
use crate::project::local_project::LocalProject;
use crate::project::repository::BlockingGit;
use crate::remote::variables::project_of;
use gitlab_api::{Accounts, ApiError, Client, Instance, TokenInfo, TokenKind};
use includes::FetchPolicy;
use std::sync::Arc;

/// The GitLab of a project, the user's account there, and whether it works.
#[derive(Debug, Clone)]
pub struct GitLabStatus {
    /// The GitLab.
    pub instance: Instance,
    /// The project's path there, if its remote has it.
    pub path: Option<String>,
    /// Where the token was found.
    pub token: Option<String>,
    /// Where a token was looked for, in order; the last has it, if any.
    pub places: Vec<String>,
    /// The responses of the GitLab in order; none offline.
    pub answers: Vec<StatusAnswer>,
}

/// The response of a GitLab to one request.
#[derive(Debug, Clone)]
pub struct StatusAnswer {
    /// What was requested: `version`, `user`, `scopes`, `project`.
    pub what: &'static str,
    /// The response as text, or the error.
    pub answer: Result<String, ApiError>,
}

impl GitLabStatus {
    /// Finds the GitLab of a project and, unless offline, requests the user's account; `None` if no GitLab is known.
    ///
    /// # Errors
    ///
    /// When the user's settings are invalid, or no requests can be sent.
    pub fn of(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Option<Self>, RemoteError> {
        let git = Arc::new(BlockingGit::new(project.root()));
        let outside = Outside::new(&options.remote, options.home.clone(), &git);
        let opened = outside.opened()?;
        let Some(instance) = opened.accounts.own() else {
            return Ok(None);
        };
        let remote = outside.remote();
        let path = remote.and_then(|remote| project_of(&remote, &instance));
        let token = opened.accounts.token(&instance);
        let places = opened.accounts.places(&instance);
        let answers = if options.remote.fetching == FetchPolicy::Offline {
            Vec::new()
        } else {
            // Without the places of tokens, which are shown once and not with each error.
            let (web, token) = (opened.web.clone(), token.clone());
            let client = Client::new(web, instance.clone(), token, Vec::new());
            let requests = request(&client, path.as_deref());
            let answers = opened.waiter.wait(requests);
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

    /// Returns whether all requests succeeded.
    pub fn works(&self) -> bool {
        self.answers.iter().all(|it| it.answer.is_ok())
    }
}

async fn request(client: &Client, path: Option<&str>) -> Vec<StatusAnswer> {
    let mut answers = Vec::new();
    let mut answered = |what, answer| answers.push(StatusAnswer { what, answer });
    // A job token may not read its user, and without a token not even the version can be read.
    if let Some(token) = client.token().filter(|token| token.kind != TokenKind::Job) {
        let kind = token.kind;
        let version = client.version().await;
        let is_useless = version.as_ref().is_err_and(|error| {
            // A token that lacks a scope may have another one.
            !matches!(error, ApiError::Forbidden { .. })
        });
        answered("version", version.map(|it| it.version));
        if is_useless {
            // All other requests would fail in the same way.
            return answers;
        }
        let user = client.user().await;
        answered(
            "user",
            user.map(|it| format!("{} ({})", it.username, it.name)),
        );
        if kind == TokenKind::Access {
            answered(
                "scopes",
                client.token_info().await.map(|it| token_text(&it)),
            );
        }
    }
    match path {
        Some(path) => {
            let project = client.project(path).await;
            answered("project", project.map(|it| it.path_with_namespace));
        }
        // Without a token and a project, the error of GitLab is the result.
        None if client.token().is_none() => {
            let version = client.version().await;
            answered("version", version.map(|it| it.version));
        }
        None => {}
    }
    answers
}

fn token_text(token: &TokenInfo) -> String {
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
