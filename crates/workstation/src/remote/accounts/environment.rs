use super::search::Looked;
use super::variables::Variables;
use gitlab_api::{Instance, TokenKind};

/// The variable that names the GitLab for this program alone.
const CHOSEN: &str = "RUNWRIGHT_GITLAB";

/// The variables that name the GitLab of a user, as `glab` knows them, those that win first.
const HOSTS: [&str; 3] = ["GITLAB_HOST", "GITLAB_URI", "GL_HOST"];

/// The variables that hold a token for no server in particular.
const TOKENS: [(&str, TokenKind); 4] = [
    ("RUNWRIGHT_GITLAB_TOKEN", TokenKind::Access),
    ("GITLAB_TOKEN", TokenKind::Access),
    ("GITLAB_ACCESS_TOKEN", TokenKind::Access),
    ("OAUTH_TOKEN", TokenKind::OAuth),
];

/// What the environment says about GitLabs.
#[derive(Debug, Clone)]
pub(super) struct Environment<'a> {
    variables: &'a Variables,
}

impl<'a> Environment<'a> {
    pub(super) fn new(variables: &'a Variables) -> Self {
        Self { variables }
    }

    /// Returns the GitLab that is named for this program.
    pub(super) fn chosen(&self) -> Option<Instance> {
        self.instance(CHOSEN)
    }

    /// Returns what is named for this program.
    pub(super) fn chosen_text(&self) -> Option<String> {
        self.variables.text(CHOSEN)
    }

    /// Returns the variable that should name the GitLab of programs in general, and does not.
    fn unreadable(&self) -> Option<&'static str> {
        let mut set = HOSTS.iter().filter(|it| self.variables.get(it).is_some());
        set.next().filter(|_| self.usual().is_none()).copied()
    }

    /// Returns the GitLab that is named for programs in general.
    pub(super) fn usual(&self) -> Option<Instance> {
        HOSTS.iter().find_map(|name| self.instance(name))
    }

    /// Returns the GitLab whose job this program runs in.
    pub(super) fn of_job(&self) -> Option<Instance> {
        self.variables.get("CI_JOB_ID")?;
        self.instance("CI_SERVER_URL")
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        Instance::parse(&self.variables.text(name)?).ok()
    }

    /// Looks for a token for `instance`, whose project's own GitLab is `own`.
    ///
    /// A variable that names no server is for that one, but not if nothing except the checkout says that it is the
    /// user's (`is_mine`): the token would go to whoever made the checkout.
    pub(super) fn look(
        &self,
        instance: &Instance,
        own: Option<&Instance>,
        is_mine: bool,
    ) -> Vec<Looked> {
        let mut looked = Vec::new();
        for (name, kind) in TOKENS {
            let named = match name {
                "RUNWRIGHT_GITLAB_TOKEN" => self.chosen(),
                _ => self.usual(),
            };
            let unreadable = match name {
                "RUNWRIGHT_GITLAB_TOKEN" => None,
                _ => self.unreadable(),
            };
            // A token for one server that nobody knows is for none.
            let by_checkout = own.filter(|_| is_mine && unreadable.is_none());
            let meant = named.as_ref().or(by_checkout);
            if meant.is_some_and(|it| it.origin() == instance.origin()) {
                looked.push(self.variable(name, name, Some(kind)));
            } else if self.variables.get(name).is_some() {
                let host = match name {
                    "RUNWRIGHT_GITLAB_TOKEN" => "RUNWRIGHT_GITLAB",
                    _ => "GITLAB_HOST",
                };
                let why = match (meant, own) {
                    (Some(meant), _) => format!("for {}", meant.origin()),
                    (None, _) if unreadable.is_some() => {
                        let host = unreadable.unwrap_or(host);
                        format!("for no server, as {host} is no address of one")
                    }
                    (None, Some(own)) => format!(
                        "for no server: that {own} is yours is said by the checkout alone; `{host}={own}` says it too"
                    ),
                    (None, None) => {
                        "for no server, as none is known to be the project's".to_owned()
                    }
                };
                looked.push(Looked::nothing(name, why));
            }
        }
        let of_job = self.of_job();
        if of_job.is_some_and(|it| it.origin() == instance.origin()) {
            looked.push(self.variable("CI_JOB_TOKEN", "CI_JOB_TOKEN", Some(TokenKind::Job)));
        }
        looked
    }

    /// Looks into one variable, which messages call `place`.
    pub(super) fn variable(&self, name: &str, place: &str, kind: Option<TokenKind>) -> Looked {
        let Some(found) = self.variables.get(name) else {
            return Looked::nothing(place, "not set");
        };
        match found.to_str() {
            Some(text) => Looked::text(place, text, kind),
            None => Looked::nothing(place, "left out: it is no text"),
        }
    }
}
