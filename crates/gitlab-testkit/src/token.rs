/// The role of a user in projects and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Cannot read the code of private projects.
    Guest,
    /// Can read code.
    Reporter,
    /// Can lint pipelines.
    Developer,
    /// Can read variables.
    Maintainer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Access,
    OAuth,
    Job,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validity {
    Active,
    Expired,
    Revoked,
}

/// A token known to the server.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) value: String,
    pub(crate) kind: Kind,
    pub(crate) scopes: Vec<String>,
    pub(crate) validity: Validity,
    pub(crate) role: Role,
    pub(crate) is_admin: bool,
    /// The projects and groups it can see besides public ones; `None` means all.
    pub(crate) only: Option<Vec<String>>,
}

impl Token {
    /// Returns the token of a running job.
    pub(crate) fn job(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            kind: Kind::Job,
            scopes: Vec::new(),
            validity: Validity::Active,
            role: Role::Maintainer,
            is_admin: false,
            only: None,
        }
    }

    /// Returns whether it can see the project or group at `path`.
    pub(crate) fn sees(&self, path: &str) -> bool {
        self.only.as_ref().is_none_or(|only| {
            let path = path.to_lowercase();
            only.iter()
                .map(|it| it.to_lowercase())
                .any(|it| path == it || path.starts_with(&format!("{it}/")))
        })
    }
}
