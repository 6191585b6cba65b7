use crate::dialect::Dialect;
use crate::include::{IncludeSource, NoIncludes};
use crate::repository::{NoRepository, Repository};
use executor_core::variable::JobVariables;
use indexmap::IndexMap;
use serde_json::Value;
use yaml::Limits;

/// Everything besides its text that decides what a pipeline file means.
///
/// The default knows no other files, no inputs and no variables.
///
/// # Examples
///
/// ```
/// use pipeline::include::KnownFiles;
/// use pipeline::{LoadOptions, Pipeline};
///
/// let files = KnownFiles::with_own([("ci/test.yml", "test: {script: make test}")]);
/// let options = LoadOptions { includes: &files, ..LoadOptions::default() };
/// let text = "include: ci/test.yml\nbuild: {script: make}\n";
/// let loaded = Pipeline::load(".gitlab-ci.yml", text, &options);
/// # let _ = loaded;
/// ```
#[derive(Debug, Clone)]
pub struct LoadOptions<'a> {
    /// What the texts may cost.
    pub limits: Limits,
    /// Whose reading is meant.
    pub dialect: Dialect,
    /// The inputs given to the pipeline (`spec:inputs`).
    pub inputs: IndexMap<String, Value>,
    /// The variables that are known before there is a pipeline: predefined ones, those of the
    /// project and those given to the pipeline, but none from the file. Includes, their rules and
    /// `expand_vars` see these alone.
    pub variables: JobVariables,
    /// Where included files come from.
    pub includes: &'a dyn IncludeSource,
    /// Whether the rules of includes decide.
    pub include_rules: IncludeRules,
    /// What rules of includes ask about files.
    pub repository: &'a dyn Repository,
    /// Files that are merged over the pipeline file once their includes are read, later ones over
    /// earlier ones. Inputs are not given to them.
    pub overlays: &'a [Overlay],
}

/// What the rules of includes are good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum IncludeRules {
    /// They decide which files are included.
    #[default]
    Decide,
    /// They are passed over, so that all files are read that any situation may need. What becomes of
    /// that is no pipeline.
    PassOver,
}

/// A pipeline file that is merged over another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Its path relative to the project, and what messages call it.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            dialect: Dialect::default(),
            inputs: IndexMap::new(),
            variables: JobVariables::default(),
            includes: &NoIncludes,
            include_rules: IncludeRules::Decide,
            repository: &NoRepository,
            overlays: &[],
        }
    }
}
