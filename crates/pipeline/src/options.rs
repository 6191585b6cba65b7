use crate::dialect::Dialect;
use crate::include::{IncludeSource, NoIncludes};
use crate::repository::{NoRepository, Repository};
use executor_core::variable::JobVariables;
use indexmap::IndexMap;
use serde_json::Value;
use yaml::Limits;

/// Everything besides the text that determines what a pipeline file means.
///
/// The default has no other files, no inputs and no variables.
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
    /// Limits on the size and depth of the texts.
    pub limits: Limits,
    /// The tool whose reading is followed.
    pub dialect: Dialect,
    /// The inputs given to the pipeline (`spec:inputs`); `COMPONENT:NAME` is an input of each
    /// component with that name.
    pub inputs: IndexMap<String, Value>,
    /// A file with further inputs. Inputs above all others, or in `_global`, are those of the
    /// pipeline and of included files, where they are declared; others are in a mapping for each
    /// component. They override what an `include` passes.
    pub inputs_file: Option<&'a InputsFile>,
    /// The variables known before the pipeline exists: predefined ones, those of the project and
    /// those passed to the pipeline, but none from the file. Includes, their rules and
    /// `expand_vars` see no others.
    pub variables: JobVariables,
    /// Where included files come from.
    pub includes: &'a dyn IncludeSource,
    /// Whether the rules of includes are evaluated.
    pub include_rules: IncludeRules,
    /// Whether an included file of another project or server that cannot be fetched is only a warning.
    /// The result is then not the whole pipeline.
    pub is_partial: bool,
    /// Answers the conditions on files in rules of includes.
    pub repository: &'a dyn Repository,
    /// Files merged over the pipeline file after their own includes are read, later ones over
    /// earlier ones. They receive no inputs.
    pub overlays: &'a [Overlay],
}

/// How the rules of includes are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum IncludeRules {
    /// They are evaluated.
    #[default]
    Evaluate,
    /// They are ignored, so that every file that any situation may need is read. The result is not
    /// a usable pipeline.
    Ignore,
}

/// A YAML file with inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputsFile {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A pipeline file merged over another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Its path relative to the project; messages call it so.
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
            inputs_file: None,
            variables: JobVariables::default(),
            includes: &NoIncludes,
            include_rules: IncludeRules::Evaluate,
            is_partial: false,
            repository: &NoRepository,
            overlays: &[],
        }
    }
}
