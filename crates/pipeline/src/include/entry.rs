//! Reads the entries of `include`, before any file is fetched.

use super::check;
use super::text::Text;
use crate::dialect::Dialect;
use crate::inputs::PassedInputs;
use executor_core::variable::JobVariables;
use std::fmt;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::Span;
use yaml::suggest::did_you_mean;
use yaml::{Kind, Mapping, Node};

/// The maximum number of entries of an `include`, including those that rules exclude.
const MOST_ENTRIES: usize = 10_000;

/// One entry of `include`.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The span of the path or URL.
    pub(super) span: Span,
    /// The files it names.
    pub(super) source: Source,
    /// The inputs it passes to the file.
    pub(super) inputs: PassedInputs,
    /// The value of `rules`.
    pub(super) rules: Option<Arc<Node>>,
}

impl Entry {
    /// Refuses names that cannot be those of pipeline files.
    ///
    /// Called only for entries that their rules select: a name may contain a variable that the
    /// rules test.
    pub(super) fn check_names(&self, diagnostics: &mut Diagnostics) -> Option<()> {
        match &self.source {
            Source::Local(file) => check::extension(file, diagnostics),
            Source::Template(name) => check::template(name, diagnostics),
            Source::Project {
                project,
                files,
                reference,
            } => {
                check::not_empty(project, "the project", diagnostics)?;
                if let Some(reference) = reference {
                    check::not_empty(reference, "the ref", diagnostics)?;
                }
                let mut files = files.iter();
                files.try_for_each(|file| check::extension(file, diagnostics))
            }
            Source::Remote { url, .. } => {
                check::extension(url, diagnostics)?;
                check::url(url, diagnostics)
            }
            Source::Component(address) => check::not_empty(address, "the component", diagnostics),
            Source::Artifact { .. } => Some(()),
        }
    }
}

/// The files an entry names.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Local(Text),
    Project {
        project: Text,
        files: Vec<Text>,
        reference: Option<Text>,
    },
    Remote {
        url: Text,
        integrity: Option<String>,
        cache: Option<u64>,
    },
    Template(Text),
    Component(Text),
    /// A file from the artifacts of a job, allowed only under `trigger`.
    Artifact {
        job: Text,
        path: Text,
    },
}

/// The keys that name files. The last one is bitrab's name for `remote`.
const SOURCES: [&str; 7] = [
    "local",
    "project",
    "remote",
    "template",
    "component",
    "artifact",
    "url",
];
/// The other keys.
const DETAILS: [&str; 7] = [
    "file",
    "ref",
    "job",
    "inputs",
    "rules",
    "integrity",
    "cache",
];

/// Reads entries of `include`; invalid ones are reported and left out.
#[derive(Debug)]
pub(super) struct Reader<'r> {
    pub(super) variables: &'r JobVariables,
    pub(super) dialect: Dialect,
    pub(super) diagnostics: &'r mut Diagnostics,
}

impl Reader<'_> {
    /// Reads the value of `include`.
    pub(super) fn entries(&mut self, node: &Node) -> Vec<Entry> {
        match &node.kind {
            Kind::Null => Vec::new(),
            Kind::String(text) if text.is_empty() => Vec::new(),
            Kind::Sequence(items) if items.len() > MOST_ENTRIES => {
                let message = format!("include: there are more than {MOST_ENTRIES} entries");
                let error = Diagnostic::error("too-many-includes", message);
                self.diagnostics.push(error.at(items[MOST_ENTRIES].span));
                Vec::new()
            }
            Kind::Sequence(items) => {
                let items = items.iter().filter(|item| !item.is_null());
                items.filter_map(|item| self.entry(item)).collect()
            }
            _ => self.entry(node).into_iter().collect(),
        }
    }

    fn entry(&mut self, node: &Node) -> Option<Entry> {
        let ((source, span), inputs, rules) = match &node.kind {
            Kind::String(text) => {
                let text = Text::new(text, node.span, self.variables);
                (
                    (self.of_text(text)?, node.span),
                    PassedInputs::default(),
                    None,
                )
            }
            Kind::Mapping(entries) => {
                let source = self.of_mapping(node, entries);
                let inputs = self.inputs(entries);
                (source?, inputs?, value(entries, "rules").cloned())
            }
            _ => {
                let kind = node.kind_name();
                self.refuse(
                    node.span,
                    format!("should be a string or a hash, not {kind}"),
                );
                return None;
            }
        };
        Some(Entry {
            span,
            source,
            inputs,
            rules,
        })
    }

    /// Reads an entry that is a text: a URL or a path.
    fn of_text(&mut self, text: Text) -> Option<Source> {
        if check::is_url(&text.value) {
            return self.remote(text, &Mapping::new());
        }
        Some(Source::Local(text))
    }

    fn of_mapping(&mut self, node: &Node, entries: &Mapping) -> Option<(Source, Span)> {
        let is_given = |key: &&str| {
            let value = value(entries, key);
            value.is_some_and(|value| !value.is_blank())
        };
        let given: Vec<&str> = self.sources().filter(is_given).collect();
        let &[key] = given.as_slice() else {
            self.refuse_sources(node, entries, &given);
            return None;
        };
        self.check_keys(entries);
        let text = self.text(entries, key)?;
        let span = text.span;
        let source = match key {
            "local" => Source::Local(text),
            "project" => self.project(text, entries)?,
            "template" => Source::Template(text),
            "component" => Source::Component(text),
            "artifact" => {
                check::extension(&text, self.diagnostics)?;
                let Some(job) = self.optional_text(entries, "job")? else {
                    let words = "needs `job`, the job that creates the artifact";
                    self.refuse(node.span, words);
                    return None;
                };
                let path = text.without_slash();
                Source::Artifact { job, path }
            }
            _ => self.remote(text, entries)?,
        };
        Some((source, span))
    }

    /// Refuses an entry that names none or several kinds of files.
    fn refuse_sources(&mut self, node: &Node, entries: &Mapping, given: &[&str]) {
        let names: Vec<String> = self.sources().map(|key| format!("`{key}`")).collect();
        let (count, help) = if given.is_empty() {
            let mut keys = entries.keys();
            let near = keys.find_map(|key| did_you_mean(key, self.sources()));
            ("none".to_owned(), near)
        } else {
            let help = "split it into several entries".to_owned();
            (format!("`{}`", given.join("` and `")), Some(help))
        };
        let message = format!(
            "include:include config needs exactly one of {}, but has {count}",
            names.join(", ")
        );
        let error = Diagnostic::error("invalid-include", message).at(node.span);
        self.diagnostics.push(error.with_help(help));
    }

    fn sources(&self) -> impl Iterator<Item = &'static str> + use<> {
        let count = match self.dialect {
            Dialect::GitLab => SOURCES.len() - 1,
            Dialect::Bitrab => SOURCES.len(),
        };
        SOURCES.into_iter().take(count)
    }

    fn project(&mut self, project: Text, entries: &Mapping) -> Option<Source> {
        let files = match value(entries, "file").filter(|file| !file.is_blank()) {
            None => {
                let words = "must specify the `file` of the project";
                self.refuse(project.span, words);
                return None;
            }
            Some(node) => match node.as_sequence() {
                None => vec![self.as_text(node, "file")?],
                Some(items) => {
                    let texts = items.iter().map(|item| self.as_text(item, "file"));
                    texts.collect::<Option<Vec<Text>>>()?
                }
            },
        };
        let reference = self.optional_text(entries, "ref")?;
        Some(Source::Project {
            project,
            files,
            reference,
        })
    }

    fn remote(&mut self, url: Text, entries: &Mapping) -> Option<Source> {
        let integrity = match value(entries, "integrity") {
            None => None,
            Some(node) => Some(check::integrity(node, self.diagnostics)?),
        };
        let cache = match value(entries, "cache") {
            None => None,
            Some(node) => check::cache(node, self.diagnostics)?,
        };
        Some(Source::Remote {
            url,
            integrity,
            cache,
        })
    }

    fn inputs(&mut self, entries: &Mapping) -> Option<PassedInputs> {
        let Some(node) = value(entries, "inputs") else {
            return Some(PassedInputs::default());
        };
        let inputs = node.as_mapping().map(PassedInputs::from_mapping);
        if inputs.is_none() {
            let kind = node.kind_name();
            self.refuse(
                node.span,
                format!("has `inputs` that should be a hash, not {kind}"),
            );
        }
        inputs
    }

    fn check_keys(&mut self, entries: &Mapping) {
        let known: Vec<&str> = self.sources().chain(DETAILS).collect();
        for (key, entry) in entries {
            if !known.contains(&&**key) {
                let message = format!("include:include config contains unknown keys: {key}");
                let error = Diagnostic::error("unknown-keyword", message).at(entry.key_span);
                let help = did_you_mean(key, known.iter().copied());
                self.diagnostics.push(error.with_help(help));
            }
        }
        let is_remote = ["remote", "url"]
            .iter()
            .any(|key| entries.contains_key(key));
        for key in ["integrity", "cache"] {
            if let Some(entry) = entries.get(key).filter(|_| !is_remote) {
                self.refuse(
                    entry.key_span,
                    format!("can have `{key}` with `remote` only"),
                );
            }
        }
    }

    fn text(&mut self, entries: &Mapping, key: &str) -> Option<Text> {
        self.as_text(value(entries, key)?, key)
    }

    /// Returns the text under a key; the outer `None` means a mistake, the inner one an absent key.
    #[expect(
        clippy::option_option,
        reason = "a mistake and an absent key are not the same"
    )]
    fn optional_text(&mut self, entries: &Mapping, key: &str) -> Option<Option<Text>> {
        match value(entries, key).filter(|node| !node.is_blank()) {
            None => Some(None),
            Some(node) => self.as_text(node, key).map(Some),
        }
    }

    fn as_text(&mut self, node: &Node, key: &str) -> Option<Text> {
        let text = node.as_str();
        if text.is_none() {
            let kind = node.kind_name();
            let message =
                format!("include:include config has a `{key}` that should be a string, not {kind}");
            let error = Diagnostic::error("invalid-include", message).at(node.span);
            let is_scalar = matches!(node.kind, Kind::Bool(_) | Kind::Int(_) | Kind::Float(_));
            let help = is_scalar.then(|| "put quotes around it to make it a string".to_owned());
            self.diagnostics.push(error.with_help(help));
        }
        text.map(|text| Text::new(text, node.span, self.variables))
    }

    fn refuse(&mut self, span: Span, words: impl fmt::Display) {
        let message = format!("include:include config {words}");
        self.diagnostics
            .push(Diagnostic::error("invalid-include", message).at(span));
    }
}

fn value<'e>(entries: &'e Mapping, key: &str) -> Option<&'e Arc<Node>> {
    let value = entries.get(key).map(|entry| &entry.value);
    value.filter(|value| !value.is_null())
}
