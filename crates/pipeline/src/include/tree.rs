use crate::Origins;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::FileId;
use yaml::{Kind, Mapping, Node};

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
