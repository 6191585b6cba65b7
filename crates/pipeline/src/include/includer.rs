use super::{FileHome, IncludeLocation};
use crate::LoadOptions;
use executor_core::variable::JobVariables;

/// The file whose `include` is read, as the context of its entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Includer {
    /// The project it belongs to.
    pub(super) home: FileHome,
    /// Its path there.
    pub(super) path: String,
    /// Whether it belongs to a child pipeline and can include artifacts of the parent. Included
    /// files of this and other projects inherit this; templates, components and remote files do
    /// not.
    pub(super) knows_parent: bool,
    /// Whether its `include` sees the variables of the pipeline. Templates, remote files and files
    /// they include do not, because their authors are unknown.
    pub(super) knows_variables: bool,
}

impl Includer {
    /// Returns the variables that its `include` sees: those of the pipeline, or `none`.
    pub(super) fn variables<'v>(
        &self,
        options: &'v LoadOptions<'_>,
        none: &'v JobVariables,
    ) -> &'v JobVariables {
        if self.knows_variables {
            &options.variables
        } else {
            none
        }
    }

    /// Returns the context of a file that this one includes, given its project and path.
    pub(super) fn of_included(
        &self,
        location: &IncludeLocation,
        home: FileHome,
        path: String,
    ) -> Self {
        Self {
            home,
            path,
            knows_parent: self.knows_parent && passes_parent_on(location),
            knows_variables: self.knows_variables && passes_variables_on(location),
        }
    }
}

fn passes_parent_on(location: &IncludeLocation) -> bool {
    match location {
        IncludeLocation::Local { .. }
        | IncludeLocation::Project { .. }
        | IncludeLocation::Artifact { .. } => true,
        IncludeLocation::Remote { .. }
        | IncludeLocation::Template { .. }
        | IncludeLocation::Component { .. } => false,
    }
}

fn passes_variables_on(location: &IncludeLocation) -> bool {
    match location {
        IncludeLocation::Local { .. }
        | IncludeLocation::Project { .. }
        | IncludeLocation::Component { .. }
        | IncludeLocation::Artifact { .. } => true,
        IncludeLocation::Remote { .. } | IncludeLocation::Template { .. } => false,
    }
}
