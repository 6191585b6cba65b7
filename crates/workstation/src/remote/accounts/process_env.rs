use super::token_search::TokenPlace;
use super::variables::Variables;
use gitlab_api::{Instance, TokenKind};

/// The variable that names the GitLab for this program alone.
const CHOSEN: &str = "RUNWRIGHT_GITLAB";

/// The variables of `glab` that name the user's GitLab, the highest precedence first.
const HOSTS: [&str; 3] = ["GITLAB_HOST", "GITLAB_URI", "GL_HOST"];

/// The variables with a token for no named server.
const TOKENS: [(&str, TokenKind); 4] = [
    ("RUNWRIGHT_GITLAB_TOKEN", TokenKind::Access),
    ("GITLAB_TOKEN", TokenKind::Access),
    ("GITLAB_ACCESS_TOKEN", TokenKind::Access),
    ("OAUTH_TOKEN", TokenKind::OAuth),
];

/// The variables of the process environment about GitLabs.
#[derive(Debug, Clone)]
pub(super) struct ProcessEnv<'a> {
    variables: &'a Variables,
}

impl<'a> ProcessEnv<'a> {
    pub(super) fn new(variables: &'a Variables) -> Self {
        Self { variables }
    }

    /// Returns the GitLab named for this program.
    pub(super) fn chosen(&self) -> Option<Instance> {
        self.instance(CHOSEN)
    }

    /// Returns the text that names it.
    pub(super) fn chosen_text(&self) -> Option<String> {
        self.variables.text(CHOSEN)
    }

    /// Returns the variable that should name the user's GitLab, if it is invalid.
    fn unreadable(&self) -> Option<&'static str> {
        let mut set = HOSTS.iter().filter(|it| self.variables.get(it).is_some());
        set.next().filter(|_| self.usual().is_none()).copied()
    }

    /// Returns the GitLab named for all programs.
    pub(super) fn usual(&self) -> Option<Instance> {
        HOSTS.iter().find_map(|name| self.instance(name))
    }

    /// Returns the GitLab of the job that this program runs in.
    pub(super) fn of_job(&self) -> Option<Instance> {
        self.variables.get("CI_JOB_ID")?;
        self.instance("CI_SERVER_URL")
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        Instance::parse(&self.variables.text(name)?).ok()
    }

    /// Looks for a token for `instance`; `own` is the project's GitLab.
    ///
    /// A token without a server is for `own`, but only if the user trusts it (`is_mine`): the author of the checkout
    /// chose its remote and would get the token.
    pub(super) fn find_tokens(
        &self,
        instance: &Instance,
        own: Option<&Instance>,
        is_mine: bool,
    ) -> Vec<TokenPlace> {
        let mut places = Vec::new();
        for (name, kind) in TOKENS {
            let named = match name {
                "RUNWRIGHT_GITLAB_TOKEN" => self.chosen(),
                _ => self.usual(),
            };
            let unreadable = match name {
                "RUNWRIGHT_GITLAB_TOKEN" => None,
                _ => self.unreadable(),
            };
            // With an invalid server, a token is for none.
            let by_checkout = own.filter(|_| is_mine && unreadable.is_none());
            let meant = named.as_ref().or(by_checkout);
            if meant.is_some_and(|it| it.origin() == instance.origin()) {
                places.push(self.variable(name, name, Some(kind)));
            } else if self.variables.get(name).is_some() {
                let host = match name {
                    "RUNWRIGHT_GITLAB_TOKEN" => "RUNWRIGHT_GITLAB",
                    _ => "GITLAB_HOST",
                };
                let why = match (meant, own) {
                    (Some(meant), _) => format!("for {}", meant.origin()),
                    (None, _) if unreadable.is_some() => {
                        let host = unreadable.unwrap_or(host);
                        format!("for no server, as {host} is not a URL")
                    }
                    (None, Some(own)) => format!(
                        "for no server: only the checkout names {own}; set `{host}={own}` if it is yours"
                    ),
                    (None, None) => "for no server, as the project's GitLab is unknown".to_owned(),
                };
                places.push(TokenPlace::nothing(name, why));
            }
        }
        let of_job = self.of_job();
        if of_job.is_some_and(|it| it.origin() == instance.origin()) {
            places.push(self.variable("CI_JOB_TOKEN", "CI_JOB_TOKEN", Some(TokenKind::Job)));
        }
        places
    }

    /// Reads one variable, which messages call `place`.
    pub(super) fn variable(&self, name: &str, place: &str, kind: Option<TokenKind>) -> TokenPlace {
        let Some(found) = self.variables.get(name) else {
            return TokenPlace::nothing(place, "not set");
        };
        match found.to_str() {
            Some(text) => TokenPlace::text(place, text, kind),
            None => TokenPlace::nothing(place, "left out: it is not text"),
        }
    }
}
