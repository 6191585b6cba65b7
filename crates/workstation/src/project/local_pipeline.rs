use crate::error::LocalError;
use crate::project::changed::{PipelineFiles, TreeChanges};
#[cfg(feature = "functions")]
use crate::project::check_steps::check_steps;
use crate::project::gitlab_ci_local::{Decorations, OVERLAY};
use crate::project::includes::LocalIncludes;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::project_context::{ProjectContext, names_commit_variables};
use crate::project::read_file::optional_inside;
use crate::project::repository::{BlockingGit, GitRepository};
use crate::project::situation::SituationOptions;
use crate::project::user_input::UserInput;
use crate::remote::{ApiMode, GitLabVariables, Merged, Outside, ProjectIncludes, RemoteOptions};
use crate::run::check_triggers;
use crate::run::children::ReadPipeline;
use executor_core::variable::JobVariables;
use includes::FetchPolicy;
use indexmap::IndexMap;
use pipeline::context::PipelineContext;
use pipeline::create::Creation;
use pipeline::{
    Dialect, IncludeRules, InputsFile, LoadOptions, Overlay, Pipeline, ResolvedPipeline, create,
};
use pipeline_insight::affected::{AffectedJobs, Changed, InputsOf, affected};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use yaml::diagnostic::{Checked, Diagnostics};
use yaml::source::SourceMap;

/// A project's pipeline as it was read, in one situation.
///
/// The situation is read when it is first needed: only a file whose includes depend on it needs git.
#[derive(Debug)]
pub struct LocalPipeline {
    read: Arc<ReadPipeline>,
    /// The options it was read with.
    options: PipelineOptions,
    resolved: ResolvedPipeline,
    decorations: Decorations,
    files: PipelineFiles,
    notes: Vec<String>,
    /// The notes of servers after it was read, from creating the jobs.
    late_notes: OnceLock<Vec<String>>,
}

impl LocalPipeline {
    pub(crate) fn read(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Checked<Self>, LocalError> {
        let (checked, _) = Self::read_by(project, options, IncludeRules::Evaluate)?;
        Ok(checked)
    }

    /// Reads a pipeline, with or without the rules of includes. Returns also its access to servers, even if the
    /// pipeline is invalid.
    pub(crate) fn read_by(
        project: &LocalProject,
        options: &PipelineOptions,
        include_rules: IncludeRules,
    ) -> Result<(Checked<Self>, Arc<Outside>), LocalError> {
        let situation = options.situation.situation()?;
        let text = project.text()?;
        let input = match UserInput::read(project.root(), options)? {
            Ok(input) => input,
            Err(found) => {
                let checked = Checked {
                    value: None,
                    diagnostics: *found,
                };
                let home = options.home.clone();
                let git = Arc::new(BlockingGit::new(project.root()));
                let outside = Outside::new(&options.remote, home, &git);
                return Ok((checked, Arc::new(outside)));
            }
        };
        let api_mode = ApiMode::wanted(options, &input)?;
        let mut project_context =
            ProjectContext::new(project.root(), project.file(), situation, input.variables);
        project_context.unset(input.unset);
        let home = options.home.clone();
        let outside = Outside::new(&options.remote, home, project_context.git());
        let outside = Arc::new(outside);
        project_context.repository().look_outside(&outside);
        project_context.add_outside(&outside);
        if options.remote.variables {
            project_context.add_gitlab(GitLabVariables::new(Arc::clone(&outside))?);
        }
        let overlay = overlay(project)?;
        let mut notes = input.notes;
        if overlay.is_some() {
            let file = project.file().display();
            notes.push(format!("{OVERLAY} is merged over {file}"));
        }
        let merged = api_mode
            .map(|api_mode| api_mode.merge(&outside, &text, overlay.is_some()))
            .transpose()?;
        notes.extend(merged.iter().flat_map(|merged| merged.notes.clone()));
        let texts = Texts {
            name: project.file().display().to_string(),
            text,
            overlay,
            merged,
            include_rules,
            inputs_file: input.inputs_file,
            maximum_includes: options.maximum_includes,
            is_partial: options.is_partial,
        };
        let inputs = input.inputs;
        let tree = LocalIncludes::new(project.root(), Arc::clone(project_context.repository()));
        let includes = ProjectIncludes::new(tree, &outside, &project_context);
        let checked = texts.load(options.dialect, inputs, &includes, &project_context)?;
        notes.extend(outside.take_notes());
        let mut decorations = includes.tree().take_decorations();
        texts.each(|text| decorations.extend(Decorations::read(text)));
        notes.extend(decorations.notes());
        drop(texts);
        drop(includes);
        let asked = Arc::clone(&outside);
        let checked = checked.and_then(|loaded, diagnostics| {
            let resolved = loaded.resolve(diagnostics);
            #[cfg(feature = "functions")]
            check_steps(&loaded, &resolved, diagnostics);
            let sources = diagnostics.sources();
            let files = PipelineFiles::of(project, sources, options);
            let read =
                ReadPipeline::new(loaded, sources, project, project_context, outside, options);
            Some(Self {
                read: Arc::new(read),
                options: options.clone(),
                resolved,
                decorations,
                files,
                notes,
                late_notes: OnceLock::new(),
            })
        });
        Ok((checked, asked))
    }

    /// Returns the merged keywords of all files.
    pub fn loaded(&self) -> &Pipeline {
        &self.read.loaded
    }

    /// Returns the texts of its files, to which the locations of diagnostics belong.
    pub fn sources(&self) -> &SourceMap {
        &self.read.sources
    }

    /// Reads it again in another situation, without requests to servers.
    ///
    /// # Errors
    ///
    /// As [`LocalProject::read`].
    pub fn in_situation(&self, situation: SituationOptions) -> Result<Checked<Self>, LocalError> {
        let options = PipelineOptions {
            situation,
            remote: RemoteOptions {
                fetching: FetchPolicy::Offline,
                variables: false,
                prefer_api: false,
                ..self.options.remote.clone()
            },
            ..self.options.clone()
        };
        Self::read(self.project(), &options)
    }

    /// Reports what no situation accepts, and triggers of projects that the settings do not name. Variables from outside
    /// count, except those of a GitLab.
    pub fn check_creation(&self, diagnostics: &mut Diagnostics) {
        let given = self.read.project_context.external().to_vec();
        self.read
            .loaded
            .check_creation(&self.resolved, given, diagnostics);
        check_triggers(&self.resolved, &self.read.outside, diagnostics);
    }

    /// Returns the project that it was read from.
    pub fn project(&self) -> &LocalProject {
        self.read.project()
    }

    /// Returns its dialect.
    pub fn dialect(&self) -> Dialect {
        self.read.options.dialect
    }

    /// Returns what reading its child pipelines needs.
    pub(crate) fn read_pipeline(&self) -> &Arc<ReadPipeline> {
        &self.read
    }

    /// Returns the resolved pipeline, which does not depend on the situation.
    pub fn resolved(&self) -> &ResolvedPipeline {
        &self.resolved
    }

    /// Creates the pipeline of the situation, which may be refused.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn create(&self) -> Result<Creation, LocalError> {
        let repository = self.repository()?;
        Ok(create(&self.resolved, self.context()?, repository))
    }

    /// Returns the changes of the working tree since `base`, default what the branch will be pushed to: its upstream,
    /// else the default branch. Files that the situation names win.
    ///
    /// # Errors
    ///
    /// When git fails. If the changes are unknown, everything counts as changed.
    pub fn changes_since(&self, base: Option<&str>) -> Result<TreeChanges, LocalError> {
        let project_context = &self.read.project_context;
        if let Some(named) = project_context.named_changes() {
            return Ok(TreeChanges::named(named));
        }
        let default_branch = &self.context()?.project.default_branch;
        Ok(TreeChanges::since(
            project_context.git(),
            base,
            default_branch,
        ))
    }

    /// Returns the jobs that a change of these files touches, with the reasons; `None` means any file. `inputs` are
    /// the files that a job reads, if declared.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn affected(
        &self,
        creation: &Creation,
        files: Option<&[String]>,
        inputs: InputsOf<'_>,
    ) -> Result<AffectedJobs, LocalError> {
        let pipeline_files = self.files.among(files.unwrap_or_default());
        let changed = Changed {
            files,
            pipeline_files: &pipeline_files,
        };
        Ok(affected(creation, self.context()?, &changed, inputs))
    }

    /// Returns the files of the project that it was read from, relative to its root; some may not exist.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.files()
    }

    /// Starts to read the repository in the background.
    pub(crate) fn look_ahead(&self) {
        self.read.project_context.look_ahead();
    }

    /// Returns the context of the jobs: the commit, the project, the situation and the variables.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn context(&self) -> Result<&PipelineContext, LocalError> {
        self.read.project_context.context()
    }

    /// Returns the repository in this situation.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn repository(&self) -> Result<&GitRepository, LocalError> {
        // The situation first, since it decides what changed.
        self.read.project_context.context()?;
        Ok(self.read.project_context.repository())
    }

    /// Returns all requests to servers until now with their responses, for a lock file.
    pub fn remote_records(&self) -> Vec<includes::Record> {
        self.read.outside.records()
    }

    /// Returns gitlab-ci-local's decorations of the jobs.
    pub fn decorations(&self) -> &Decorations {
        &self.decorations
    }

    /// Returns notes for the user: about files that were read, also for rules after the pipeline was created, and where
    /// the situation differs from the repository.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn notes(&self) -> Result<Vec<&str>, LocalError> {
        let of_situation = self.read.project_context.notes()?;
        let context = self.context()?;
        let late = self.late_notes.get_or_init(|| {
            let mut notes = self.read.outside.take_notes();
            notes.extend(self.notes_of_unset(context));
            notes
        });
        let notes = self.notes.iter().chain(late).chain(of_situation);
        Ok(notes.map(String::as_str).collect())
    }

    /// Returns a note for each name of a variable to remove that occurs nowhere.
    fn notes_of_unset(&self, context: &PipelineContext) -> impl Iterator<Item = String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_known = move |name: &str| {
            let is_predefined =
                name == "CI" || name.starts_with("CI_") || name.starts_with("GITLAB_");
            let mut given = context.external.iter();
            is_predefined
                || given.any(|it| it.variable.key == name)
                || self.sources().into_iter().any(|source| {
                    let mut words = source.text().split(|c| !is_part(c));
                    words.any(|word| word == name)
                })
        };
        let unknown = context.unset.iter().filter(move |name| !is_known(name));
        unknown.map(|name| format!("there is no variable {name} to remove (--unset-variable)"))
    }
}

/// Returns the file that is merged over the pipeline file, if it exists.
fn overlay(project: &LocalProject) -> Result<Option<Overlay>, LocalError> {
    if project.file() == Path::new(OVERLAY) {
        return Ok(None);
    }
    let text = optional_inside(project.root(), Path::new(OVERLAY))?;
    Ok(text.map(|text| Overlay {
        name: OVERLAY.to_owned(),
        text,
    }))
}

/// The texts of a pipeline without includes.
struct Texts {
    name: String,
    text: String,
    overlay: Option<Overlay>,
    /// The text as a GitLab merged it, which is read instead.
    merged: Option<Merged>,
    include_rules: IncludeRules,
    inputs_file: Option<InputsFile>,
    maximum_includes: Option<usize>,
    is_partial: bool,
}

impl Texts {
    fn load(
        &self,
        dialect: Dialect,
        inputs: IndexMap<String, Value>,
        includes: &ProjectIncludes<'_>,
        project_context: &ProjectContext,
    ) -> Result<Checked<Pipeline>, LocalError> {
        let repository = project_context.repository();
        let may_need_variables = self.any(may_need_variables);
        let needs_git = may_need_variables && self.any(names_commit_variables);
        let variables = if needs_git {
            project_context.context()?.pre_pipeline_variables()
        } else if may_need_variables {
            project_context.variables_at_a_glance()?
        } else {
            JobVariables::default()
        };
        let mut options = LoadOptions {
            dialect,
            inputs,
            inputs_file: self.inputs_file.as_ref(),
            variables,
            includes,
            include_rules: self.include_rules,
            is_partial: self.is_partial,
            repository: &**repository,
            overlays: self.overlay.as_slice(),
            ..LoadOptions::default()
        };
        if let Some(most) = self.maximum_includes {
            options.limits.included_files = most;
        }
        let checked = self.read(&options);
        if needs_git || !includes.has_commit_variables() {
            return Ok(checked);
        }
        // An included file may need variables that were left out, which is rare.
        options.variables = project_context.context()?.pre_pipeline_variables();
        Ok(self.read(&options))
    }

    fn read(&self, options: &LoadOptions<'_>) -> Checked<Pipeline> {
        match &self.merged {
            None => Pipeline::load(&self.name, &self.text, options),
            Some(merged) => {
                Pipeline::from_merged(&self.name, &self.text, &merged.reading(), options)
            }
        }
    }

    fn any(&self, predicate: impl Fn(&str) -> bool) -> bool {
        let mut found = false;
        self.each(|text| found |= predicate(text));
        found
    }

    /// Visits the texts, the highest precedence last.
    fn each(&self, mut take: impl FnMut(&str)) {
        take(&self.text);
        if let Some(overlay) = &self.overlay {
            take(&overlay.text);
        }
    }
}

/// Returns whether reading a file may need variables: those it includes and `expand_vars` do.
fn may_need_variables(text: &str) -> bool {
    text.contains("include") || text.contains("expand_vars")
}
