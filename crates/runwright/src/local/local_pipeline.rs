use super::error::LocalError;
use super::gitlab_ci_local::Decorations;
use super::given_files::gather;
use super::includes::LocalIncludes;
use super::pipeline_options::PipelineOptions;
use super::project::LocalProject;
use super::repository::GitRepository;
use super::surroundings::Surroundings;
use executor_core::variable::JobVariables;
use pipeline::context::PipelineContext;
use pipeline::create::Creation;
use pipeline::diagnostic::Checked;
use pipeline::{LoadOptions, Pipeline, ResolvedPipeline, create};
use std::sync::Arc;

/// A project's pipeline as it was read, in one situation.
///
/// What the situation is like is found out when it is asked for: only a file whose includes depend
/// on it needs git to be read.
#[derive(Debug)]
pub struct LocalPipeline {
    loaded: Pipeline,
    resolved: ResolvedPipeline,
    surroundings: Surroundings,
    decorations: Decorations,
    notes: Vec<String>,
}

impl LocalPipeline {
    pub(super) fn read(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Checked<Self>, LocalError> {
        let situation = options.situation.situation()?;
        let text = project.text()?;
        let given = match gather(project.root(), options)? {
            Ok(given) => given,
            Err(found) => {
                return Ok(Checked {
                    value: None,
                    diagnostics: *found,
                });
            }
        };
        let surroundings =
            Surroundings::new(project.root(), project.file(), situation, given.variables);
        let variables = if asks_for_variables(&text) {
            surroundings.context()?.pre_pipeline_variables()
        } else {
            JobVariables::default()
        };
        let repository = Arc::clone(surroundings.repository());
        let includes = LocalIncludes::new(project.root(), Arc::clone(&repository));
        let load_options = LoadOptions {
            dialect: options.dialect,
            inputs: given.inputs,
            variables,
            includes: &includes,
            repository: &*repository,
            ..LoadOptions::default()
        };
        let name = project.file().display().to_string();
        let checked = Pipeline::load(&name, &text, &load_options);
        let decorations = Decorations::read(&text);
        Ok(checked.and_then(|loaded, diagnostics| {
            Some(Self {
                resolved: loaded.resolve(diagnostics),
                loaded,
                surroundings,
                decorations,
                notes: given.notes,
            })
        }))
    }

    /// Returns the files' keywords, merged.
    pub fn loaded(&self) -> &Pipeline {
        &self.loaded
    }

    /// Returns what they mean, whatever the situation.
    pub fn resolved(&self) -> &ResolvedPipeline {
        &self.resolved
    }

    /// Creates the pipeline of the situation, or says why there is none.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn create(&self) -> Result<Creation, LocalError> {
        let repository = self.repository()?;
        Ok(create(&self.resolved, self.context()?, repository))
    }

    /// Begins to look at the repository, beside what the caller does meanwhile.
    pub(super) fn look_ahead(&self) {
        self.surroundings.look_ahead();
    }

    /// Returns what the jobs know: the commit, the project, the situation and the given variables.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn context(&self) -> Result<&PipelineContext, LocalError> {
        self.surroundings.context()
    }

    /// Returns the repository, as rules ask about it in this situation.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn repository(&self) -> Result<&GitRepository, LocalError> {
        // Without the situation it does not know what changed.
        self.surroundings.context()?;
        Ok(self.surroundings.repository())
    }

    /// Returns what the comments above the jobs ask for.
    pub fn decorations(&self) -> &Decorations {
        &self.decorations
    }

    /// Returns what the user should know: about files that were read, and where the simulated
    /// situation differs from what there is.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn notes(&self) -> Result<Vec<&str>, LocalError> {
        let of_situation = self.surroundings.notes()?;
        let notes = self.notes.iter().chain(of_situation);
        Ok(notes.map(String::as_str).collect())
    }
}

/// Returns whether reading a file may need variables: those it includes and `expand_vars` do.
fn asks_for_variables(text: &str) -> bool {
    text.contains("include") || text.contains("expand_vars")
}
