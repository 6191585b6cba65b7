use crate::answer::Answer;
use crate::who::Who;
use crate::world::{ProjectRecord, Visibility, World};
use crate::{Request, Role};

/// A request and the world it refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) world: &'a World,
    pub(crate) request: &'a Request,
}

/// The scopes that allow reading most resources.
pub(crate) const READ: [&str; 2] = ["api", "read_api"];

impl Call<'_> {
    /// Returns the caller, who needs one of `scopes`.
    pub(crate) fn who(&self, scopes: &[&str]) -> Result<Who, Answer> {
        let who = Who::of(self.world, self.request, scopes)?;
        // A job token counts as no token where jobs have no access.
        Ok(if who.is_job() { Who::Nobody } else { who })
    }

    /// Like [`Call::who`], and accepts job tokens.
    pub(crate) fn who_or_job(&self, scopes: &[&str]) -> Result<Who, Answer> {
        Who::of(self.world, self.request, scopes)
    }

    /// Returns whether the request carries no credentials.
    pub(crate) fn is_anonymous(&self) -> bool {
        matches!(self.who(&[]), Ok(Who::Nobody))
    }

    /// Returns the caller, and refuses anonymous requests.
    pub(crate) fn somebody(&self, scopes: &[&str]) -> Result<Who, Answer> {
        match self.who(scopes)? {
            Who::Nobody => Err(Answer::unauthorized()),
            who @ Who::Known(_) => Ok(who),
        }
    }

    /// Returns a project that the caller may see.
    pub(crate) fn seen_project(&self, name: &str, who: &Who) -> Result<ProjectRecord, Answer> {
        let project = self.world.project(name);
        project
            .filter(|project| sees(who, project))
            .ok_or_else(|| Answer::not_found("Project"))
    }

    /// Returns a project whose code the caller may read.
    pub(crate) fn code(&self, name: &str, scopes: &[&str]) -> Result<ProjectRecord, Answer> {
        self.code_for(name, &self.who(scopes)?)
    }

    /// Returns a project whose code `who` may read.
    pub(crate) fn code_for(&self, name: &str, who: &Who) -> Result<ProjectRecord, Answer> {
        let project = self.seen_project(name, who)?;
        let is_guest = who.role() == Some(Role::Guest);
        if project.visibility == Visibility::Private && is_guest {
            return Err(Answer::forbidden());
        }
        Ok(project)
    }

    /// Returns the commit that `ref` in the query names, or that of `HEAD` without one.
    pub(crate) fn commit(&self, project: &ProjectRecord) -> Result<String, Answer> {
        let name = self.request.parameter("ref");
        if name.as_deref() == Some("") {
            return Err(Answer::error(400, "ref is empty"));
        }
        let name = name.as_deref().unwrap_or("HEAD");
        let commit = project.repository.commit_of(name);
        commit.ok_or_else(|| Answer::not_found("Commit"))
    }

    /// Returns the address of this request without its query, for links to further pages.
    pub(crate) fn address(&self) -> String {
        format!("{}{}", self.world.origin(), self.request.path)
    }
}

/// Returns whether the caller may know that the project exists.
pub(crate) fn sees(who: &Who, project: &ProjectRecord) -> bool {
    match (project.visibility, who) {
        (Visibility::Public, _) | (Visibility::Internal, Who::Known(_)) => true,
        (Visibility::Internal | Visibility::Private, Who::Nobody) => false,
        (Visibility::Private, Who::Known(token)) => token.sees(&project.path),
    }
}
