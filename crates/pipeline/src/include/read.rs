//! Reads a pipeline file and merges its includes.

use super::FileHome;
use super::includer::Includer;
use super::loader::IncludeLoader;
use super::tree::Tree;
use crate::LoadOptions;
use crate::inputs::{Interpolation, UserInputs};
use std::sync::Arc;
use yaml::diagnostic::Diagnostics;
use yaml::source::FileId;
use yaml::{Entry, Kind, LoadedFile, Mapping, Node};

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
    let inputs = UserInputs::read(options, diagnostics);
    let mut loader = IncludeLoader::new(options, &inputs);
    let interpolation = Interpolation {
        everywhere: &inputs.everywhere,
        chosen: &inputs.pipeline,
        ..Interpolation::new(&options.variables)
    };
    let root = Includer {
        home: FileHome::Own,
        path: path.to_owned(),
        knows_parent: false,
        knows_variables: true,
    };
    loader.add(root, id, documents, &interpolation, diagnostics)?;
    let tree = loader.load(diagnostics);
    inputs.report_unused(diagnostics);
    Some(tree)
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
    let inputs = UserInputs::default();
    let mut loader = IncludeLoader::new(options, &inputs);
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
