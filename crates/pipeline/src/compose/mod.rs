//! What happens to the tree of a pipeline before its keywords are looked at: `extends`, then
//! `!reference`. (Inputs and `include` come before them.)
//!
//! Both go on after a mistake, so that all mistakes are shown at once: a job whose base is not there
//! stays as it is written, and a reference that leads nowhere is left out. What the job lacks then
//! is not reported again.

mod extends;
mod merge;
mod reference;

pub(crate) use merge::merge;

use std::sync::Arc;
use yaml::diagnostic::Diagnostics;
use yaml::source::FileId;
use yaml::{Limits, Node};

/// Applies everything that composes a file out of its own parts; `root` is a mapping. What the file
/// `settled` says under `extends` was applied already, and is left as it is.
pub(crate) fn compose(
    root: &Arc<Node>,
    settled: Option<FileId>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Arc<Node> {
    let extended = extends::apply(root, settled, limits, diagnostics);
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

    /// Checks the mistakes of a text by their codes.
    pub(super) fn check_refused(text: &str, codes: &[&str]) {
        let (_, diagnostics) = compose_text(text);
        let found: Vec<&str> = diagnostics.errors().map(|error| error.code).collect();
        assert_eq!(found, codes, "{diagnostics}");
    }
}
