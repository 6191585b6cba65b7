//! Resolves `extends` and then `!reference` in the tree of a pipeline, before its keywords are
//! read. (Inputs and `include` come before.)
//!
//! Both continue after a mistake, so that all mistakes are shown at once: a job with an unknown
//! base stays as written, and an unresolved reference is removed. Keywords that are missing as a
//! consequence are not reported.

mod extends;
mod merge;
mod reference;

pub(crate) use merge::merge;

use std::sync::Arc;
use yaml::diagnostic::Diagnostics;
use yaml::source::FileId;
use yaml::{Limits, Node};

/// Applies `extends` and references; `root` is a mapping. The `extends` of `server_file`, which a
/// server merged, is already applied and is ignored.
pub(crate) fn compose(
    root: &Arc<Node>,
    server_file: Option<FileId>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Arc<Node> {
    let extended = extends::apply(root, server_file, limits, diagnostics);
    reference::apply(&extended, limits, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml::load;

    pub(super) fn load_text(text: &str) -> Arc<Node> {
        let mut diagnostics = Diagnostics::default();
        load_with(text, &mut diagnostics)
    }

    fn load_with(text: &str, diagnostics: &mut Diagnostics) -> Arc<Node> {
        let file = diagnostics.sources_mut().add("ci.yml", text);
        let loaded = load(file, &Limits::default(), diagnostics);
        loaded.expect("the test's YAML is valid").content
    }

    pub(super) fn compose_text(text: &str) -> (Arc<Node>, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let root = load_with(text, &mut diagnostics);
        let composed = compose(&root, None, &Limits::default(), &mut diagnostics);
        (composed, diagnostics)
    }

    /// Checks one key of a text without mistakes.
    pub(super) fn check(text: &str, key: &str, expect: &serde_json::Value) {
        let (root, diagnostics) = compose_text(text);
        assert!(
            !diagnostics.has_errors(),
            "{text:?} is refused: {diagnostics}"
        );
        let value = root.get(key).unwrap();
        assert_eq!(&value.to_json(), expect, "composing {text:?}");
    }

    /// Checks the codes of a text's errors.
    pub(super) fn check_refused(text: &str, codes: &[&str]) {
        let (_, diagnostics) = compose_text(text);
        let found: Vec<&str> = diagnostics.errors().map(|error| error.code).collect();
        assert_eq!(found, codes, "{diagnostics}");
    }
}
