use super::{FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile};
use crate::repository::Paths;
use indexmap::IndexMap;
use std::sync::Arc;

/// Files by their paths.
pub type FilesByPath = IndexMap<String, Arc<str>>;

/// A source with fixed files: those of the pipeline's project, of other projects, of URLs and of
/// jobs. It has no templates, and fetches neither components nor unknown URLs.
#[derive(Debug, Clone, Default)]
pub struct KnownFiles {
    /// The files of the pipeline's project.
    pub own: FilesByPath,
    /// The files of other projects: those of the default branch, `main`, by the project's path, and
    /// those of another branch, tag or commit by `path@ref`.
    pub projects: IndexMap<String, FilesByPath>,
    /// The texts by URL.
    pub remote: FilesByPath,
    /// The artifacts of the parent pipeline, by job name.
    pub artifacts: IndexMap<String, FilesByPath>,
}

impl KnownFiles {
    /// Returns a source with these files of the pipeline's project.
    pub fn with_own<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let files = files.into_iter();
        Self {
            own: files
                .map(|(path, text)| (path.to_owned(), Arc::from(text)))
                .collect(),
            ..Self::default()
        }
    }

    fn files(&self, home: &FileHome) -> Result<&FilesByPath, IncludeError> {
        match home {
            FileHome::Own => Ok(&self.own),
            FileHome::Project { path, sha, .. } => self.project(path, sha),
            FileHome::NoProject => Err(IncludeError::Missing),
        }
    }

    fn project(&self, path: &str, reference: &str) -> Result<&FilesByPath, IncludeError> {
        let find = |name: &str| {
            let mut projects = self.projects.iter();
            projects.find_map(|(known, files)| known.eq_ignore_ascii_case(name).then_some(files))
        };
        let of_default = find(path).ok_or_else(|| IncludeError::UnknownProject(path.to_owned()))?;
        if matches!(reference, "HEAD" | "main") {
            return Ok(of_default);
        }
        let unknown = || IncludeError::UnknownReference(reference.to_owned());
        find(&format!("{path}@{reference}")).ok_or_else(unknown)
    }

    fn fetch_one(&self, request: &IncludeRequest) -> Result<IncludedFile, IncludeError> {
        let not_fetched = |what: &str| {
            let words = format!("{what} is not among the known files");
            Err(IncludeError::NotFetched(words))
        };
        match &request.location {
            IncludeLocation::Local { path } => {
                let name = match &request.from {
                    FileHome::Project { path: project, .. } => format!("{project}/{path}"),
                    _ => path.clone(),
                };
                let text = self.files(&request.from)?.get(path);
                found(name, text, request.from.clone())
            }
            IncludeLocation::Project {
                project,
                file,
                reference,
            } => {
                let reference = reference.as_deref().unwrap_or("HEAD");
                let home = FileHome::Project {
                    server: None,
                    path: project.as_str().into(),
                    sha: reference.into(),
                };
                let text = self.project(project, reference)?.get(file);
                found(format!("{project}/{file}"), text, home)
            }
            IncludeLocation::Remote { url, .. } => match self.remote.get(url) {
                Some(text) => found(url.clone(), Some(text), FileHome::NoProject),
                None => not_fetched("the URL"),
            },
            IncludeLocation::Template { .. } => Err(IncludeError::Missing),
            IncludeLocation::Component { .. } => not_fetched("the component"),
            IncludeLocation::Artifact { job, path } => match self.artifacts.get(job) {
                Some(files) => found(format!("{job}:{path}"), files.get(path), FileHome::Own),
                None => Err(IncludeError::no_artifacts()),
            },
        }
    }
}

fn found(
    name: String,
    text: Option<&Arc<str>>,
    home: FileHome,
) -> Result<IncludedFile, IncludeError> {
    Ok(IncludedFile {
        name,
        text: Arc::clone(text.ok_or(IncludeError::Missing)?),
        home,
        component: Vec::new(),
    })
}

impl IncludeSource for KnownFiles {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        Ok(self.files(home)?.keys().cloned().collect())
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let requests = requests.iter();
        requests.map(|request| self.fetch_one(request)).collect()
    }
}
