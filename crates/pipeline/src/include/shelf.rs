use super::locate::Target;
use super::text::without_secrets;
use super::{FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludedFile};
use crate::LoadOptions;
use crate::repository::Paths;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Lacks};
use yaml::source::FileId;
use yaml::{LoadedFile, load};

/// All files that were included, each fetched and parsed once, however often it is named.
#[derive(Debug)]
pub(super) struct Shelf<'o> {
    options: &'o LoadOptions<'o>,
    files: HashMap<Key, Option<Arc<ShelvedFile>>>,
    paths: HashMap<FileHome, Paths>,
    bytes_left: usize,
}

/// What tells files apart: what names them and, for local ones, where that stands.
type Key = (IncludeLocation, Option<FileHome>);

/// A file that was fetched and parsed; its inputs are not put in.
#[derive(Debug)]
pub(super) struct ShelvedFile {
    pub(super) id: FileId,
    pub(super) documents: LoadedFile,
    pub(super) home: FileHome,
    /// Its path in its home; empty outside of projects.
    pub(super) path: String,
    /// What it can know of itself as a component.
    pub(super) component: Vec<(String, String)>,
}

/// A file that is wanted, and by whom.
#[derive(Debug)]
pub(super) struct Wish<'w> {
    pub(super) target: &'w Target,
    pub(super) from: &'w FileHome,
}

impl<'o> Shelf<'o> {
    pub(super) fn new(options: &'o LoadOptions<'o>) -> Self {
        Self {
            options,
            files: HashMap::new(),
            paths: HashMap::new(),
            bytes_left: options.limits.included_bytes,
        }
    }

    /// Returns a file that was fetched before; nothing if that failed.
    pub(super) fn file(&self, target: &Target, from: &FileHome) -> Option<Arc<ShelvedFile>> {
        self.files.get(&key(target, from)).cloned().flatten()
    }

    /// Fetches the files that are not there yet, all at once. A failure is reported where the file
    /// is named first.
    pub(super) fn fetch(&mut self, wishes: &[Wish<'_>], diagnostics: &mut Diagnostics) {
        let mut new: Vec<&Wish<'_>> = Vec::new();
        for wish in wishes {
            if let Entry::Vacant(vacant) = self.files.entry(key(wish.target, wish.from)) {
                vacant.insert(None);
                new.push(wish);
            }
        }
        if new.is_empty() {
            return;
        }
        let requests: Vec<IncludeRequest> = new
            .iter()
            .map(|wish| IncludeRequest {
                location: wish.target.location.clone(),
                from: wish.from.clone(),
            })
            .collect();
        let found = self.options.includes.fetch(&requests);
        for (wish, found) in new.into_iter().zip(found) {
            let shelved = match found {
                Ok(found) => self.shelve(wish, found, diagnostics),
                Err(error) => {
                    self.refuse(wish, &error, diagnostics);
                    None
                }
            };
            match shelved {
                None => diagnostics.lack(Lacks::Files),
                Some(file) => {
                    let key = key(wish.target, wish.from);
                    self.files.insert(key, Some(Arc::new(file)));
                }
            }
        }
    }

    fn shelve(
        &mut self,
        wish: &Wish<'_>,
        found: IncludedFile,
        diagnostics: &mut Diagnostics,
    ) -> Option<ShelvedFile> {
        let limits = &self.options.limits;
        let length = found.text.len();
        let bytes_left = self.bytes_left.checked_sub(length);
        if length > limits.bytes || bytes_left.is_none() {
            let message = format!(
                "include: `{}` has {length} bytes; at most {} are read of a file, and {} of all \
                 included ones",
                wish.target.shown, limits.bytes, limits.included_bytes
            );
            diagnostics.push(Diagnostic::error("file-too-large", message).at(wish.target.span));
            return None;
        }
        self.bytes_left = bytes_left.unwrap_or_default();
        if found.text.trim().is_empty() {
            diagnostics.push(super::refusal::of_empty(wish.target));
            return None;
        }
        let path = match &wish.target.location {
            IncludeLocation::Local { path } => path.clone(),
            IncludeLocation::Project { file, .. } => file.clone(),
            _ => String::new(),
        };
        let sources = diagnostics.sources_mut();
        let name = without_secrets(&found.name, &self.options.variables);
        let id = sources.add_included(name, &*found.text, wish.target.span);
        Some(ShelvedFile {
            id,
            documents: load(id, limits, diagnostics)?,
            home: found.home,
            path,
            component: found.component,
        })
    }

    fn refuse(&mut self, wish: &Wish<'_>, error: &IncludeError, diagnostics: &mut Diagnostics) {
        let is_local = matches!(wish.target.location, IncludeLocation::Local { .. });
        let is_missing = is_local && *error == IncludeError::Missing;
        let paths = if is_missing {
            self.paths(wish.from).unwrap_or_default()
        } else {
            Paths::default()
        };
        let paths = paths.iter().map(String::as_str);
        let paths = paths.filter(|path| super::check::is_yaml(path));
        let mut finding = super::refusal::of_file(error, wish.target, paths);
        let variables = &self.options.variables;
        finding.message = without_secrets(&finding.message, variables);
        let help = finding.help.as_deref();
        finding.help = help.map(|help| without_secrets(help, variables));
        diagnostics.push(finding);
    }

    /// Returns all paths of a project, asked for once.
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
