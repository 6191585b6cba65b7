//! Reads a pipeline file with everything it includes, level by level.
//!
//! All files that one level names are fetched together, so that a source can get them side by side;
//! then their inputs are put in, and what they include is the next level. Merging goes the other
//! way, from the deepest files up: what is included comes first, in its order, and the including
//! file on top.

use super::condition::Conditions;
use super::entry::{self, Entry};
use super::includer::Includer;
use super::locate::{self, Located, Target};
use super::read::{Tree, check_is_hash, without_include};
use super::refusal;
use super::shelf::{Shelf, ShelvedFile, Wish};
use super::{FileHome, IncludeError, IncludeLocation};
use crate::compose::merge;
use crate::inputs::{self, GivenInputs, Interpolation};
use crate::{IncludeRules, LoadOptions, Origins};
use executor_core::variable::JobVariables;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Lacks};
use yaml::source::{FileId, Span};
use yaml::{LoadedFile, Node};

/// How many wildcards may be looked up, those included that fit nothing and so count for no file.
const MOST_WILDCARDS: usize = 1_000;

/// Files that include one another.
pub(super) struct Forest<'o> {
    options: &'o LoadOptions<'o>,
    shelf: Shelf<'o>,
    conditions: Conditions<'o>,
    /// Every file each time it is included, those of a level after those of the level above it; the
    /// first is the pipeline's own.
    branches: Vec<Branch>,
    origins: Origins,
    /// The local files named so far; wildcards pass them over.
    seen: HashSet<(FileHome, String)>,
    nodes_left: u32,
    /// How many wildcards were met.
    wildcards: usize,
}

struct Branch {
    includer: Includer,
    content: Arc<Node>,
    /// The places of the files it includes, in their order.
    below: Vec<usize>,
}

/// A file that one on the level above includes.
struct Wanted {
    by: usize,
    target: Target,
    inputs: GivenInputs,
}

impl<'o> Forest<'o> {
    pub(super) fn new(options: &'o LoadOptions<'o>) -> Self {
        Self {
            options,
            shelf: Shelf::new(options),
            conditions: Conditions::new(options),
            branches: Vec::new(),
            origins: Origins::default(),
            seen: HashSet::new(),
            nodes_left: options.limits.nodes,
            wildcards: 0,
        }
    }

    /// Reads all that the first file includes and merges it.
    pub(super) fn grown(mut self, diagnostics: &mut Diagnostics) -> Tree {
        self.grow(diagnostics);
        let root = self.merged(diagnostics);
        Tree {
            root,
            origins: self.origins,
        }
    }

    /// Adds the first file of a child pipeline, which says nothing but what is included.
    pub(super) fn plant_child(&mut self, content: Arc<Node>) {
        self.branches.push(Branch {
            includer: Includer {
                home: FileHome::Own,
                path: String::new(),
                knows_parent: true,
                knows_variables: true,
            },
            content,
            below: Vec::new(),
        });
    }

    /// Adds a file with its inputs put in.
    pub(super) fn plant(
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
            let message = "the included files have too many values together";
            diagnostics.push(Diagnostic::error("includes-too-large", message).at(content.span));
            return None;
        };
        self.nodes_left = nodes_left;
        self.origins.add(id, &content, diagnostics.sources());
        self.branches.push(Branch {
            includer,
            content,
            below: Vec::new(),
        });
        Some(self.branches.len() - 1)
    }

    /// Reads level after level, until nothing is included any more.
    fn grow(&mut self, diagnostics: &mut Diagnostics) {
        let mut level = 0..1;
        let mut files_left = self.options.limits.included_files;
        while !level.is_empty() {
            let mut wanted = Vec::new();
            for branch in level.clone() {
                self.find_wanted(branch, &mut wanted, diagnostics);
            }
            if let Some(first) = wanted.get(files_left) {
                let most = self.options.limits.included_files;
                let message = format!("include: more than {most} files are included");
                let error = Diagnostic::error("too-many-includes", message).at(first.target.span);
                let help = "a file that is included twice counts twice; does one include itself?";
                diagnostics.push(error.with_help(help.to_owned()));
                diagnostics.lack(Lacks::Files);
                return;
            }
            files_left -= wanted.len();
            level = self.plant_all(wanted, diagnostics);
        }
    }

    /// Finds the files that one includes, and reports what is wrong with that.
    fn find_wanted(&mut self, by: usize, wanted: &mut Vec<Wanted>, diagnostics: &mut Diagnostics) {
        let branch = &self.branches[by];
        let includer = branch.includer.clone();
        let Some(include) = branch.content.get("include").map(Arc::clone) else {
            return;
        };
        let before = (wanted.len(), diagnostics.errors().count());
        for entry in self.entries(&include, &includer, diagnostics) {
            if self.is_included(&entry, &includer, diagnostics) {
                self.find_targets(by, &entry, &includer, wanted, diagnostics);
            }
        }
        let is_nothing = before == (wanted.len(), diagnostics.errors().count());
        // GitLab looks at what an `include` without any file looks like, and only there.
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
            diagnostics.lack(Lacks::Files);
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
        if self.options.include_rules == IncludeRules::PassOver {
            return true;
        }
        self.conditions.hold(rules, includer, diagnostics)
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
            diagnostics.lack(Lacks::Files);
            return Vec::new();
        }
        match locate::locate(entry, includer, self.options.dialect) {
            Located::Files(targets) => return targets,
            Located::Fitting(wildcard, span) if self.takes_wildcard(span, diagnostics) => {
                match self.shelf.paths(&includer.home) {
                    Ok(paths) => {
                        let root = &self.branches[0].includer;
                        let is_passed_over = |path: &str| {
                            let key = (includer.home.clone(), path.to_owned());
                            self.seen.contains(&key)
                                || (root.home == includer.home && root.path == path)
                        };
                        return locate::fitting(&wildcard, span, &paths, is_passed_over);
                    }
                    Err(error) => refuse_paths(entry, &error, diagnostics),
                }
            }
            Located::Fitting(..) => {}
            Located::Refused(refusal) => {
                diagnostics.push(refusal::of_entry(refusal, entry.span));
                diagnostics.lack(Lacks::Files);
            }
            Located::LeftOut => diagnostics.push(refusal::left_out(entry.span)),
        }
        Vec::new()
    }

    /// Returns whether one more wildcard may be looked up; the first that may not is reported.
    fn takes_wildcard(&mut self, span: Span, diagnostics: &mut Diagnostics) -> bool {
        self.wildcards += 1;
        if self.wildcards == MOST_WILDCARDS + 1 {
            let message = format!("include: there are more than {MOST_WILDCARDS} wildcards");
            diagnostics.push(Diagnostic::error("too-many-includes", message).at(span));
            diagnostics.lack(Lacks::Files);
        }
        self.wildcards <= MOST_WILDCARDS
    }

    /// Fetches the files of a level and adds them; returns where they are.
    fn plant_all(&mut self, wanted: Vec<Wanted>, diagnostics: &mut Diagnostics) -> Range<usize> {
        let wishes: Vec<Wish<'_>> = wanted
            .iter()
            .map(|wanted| Wish {
                target: &wanted.target,
                from: &self.branches[wanted.by].includer.home,
            })
            .collect();
        self.shelf.fetch(&wishes, diagnostics);

        let start = self.branches.len();
        for wanted in wanted {
            let from = &self.branches[wanted.by].includer.home;
            let Some(file) = self.shelf.file(&wanted.target, from) else {
                continue;
            };
            let by = wanted.by;
            match self.plant_shelved(&file, wanted, diagnostics) {
                Some(planted) => self.branches[by].below.push(planted),
                None => diagnostics.lack(Lacks::Files),
            }
        }
        start..self.branches.len()
    }

    fn plant_shelved(
        &mut self,
        file: &ShelvedFile,
        wanted: Wanted,
        diagnostics: &mut Diagnostics,
    ) -> Option<usize> {
        let by = &self.branches[wanted.by].includer;
        let includer = by.below(&wanted.target.location, file);
        // Its inputs are put in by the file that includes it.
        let none = JobVariables::default();
        let interpolation = Interpolation {
            given: wanted.inputs,
            site: Some(wanted.target.span),
            component: &file.component,
            variables: by.variables(self.options, &none),
        };
        self.plant(
            includer,
            file.id,
            &file.documents,
            &interpolation,
            diagnostics,
        )
    }

    /// Returns the contents of the files that a header names.
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
        let wishes: Vec<Wish<'_>> = wanted.iter().map(|target| Wish { target, from }).collect();
        self.shelf.fetch(&wishes, diagnostics);
        let contents = wanted.iter().map(|target| {
            let file = self.shelf.file(target, &includer.home)?;
            Some(Arc::clone(&file.documents.content))
        });
        contents.collect()
    }

    /// Merges all files into one.
    fn merged(&mut self, diagnostics: &mut Diagnostics) -> Arc<Node> {
        let mut keys_left = u32::MAX;
        let mut merged: Vec<Option<Arc<Node>>> = vec![None; self.branches.len()];
        for (index, branch) in self.branches.iter().enumerate().rev() {
            let mut base: Option<Arc<Node>> = None;
            for &below in &branch.below {
                let Some(over) = merged[below].take() else {
                    continue;
                };
                base = match base {
                    None => Some(over),
                    Some(base) => merge(base, &over, &mut keys_left),
                };
            }
            let own = without_include(&branch.content);
            merged[index] = match base {
                None => Some(own),
                Some(base) => merge(base, &own, &mut keys_left),
            };
        }
        let root = merged.swap_remove(0);
        root.unwrap_or_else(|| {
            let content = &self.branches[0].content;
            let message = "the included files have too many keys together";
            diagnostics.push(Diagnostic::error("includes-too-large", message).at(content.span));
            without_include(content)
        })
    }
}

fn refuse_paths(entry: &Entry, error: &IncludeError, diagnostics: &mut Diagnostics) {
    let message = format!("include: the files of the project cannot be listed: {error}");
    diagnostics.push(Diagnostic::error("include-unreadable", message).at(entry.span));
    diagnostics.lack(Lacks::Files);
}
