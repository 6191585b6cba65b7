use super::locate::Target;
use super::{FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludedFile};
use crate::LoadOptions;
use crate::repository::Paths;
use executor_core::variable::without_secrets;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Severity, Unread};
use yaml::source::FileId;
use yaml::{LoadedFile, load};

/// How many missing files get a suggestion, which takes a comparison with every path of the project.
const MOST_ADVICE: usize = 50;

/// The included files, each fetched and parsed once, however often it is named.
#[derive(Debug)]
pub(super) struct FileCache<'o> {
    options: &'o LoadOptions<'o>,
    files: HashMap<Key, Option<Arc<CachedFile>>>,
    paths: HashMap<FileHome, Paths>,
    bytes_left: usize,
    /// How many more missing files get a suggestion.
    advice_left: usize,
}

/// The identity of a file: its location and, for local files, the project of the including file.
type Key = (IncludeLocation, Option<FileHome>);

/// A fetched and parsed file before the interpolation of its inputs.
#[derive(Debug)]
pub(super) struct CachedFile {
    pub(super) id: FileId,
    pub(super) documents: LoadedFile,
    pub(super) home: FileHome,
    /// Its path in its project; empty outside of projects.
    pub(super) path: String,
    /// The fields of a component, by name.
    pub(super) component: Vec<(String, String)>,
}

/// A file to fetch, and the project of the including file.
#[derive(Debug)]
pub(super) struct FileRequest<'w> {
    pub(super) target: &'w Target,
    pub(super) from: &'w FileHome,
}

impl<'o> FileCache<'o> {
    pub(super) fn new(options: &'o LoadOptions<'o>) -> Self {
        Self {
            options,
            files: HashMap::new(),
            paths: HashMap::new(),
            bytes_left: options.limits.included_bytes,
            advice_left: MOST_ADVICE,
        }
    }

    /// Returns a fetched file; nothing if fetching failed.
    pub(super) fn file(&self, target: &Target, from: &FileHome) -> Option<Arc<CachedFile>> {
        self.files.get(&key(target, from)).cloned().flatten()
    }

    /// Fetches the files that are not cached yet, all at once. A failure is reported where the file
    /// is first named.
    pub(super) fn fetch(&mut self, requests: &[FileRequest<'_>], diagnostics: &mut Diagnostics) {
        let mut new: Vec<&FileRequest<'_>> = Vec::new();
        for request in requests {
            if let Entry::Vacant(vacant) = self.files.entry(key(request.target, request.from)) {
                vacant.insert(None);
                new.push(request);
            }
        }
        if new.is_empty() {
            return;
        }
        let to_fetch: Vec<IncludeRequest> = new
            .iter()
            .map(|request| IncludeRequest {
                location: request.target.location.clone(),
                from: request.from.clone(),
            })
            .collect();
        let found = self.options.includes.fetch(&to_fetch);
        for (request, found) in new.into_iter().zip(found) {
            let cached = match found {
                Ok(found) => self.add(request, found, diagnostics),
                Err(error) => {
                    self.refuse(request, &error, diagnostics);
                    None
                }
            };
            match cached {
                None => diagnostics.note_unread(Unread::Files),
                Some(file) => {
                    let key = key(request.target, request.from);
                    self.files.insert(key, Some(Arc::new(file)));
                }
            }
        }
    }

    fn add(
        &mut self,
        request: &FileRequest<'_>,
        found: IncludedFile,
        diagnostics: &mut Diagnostics,
    ) -> Option<CachedFile> {
        let limits = &self.options.limits;
        let length = found.text.len();
        let bytes_left = self.bytes_left.checked_sub(length);
        if length > limits.bytes || bytes_left.is_none() {
            let message = format!(
                "include: `{}` has {length} bytes; the limit is {} for a file, and {} for all \
                 included files",
                request.target.shown, limits.bytes, limits.included_bytes
            );
            diagnostics.push(Diagnostic::error("file-too-large", message).at(request.target.span));
            return None;
        }
        self.bytes_left = bytes_left.unwrap_or_default();
        if found.text.trim().is_empty() {
            diagnostics.push(super::refusal::of_empty(request.target));
            return None;
        }
        let path = match &request.target.location {
            IncludeLocation::Local { path } => path.clone(),
            IncludeLocation::Project { file, .. } => file.clone(),
            _ => String::new(),
        };
        let sources = diagnostics.sources_mut();
        let name = without_secrets(&found.name, &self.options.variables);
        let id = sources.add_included(name, &*found.text, request.target.span);
        Some(CachedFile {
            id,
            documents: load(id, limits, diagnostics)?,
            home: found.home,
            path,
            component: found.component,
        })
    }

    fn refuse(
        &mut self,
        request: &FileRequest<'_>,
        error: &IncludeError,
        diagnostics: &mut Diagnostics,
    ) {
        let is_local = matches!(request.target.location, IncludeLocation::Local { .. });
        let is_missing = is_local && *error == IncludeError::Missing;
        let paths = if is_missing && self.advice_left > 0 {
            self.advice_left -= 1;
            self.paths(request.from).unwrap_or_default()
        } else {
            Paths::default()
        };
        let paths = paths.iter().map(String::as_str);
        let paths = paths.filter(|path| super::check::is_yaml(path));
        let mut diagnostic = super::refusal::of_file(error, request.target, paths);
        let variables = &self.options.variables;
        diagnostic.message = without_secrets(&diagnostic.message, variables);
        let help = diagnostic.help.as_deref();
        diagnostic.help = help.map(|help| without_secrets(help, variables));
        if self.options.is_partial && !is_local {
            diagnostic.severity = Severity::Warning;
        }
        diagnostics.push(diagnostic);
    }

    /// Returns all paths of a project, listed once.
    pub(super) fn paths(&mut self, home: &FileHome) -> Result<Paths, IncludeError> {
        if let Some(paths) = self.paths.get(home) {
            return Ok(Arc::clone(paths));
        }
        let paths = self.options.includes.paths(home)?;
        self.paths.insert(home.clone(), Arc::clone(&paths));
        Ok(paths)
    }
}

fn key(target: &Target, from: &FileHome) -> Key {
    let is_local = matches!(target.location, IncludeLocation::Local { .. });
    (target.location.clone(), is_local.then(|| from.clone()))
}
