use super::asker::Asker;
use super::refused::failed;
use super::settings::{ElsewhereSettings, OwnProject};
use crate::{Library, ProjectAddress};
use gitlab_api::Instance;
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludedFile,
};
use std::sync::{Arc, OnceLock};

/// Finds one file after the other; what kind of include it is decides where.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) settings: ElsewhereSettings,
    pub(super) asker: Asker,
    pub(super) own: OnceLock<OwnProject>,
}

impl Finder {
    pub(super) fn new(library: Arc<dyn Library>, settings: ElsewhereSettings) -> Self {
        Self {
            asker: Asker::new(library, settings.bytes),
            own: OnceLock::new(),
            settings,
        }
    }

    /// Returns the file that a request means.
    pub(super) async fn find(
        &self,
        request: &IncludeRequest,
    ) -> Result<IncludedFile, IncludeError> {
        match &request.location {
            IncludeLocation::Local { path } => self.local(path, &request.from).await,
            IncludeLocation::Project {
                project,
                file,
                reference,
            } => {
                let project = self.project(project, &request.from)?;
                self.file_of(project, file, reference.as_deref()).await
            }
            IncludeLocation::Remote {
                url,
                integrity,
                cache,
            } => self.remote(url, integrity.as_deref(), *cache).await,
            IncludeLocation::Template { name } => self.template(name).await,
            IncludeLocation::Component { address } => self.component(address, &request.from).await,
            IncludeLocation::Artifact { .. } => Err(failed(
                IncludeFailure::NotFetched,
                "files that jobs leave are known only once the jobs ran",
                None,
            )),
        }
    }

    /// Returns the project's own GitLab.
    pub(super) fn own_instance(&self) -> Option<Instance> {
        let known = self.settings.accounts.own();
        known.or_else(|| self.settings.own.clone())
    }

    /// Returns the GitLab that is meant in a file that lives there.
    fn instance(&self, from: &FileHome) -> Result<Instance, IncludeError> {
        if let FileHome::Project {
            server: Some(server),
            ..
        } = from
        {
            let read = Instance::parse(server);
            return read.map_err(|error| failed(IncludeFailure::Invalid, error.to_string(), None));
        }
        self.own_instance().ok_or_else(|| {
            failed(
                IncludeFailure::Invalid,
                "nothing says on which GitLab the project is",
                "`--gitlab` names it, and so does the address of a Git remote",
            )
        })
    }

    /// Returns a project that is named in a file that lives there.
    pub(super) fn project(
        &self,
        path: &str,
        from: &FileHome,
    ) -> Result<ProjectAddress, IncludeError> {
        let Some(path) = super::reference::project_path(path) else {
            return Err(failed(
                IncludeFailure::Invalid,
                "no project has such a path",
                "a project is named with its groups: `group/project`",
            ));
        };
        Ok(ProjectAddress {
            instance: self.instance(from)?,
            path: path.to_owned(),
        })
    }
}
