use super::ask_once::AskOnce;
use super::errors::failed;
use super::settings::{OwnProject, RemoteSettings};
use crate::{Library, ProjectAddress};
use gitlab_api::Instance;
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludedFile,
};
use std::sync::{Arc, OnceLock};

/// Finds included files, by the kind of the include.
#[derive(Debug)]
pub(super) struct Finder {
    pub(super) settings: RemoteSettings,
    pub(super) asker: AskOnce,
    pub(super) own: OnceLock<OwnProject>,
}

impl Finder {
    pub(super) fn new(library: Arc<dyn Library>, settings: RemoteSettings) -> Self {
        Self {
            asker: AskOnce::new(library, settings.bytes),
            own: OnceLock::new(),
            settings,
        }
    }

    /// Returns the file of a request.
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
                "files from jobs exist only after the jobs ran",
                None,
            )),
        }
    }

    /// Returns the project's own GitLab.
    pub(super) fn own_instance(&self) -> Option<Instance> {
        let known = self.settings.accounts.own();
        known.or_else(|| self.settings.own.clone())
    }

    /// Returns the GitLab of a file.
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
                IncludeFailure::NotFetched,
                "the GitLab of the project is not known",
                "`--gitlab` names it, and so does the address of a Git remote",
            )
        })
    }

    /// Returns a project named in a file.
    pub(super) fn project(
        &self,
        path: &str,
        from: &FileHome,
    ) -> Result<ProjectAddress, IncludeError> {
        let Some(path) = super::reference::project_path(path) else {
            return Err(failed(
                IncludeFailure::Invalid,
                "invalid path of a project",
                "expected a project with its groups: `group/project`",
            ));
        };
        Ok(ProjectAddress {
            instance: self.instance(from)?,
            path: path.to_owned(),
        })
    }
}
