//! What happens to the tree of a pipeline file before its keywords are looked at: `extends`, then
//! `!reference`. (`include` and inputs will come before them.)

mod extends;
mod reference;

use crate::diagnostic::Diagnostics;
use crate::yaml::{Limits, Node};
use std::sync::Arc;

/// Applies everything that composes a file out of its own parts.
///
/// Returns nothing after an error.
pub(crate) fn compose(
    root: &Arc<Node>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    let extended = extends::apply(root, limits, diagnostics)?;
    reference::apply(&extended, limits, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::load;

    pub(super) fn compose_text(text: &str) -> (Option<Arc<Node>>, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.sources_mut().add("ci.yml", text);
        let limits = Limits::default();
        let loaded = load(file, &limits, &mut diagnostics).expect("the test's YAML is valid");
        (
            compose(&loaded.content, &limits, &mut diagnostics),
            diagnostics,
        )
    }
}
