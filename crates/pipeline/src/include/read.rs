//! Reads a pipeline file and merges its includes.

use super::FileHome;
use super::includer::Includer;
use super::tree::IncludeLoader;
use crate::inputs::{GivenInputs, Interpolation};
use crate::{LoadOptions, Origins};
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::FileId;
use yaml::{Entry, Kind, LoadedFile, Mapping, Node};

/// A pipeline file with its includes merged.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The merged content, without the key `include`.
    pub(crate) root: Arc<Node>,
    /// The origins of all values.
    pub(crate) origins: Origins,
}

impl Tree {
    /// Returns the tree of a file whose includes are already merged.
    pub(crate) fn of_whole(
        id: FileId,
        content: &Arc<Node>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        check_is_hash(content, diagnostics)?;
        let mut origins = Origins::default();
        origins.add(id, content, diagnostics.sources());
        let root = without_include(content);
        Some(Self { root, origins })
    }
}

/// Interpolates the inputs of a file, reads all files it includes and merges them.
///
/// Returns nothing when the file itself is unusable; after a mistake in an include it returns the
/// rest.
pub(crate) fn read(
    path: &str,
    id: FileId,
    documents: &LoadedFile,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Tree> {
    let mut loader = IncludeLoader::new(options);
    let interpolation = Interpolation {
        given: GivenInputs::from_arguments(&options.inputs, diagnostics),
        ..Interpolation::new(&options.variables)
    };
    let root = Includer {
        home: FileHome::Own,
        path: path.to_owned(),
        knows_parent: false,
        knows_variables: true,
    };
    loader.add(root, id, documents, &interpolation, diagnostics)?;
    Some(loader.load(diagnostics))
}

/// Reads the files of a child pipeline; `include` is the value of `trigger:include`.
pub(crate) fn read_child(
    include: &Arc<Node>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Tree {
    let key: Arc<str> = "include".into();
    let entry = Entry {
        key_span: include.span,
        key_is_text: true,
        merged: false,
        value: flattened(include),
    };
    let entries: Mapping = std::iter::once((key, entry)).collect();
    let mut loader = IncludeLoader::new(options);
    let whole = Node::new(Kind::Mapping(entries), include.span);
    loader.add_child_root(Arc::new(whole));
    loader.load(diagnostics)
}

/// Flattens nested lists, which references can cause.
fn flattened(include: &Arc<Node>) -> Arc<Node> {
    fn add(items: &[Arc<Node>], flat: &mut Vec<Arc<Node>>) {
        for item in items {
            match item.as_sequence() {
                Some(items) => add(items, flat),
                None => flat.push(Arc::clone(item)),
            }
        }
    }
    let Some(items) = include.as_sequence() else {
        return Arc::clone(include);
    };
    let mut flat = Vec::with_capacity(items.len());
    add(items, &mut flat);
    Arc::new(Node::new(Kind::Sequence(flat), include.span))
}

/// Refuses content that is not a mapping.
pub(super) fn check_is_hash(content: &Node, diagnostics: &mut Diagnostics) -> Option<()> {
    if content.as_mapping().is_some() {
        return Some(());
    }
    let kind = content.kind_name();
    let message = format!("a pipeline file is a hash of jobs and keywords, not {kind}");
    diagnostics.push(Diagnostic::error("invalid-file", message).at(content.span));
    None
}

/// Returns a file's content without its `include`.
pub(super) fn without_include(content: &Arc<Node>) -> Arc<Node> {
    let Some(entries) = content.as_mapping() else {
        return Arc::clone(content);
    };
    if !entries.contains_key("include") {
        return Arc::clone(content);
    }
    let others = entries.iter().filter(|(key, _)| &***key != "include");
    let others: Mapping = others
        .map(|(key, entry)| (Arc::clone(key), entry.clone()))
        .collect();
    Arc::new(Node::new(Kind::Mapping(others), content.span))
}
