use super::shelf::ShelvedFile;
use super::{FileHome, IncludeLocation};
use crate::LoadOptions;
use executor_core::variable::JobVariables;

/// The file whose `include` is read, as far as its place decides what is meant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Includer {
    /// Where it lives.
    pub(super) home: FileHome,
    /// Its path there.
    pub(super) path: String,
    /// Whether it is a child pipeline's and knows the artifacts of the parent. Files of the project
    /// and of other projects hand that on; templates, components and addresses do not.
    pub(super) knows_parent: bool,
    /// Whether its `include` knows the variables of the pipeline. Templates and files at addresses
    /// do not, nor does what they include, since nobody says whose files they are.
    pub(super) knows_variables: bool,
}

impl Includer {
    /// Returns the variables that its `include` knows: those of the pipeline, or `none`.
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

    /// Returns what a file is that this one includes.
    pub(super) fn below(&self, location: &IncludeLocation, file: &ShelvedFile) -> Self {
        Self {
            home: file.home.clone(),
            path: file.path.clone(),
            knows_parent: self.knows_parent && hands_parent_on(location),
            knows_variables: self.knows_variables && hands_variables_on(location),
        }
    }
}

fn hands_parent_on(location: &IncludeLocation) -> bool {
    match location {
        IncludeLocation::Local { .. }
        | IncludeLocation::Project { .. }
        | IncludeLocation::Artifact { .. } => true,
        IncludeLocation::Remote { .. }
        | IncludeLocation::Template { .. }
        | IncludeLocation::Component { .. } => false,
    }
}

fn hands_variables_on(location: &IncludeLocation) -> bool {
    match location {
        IncludeLocation::Local { .. }
        | IncludeLocation::Project { .. }
        | IncludeLocation::Component { .. }
        | IncludeLocation::Artifact { .. } => true,
        IncludeLocation::Remote { .. } | IncludeLocation::Template { .. } => false,
    }
}
