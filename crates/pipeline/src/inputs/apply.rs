use super::given::{GivenInputs, InputVariable};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml::{LoadedFile, Node};
use std::fmt;
use std::sync::Arc;

/// What comes into one file from outside.
pub(crate) struct Interpolation<'a> {
    /// The values given for its inputs.
    pub(crate) given: GivenInputs,
    /// What a component knows of itself, by name; empty for other files.
    pub(crate) component: &'a [(String, String)],
    /// Looks up a variable for `expand_vars`.
    pub(crate) variables: &'a dyn Fn(&str) -> Option<InputVariable>,
}

/// Finds the files that a header names: given the value of `spec:include`, whose shape was
/// checked, it returns their contents in order, or nothing after it reported an error.
pub(crate) type HeaderFiles<'a> =
    dyn FnMut(&Arc<Node>, &mut Diagnostics) -> Option<Vec<Arc<Node>>> + 'a;

impl Default for Interpolation<'_> {
    fn default() -> Self {
        Self {
            given: GivenInputs::default(),
            component: &[],
            variables: &|_| None,
        }
    }
}

impl fmt::Debug for Interpolation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpolation")
            .field("given", &self.given)
            .field("component", &self.component)
            .finish_non_exhaustive()
    }
}

/// Refuses to find files for headers.
pub(crate) fn no_header_files(
    include: &Arc<Node>,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Arc<Node>>> {
    let message = "header:spec:include files are not fetched here";
    diagnostics.push(Diagnostic::error("include-not-fetched", message).at(include.span));
    None
}

/// Returns the content of a file with its inputs put in; nothing after an error.
pub(crate) fn apply(
    file: &LoadedFile,
    interpolation: &Interpolation<'_>,
    _header_files: &mut HeaderFiles<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    if let Some(header) = &file.header {
        let message = "`spec` is not supported yet";
        let spec = header.as_mapping().and_then(|header| header.get("spec"));
        let span = spec.map_or(header.span, |spec| spec.key_span);
        diagnostics.push(Diagnostic::error("unsupported-keyword", message).at(span));
        return None;
    }
    if let Some(given) = interpolation.given.iter().next() {
        let message = "inputs are given to a file that has no `spec` header to declare them";
        diagnostics.push(Diagnostic::error("inputs-without-header", message).at(given.span));
        return None;
    }
    Some(Arc::clone(&file.content))
}
