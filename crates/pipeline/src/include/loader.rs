//! Reads a pipeline file with everything it includes, level by level.
//!
//! All files of a level are fetched together, so that a source can fetch them concurrently; then
//! their inputs are interpolated, and their includes are the next level. Merging goes from the
//! deepest files up: the included files in order, then the including file over them.

use super::condition::Conditions;
use super::entry::{self, Entry};
use super::file_cache::{CachedFile, FileCache, FileRequest};
use super::includer::Includer;
use super::locate::{self, Located, Target};
use super::refusal;
use super::tree::{Tree, check_is_hash, without_include};
use super::{FileHome, IncludeError, IncludeLocation};
use crate::compose::merge;
use crate::inputs::{self, Interpolation, PassedInputs, UserInputs};
use crate::{IncludeRules, LoadOptions, Origins};
use executor_core::variable::JobVariables;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Severity, Unread};
use yaml::source::{FileId, Span};
use yaml::{LoadedFile, Node};

/// The maximum number of wildcards, including those that match no file.
const MOST_WILDCARDS: usize = 1_000;

/// Loads a file and the files it includes.
pub(super) struct IncludeLoader<'o> {
    options: &'o LoadOptions<'o>,
    inputs: &'o UserInputs,
    cache: FileCache<'o>,
    conditions: Conditions<'o>,
    /// Every inclusion of a file, level by level; the first is the pipeline's own file.
    inclusions: Vec<Inclusion>,
    origins: Origins,
    /// The local files named so far, which wildcards skip.
    seen: HashSet<(FileHome, String)>,
    nodes_left: u32,
    /// The number of wildcards so far.
    wildcards: usize,
}

struct Inclusion {
    includer: Includer,
    content: Arc<Node>,
    /// The indices of the files it includes, in order.
    included: Vec<usize>,
}

/// A file that an inclusion of the level above names.
struct Wanted {
    by: usize,
    target: Target,
    inputs: PassedInputs,
}

impl<'o> IncludeLoader<'o> {
    pub(super) fn new(options: &'o LoadOptions<'o>, inputs: &'o UserInputs) -> Self {
        Self {
            options,
            inputs,
            cache: FileCache::new(options),
            conditions: Conditions::new(options),
            inclusions: Vec::new(),
            origins: Origins::default(),
            seen: HashSet::new(),
            nodes_left: options.limits.nodes,
            wildcards: 0,
        }
    }

    /// Reads all includes and merges them.
    pub(super) fn load(mut self, diagnostics: &mut Diagnostics) -> Tree {
        self.load_levels(diagnostics);
        let root = self.merged(diagnostics);
        Tree {
            root,
            origins: self.origins,
        }
    }

    /// Adds the root of a child pipeline, which consists of includes only.
    pub(super) fn add_child_root(&mut self, content: Arc<Node>) {
        self.inclusions.push(Inclusion {
            includer: Includer {
                home: FileHome::Own,
                path: String::new(),
                knows_parent: true,
                knows_variables: true,
            },
            content,
            included: Vec::new(),
        });
    }

    /// Adds a file after the interpolation of its inputs.
    pub(super) fn add(
        &mut self,
        includer: Includer,
        id: FileId,
        documents: &LoadedFile,
        interpolation: &Interpolation<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<usize> {
        let is_component = !interpolation.component.is_empty();
        let mut header_files = |include: &Arc<Node>, diagnostics: &mut Diagnostics| {
            if is_component {
                diagnostics.push(refusal::of_component_header(include.span));
                return None;
            }
            self.header_files(include, &includer, diagnostics)
        };
        let content = inputs::apply(documents, interpolation, &mut header_files, diagnostics)?;
        check_is_hash(&content, diagnostics)?;
        let Some(nodes_left) = self.nodes_left.checked_sub(content.weight()) else {
            let message = "the included files have too many values in total";
            diagnostics.push(Diagnostic::error("includes-too-large", message).at(content.span));
            return None;
        };
        self.nodes_left = nodes_left;
        self.origins.add(id, &content, diagnostics.sources());
        self.inclusions.push(Inclusion {
            includer,
            content,
            included: Vec::new(),
        });
        Some(self.inclusions.len() - 1)
    }

    /// Reads one level of includes after the other.
    fn load_levels(&mut self, diagnostics: &mut Diagnostics) {
        let mut level = 0..1;
        let mut files_left = self.options.limits.included_files;
        while !level.is_empty() {
            let mut wanted = Vec::new();
            for inclusion in level.clone() {
                self.find_wanted(inclusion, &mut wanted, diagnostics);
            }
            if let Some(first) = wanted.get(files_left) {
                let most = self.options.limits.included_files;
                let message = format!("include: more than {most} files are included");
                let error = Diagnostic::error("too-many-includes", message).at(first.target.span);
                let help = "a file that is included twice counts twice; check for a file that includes itself";
                diagnostics.push(error.with_help(help.to_owned()));
                diagnostics.note_unread(Unread::Files);
                return;
            }
            files_left -= wanted.len();
            level = self.add_all(wanted, diagnostics);
        }
    }

    /// Finds the files that one inclusion includes, and reports mistakes.
    fn find_wanted(&mut self, by: usize, wanted: &mut Vec<Wanted>, diagnostics: &mut Diagnostics) {
        let inclusion = &self.inclusions[by];
        let includer = inclusion.includer.clone();
        let Some(include) = inclusion.content.get("include").map(Arc::clone) else {
            return;
        };
        let before = (wanted.len(), diagnostics.errors().count());
        for entry in self.entries(&include, &includer, diagnostics) {
            if self.is_included(&entry, &includer, diagnostics) {
                self.find_targets(by, &entry, &includer, wanted, diagnostics);
            }
        }
        let is_nothing = before == (wanted.len(), diagnostics.errors().count());
        // GitLab validates the type of `include` only if it includes no file.
        if by == 0 && is_nothing && include.as_mapping().is_some() {
            let message = "include config should be an array or a string when it includes nothing";
            let error = Diagnostic::error("invalid-include", message).at(include.span);
            let help = "put a `-` before it, to make it a list of one entry";
            diagnostics.push(error.with_help(help.to_owned()));
        }
    }

    fn entries(
        &self,
        include: &Node,
        includer: &Includer,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Entry> {
        let errors = diagnostics.errors().count();
        let none = JobVariables::default();
        let mut reader = entry::Reader {
            variables: includer.variables(self.options, &none),
            dialect: self.options.dialect,
            diagnostics,
        };
        let entries = reader.entries(include);
        if diagnostics.errors().count() > errors {
            diagnostics.note_unread(Unread::Files);
        }
        entries
    }

    fn is_included(
        &self,
        entry: &Entry,
        includer: &Includer,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let Some(rules) = &entry.rules else {
            return true;
        };
        if self.options.include_rules == IncludeRules::Ignore {
            return true;
        }
        self.conditions.select(rules, includer, diagnostics)
    }

    fn find_targets(
        &mut self,
        by: usize,
        entry: &Entry,
        includer: &Includer,
        wanted: &mut Vec<Wanted>,
        diagnostics: &mut Diagnostics,
    ) {
        for target in self.targets(entry, includer, diagnostics) {
            if let IncludeLocation::Local { path } = &target.location {
                self.seen.insert((includer.home.clone(), path.clone()));
            }
            wanted.push(Wanted {
                by,
                target,
                inputs: entry.inputs.clone(),
            });
        }
    }

    fn targets(
        &mut self,
        entry: &Entry,
        includer: &Includer,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Target> {
        if entry.check_names(diagnostics).is_none() {
            diagnostics.note_unread(Unread::Files);
            return Vec::new();
        }
        match locate::locate(entry, includer, self.options.dialect) {
            Located::Files(targets) => return targets,
            Located::Matching(wildcard, span) if self.takes_wildcard(span, diagnostics) => {
                match self.cache.paths(&includer.home) {
                    Ok(paths) => {
                        let root = &self.inclusions[0].includer;
                        let is_skipped = |path: &str| {
                            let key = (includer.home.clone(), path.to_owned());
                            self.seen.contains(&key)
                                || (root.home == includer.home && root.path == path)
                        };
                        return locate::matching(&wildcard, span, &paths, is_skipped);
                    }
                    Err(error) => refuse_paths(entry, &error, diagnostics),
                }
            }
            Located::Matching(..) => {}
            Located::Refused(refusal) => {
                let found = refusal::of_entry(refusal, entry.span);
                if found.severity == Severity::Error {
                    diagnostics.note_unread(Unread::Files);
                }
                diagnostics.push(found);
            }
            Located::Ignored => diagnostics.push(refusal::of_ignored(entry.span)),
        }
        Vec::new()
    }

    /// Counts a wildcard; returns whether the limit permits it, and reports the first excess.
    fn takes_wildcard(&mut self, span: Span, diagnostics: &mut Diagnostics) -> bool {
        self.wildcards += 1;
        if self.wildcards == MOST_WILDCARDS + 1 {
            let message = format!("include: there are more than {MOST_WILDCARDS} wildcards");
            diagnostics.push(Diagnostic::error("too-many-includes", message).at(span));
            diagnostics.note_unread(Unread::Files);
        }
        self.wildcards <= MOST_WILDCARDS
    }

    /// Fetches the files of a level and adds them; returns their indices.
    fn add_all(&mut self, wanted: Vec<Wanted>, diagnostics: &mut Diagnostics) -> Range<usize> {
        let requests: Vec<FileRequest<'_>> = wanted
            .iter()
            .map(|wanted| FileRequest {
                target: &wanted.target,
                from: &self.inclusions[wanted.by].includer.home,
            })
            .collect();
        self.cache.fetch(&requests, diagnostics);

        let start = self.inclusions.len();
        for wanted in wanted {
            let from = &self.inclusions[wanted.by].includer.home;
            let Some(file) = self.cache.file(&wanted.target, from) else {
                continue;
            };
            let by = wanted.by;
            match self.add_cached(&file, wanted, diagnostics) {
                Some(added) => self.inclusions[by].included.push(added),
                None => diagnostics.note_unread(Unread::Files),
            }
        }
        start..self.inclusions.len()
    }

    fn add_cached(
        &mut self,
        file: &CachedFile,
        wanted: Wanted,
        diagnostics: &mut Diagnostics,
    ) -> Option<usize> {
        let by = &self.inclusions[wanted.by].includer;
        let includer = by.of_included(
            &wanted.target.location,
            file.home.clone(),
            file.path.clone(),
        );
        // The including file determines the variables of the inputs it passes.
        let none = JobVariables::default();
        let interpolation = Interpolation {
            passed: wanted.inputs,
            everywhere: &self.inputs.everywhere,
            chosen: self.inputs.of_component(&file.component),
            site: Some(wanted.target.span),
            component: &file.component,
            variables: by.variables(self.options, &none),
        };
        self.add(
            includer,
            file.id,
            &file.documents,
            &interpolation,
            diagnostics,
        )
    }

    /// Returns the contents of the files that a header includes.
    fn header_files(
        &mut self,
        include: &Arc<Node>,
        includer: &Includer,
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<Arc<Node>>> {
        let mut wanted: Vec<Target> = Vec::new();
        for entry in self.entries(include, includer, diagnostics) {
            wanted.extend(self.targets(&entry, includer, diagnostics));
        }
        let most = self.options.limits.included_files;
        if let Some(first) = wanted.get(most) {
            let message = format!("include: a header includes more than {most} files");
            diagnostics.push(Diagnostic::error("too-many-includes", message).at(first.span));
            return None;
        }
        let from = &includer.home;
        let requests: Vec<FileRequest<'_>> = wanted
            .iter()
            .map(|target| FileRequest { target, from })
            .collect();
        self.cache.fetch(&requests, diagnostics);
        let contents = wanted.iter().map(|target| {
            let file = self.cache.file(target, &includer.home)?;
            Some(Arc::clone(&file.documents.content))
        });
        contents.collect()
    }

    /// Merges all files into one.
    fn merged(&mut self, diagnostics: &mut Diagnostics) -> Arc<Node> {
        let mut keys_left = u32::MAX;
        let mut merged: Vec<Option<Arc<Node>>> = vec![None; self.inclusions.len()];
        for (index, inclusion) in self.inclusions.iter().enumerate().rev() {
            let mut base: Option<Arc<Node>> = None;
            for &included in &inclusion.included {
                let Some(over) = merged[included].take() else {
                    continue;
                };
                base = match base {
                    None => Some(over),
                    Some(base) => merge(base, &over, &mut keys_left),
                };
            }
            let own = without_include(&inclusion.content);
            merged[index] = match base {
                None => Some(own),
                Some(base) => merge(base, &own, &mut keys_left),
            };
        }
        let root = merged.swap_remove(0);
        root.unwrap_or_else(|| {
            let content = &self.inclusions[0].content;
            let message = "the included files have too many keys in total";
            diagnostics.push(Diagnostic::error("includes-too-large", message).at(content.span));
            without_include(content)
        })
    }
}

fn refuse_paths(entry: &Entry, error: &IncludeError, diagnostics: &mut Diagnostics) {
    let message = format!("include: the files of the project cannot be listed: {error}");
    diagnostics.push(Diagnostic::error("include-unreadable", message).at(entry.span));
    diagnostics.note_unread(Unread::Files);
}
