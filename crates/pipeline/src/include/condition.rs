//! Whether the `rules` of an include let it in.

use super::FileHome;
use crate::LoadOptions;
use crate::diagnostic::{Diagnostic, Diagnostics, Lacks};
use crate::yaml::Node;

/// Returns whether the rules of an include hold; without one that does, it is left out.
pub(super) fn holds(
    rules: &Node,
    _home: &FileHome,
    _options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> bool {
    let message = "include: `rules` of an include are not supported yet";
    diagnostics.push(Diagnostic::error("unsupported-keyword", message).at(rules.span));
    diagnostics.lack(Lacks::Files);
    false
}
