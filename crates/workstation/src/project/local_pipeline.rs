use crate::error::LocalError;
use crate::project::changed::{PipelineFiles, TreeChanges};
use crate::project::check_steps::check_steps;
use crate::project::gitlab_ci_local::{Decorations, OVERLAY};
use crate::project::includes::LocalIncludes;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::project_context::{ProjectContext, names_commit_variables};
use crate::project::read_file::optional;
use crate::project::repository::{BlockingGit, GitRepository};
use crate::project::user_input::UserInput;
use crate::remote::{ApiMode, GitLabVariables, Merged, Outside, ProjectIncludes};
use crate::run::children::ReadPipeline;
use executor_core::variable::JobVariables;
use indexmap::IndexMap;
use pipeline::context::PipelineContext;
use pipeline::create::Creation;
use pipeline::{Dialect, IncludeRules, LoadOptions, Overlay, Pipeline, ResolvedPipeline, create};
use pipeline_insight::affected::{AffectedJobs, Changed, InputsOf, affected};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use yaml::diagnostic::Checked;

/// A project's pipeline as it was read, in one situation.
///
/// What the situation is like is found out when it is asked for: only a file whose includes depend
/// on it needs git to be read.
#[derive(Debug)]
pub struct LocalPipeline {
    read: Arc<ReadPipeline>,
    resolved: ResolvedPipeline,
    decorations: Decorations,
    files: PipelineFiles,
    notes: Vec<String>,
    /// What was noted elsewhere after it was read, when the jobs were created.
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

    /// Reads a pipeline, with a say in whether the rules of includes decide; returns what was asked
    /// elsewhere as well, also when the pipeline is invalid.
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
        };
        let inputs = input.inputs;
        let tree = LocalIncludes::new(project.root(), Arc::clone(project_context.repository()));
        let includes = ProjectIncludes::new(tree, &outside, &project_context);
        let checked = texts.load(options.dialect, inputs, &includes, &project_context)?;
        notes.extend(outside.take_notes());
        let mut decorations = includes.tree().take_decorations();
        texts.each(|text| decorations.extend(Decorations::read(text)));
        drop(texts);
        drop(includes);
        let asked = Arc::clone(&outside);
        let checked = checked.and_then(|loaded, diagnostics| {
            let resolved = loaded.resolve(diagnostics);
            check_steps(&loaded, &resolved, diagnostics);
            let sources = diagnostics.sources();
            let files = PipelineFiles::of(project, sources, options);
            let read =
                ReadPipeline::new(loaded, sources, project, project_context, outside, options);
            Some(Self {
                read: Arc::new(read),
                resolved,
                decorations,
                files,
                notes,
                late_notes: OnceLock::new(),
            })
        });
        Ok((checked, asked))
    }

    /// Returns the files' keywords, merged.
    pub fn loaded(&self) -> &Pipeline {
        &self.read.loaded
    }

    /// Returns the project that it was read from.
    pub fn project(&self) -> &LocalProject {
        self.read.project()
    }

    /// Returns by whose rules it was read, and is to be run.
    pub fn dialect(&self) -> Dialect {
        self.read.options.dialect
    }

    /// Returns what it takes to read the pipelines that its jobs start.
    pub(crate) fn read_pipeline(&self) -> &Arc<ReadPipeline> {
        &self.read
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

    /// Returns what changed in the working tree since `base`, or else since what the branch will be
    /// pushed to: its upstream, else the default branch. Files that the situation names win.
    ///
    /// # Errors
    ///
    /// When git cannot be asked at all. Where it does not know, everything counts as changed.
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

    /// Returns which jobs a change of these files touches, and why; `None` means any file. `inputs`
    /// tells which files a job reads, where somebody said so.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
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

    /// Returns the files of the project that it was read from, relative to its top; some may not be
    /// there.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.files()
    }

    /// Begins to look at the repository, beside what the caller does meanwhile.
    pub(crate) fn look_ahead(&self) {
        self.read.project_context.look_ahead();
    }

    /// Returns what the jobs know: the commit, the project, the situation and the given variables.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn context(&self) -> Result<&PipelineContext, LocalError> {
        self.read.project_context.context()
    }

    /// Returns the repository, as rules ask about it in this situation.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn repository(&self) -> Result<&GitRepository, LocalError> {
        // Without the situation it does not know what changed.
        self.read.project_context.context()?;
        Ok(self.read.project_context.repository())
    }

    /// Returns the remote files and answers requested so far, from which a lock file is made.
    pub fn remote_records(&self) -> Vec<includes::Record> {
        self.read.outside.records()
    }

    /// Returns what the comments above the jobs ask for.
    pub fn decorations(&self) -> &Decorations {
        &self.decorations
    }

    /// Returns what the user should know: about files that were read, also for rules if the pipeline was
    /// created before, and where the simulated situation differs from what there is.
    ///
    /// # Errors
    ///
    /// When git cannot be asked.
    pub fn notes(&self) -> Result<Vec<&str>, LocalError> {
        let of_situation = self.read.project_context.notes()?;
        let late = self
            .late_notes
            .get_or_init(|| self.read.outside.take_notes());
        let notes = self.notes.iter().chain(late).chain(of_situation);
        Ok(notes.map(String::as_str).collect())
    }
}

/// Returns the file that is merged over the pipeline's, if there is one.
fn overlay(project: &LocalProject) -> Result<Option<Overlay>, LocalError> {
    if project.file() == Path::new(OVERLAY) {
        return Ok(None);
    }
    let text = optional(&project.root().join(OVERLAY))?;
    Ok(text.map(|text| Overlay {
        name: OVERLAY.to_owned(),
        text,
    }))
}

/// The texts that a pipeline is read from, besides those they include.
struct Texts {
    name: String,
    text: String,
    overlay: Option<Overlay>,
    /// What a GitLab made of the text, which is read in its place.
    merged: Option<Merged>,
    include_rules: IncludeRules,
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
        let asks_for_variables = self.any(asks_for_variables);
        let needs_git = asks_for_variables && self.any(names_commit_variables);
        let variables = if needs_git {
            project_context.context()?.pre_pipeline_variables()
        } else if asks_for_variables {
            project_context.variables_at_a_glance()?
        } else {
            JobVariables::default()
        };
        let mut options = LoadOptions {
            dialect,
            inputs,
            variables,
            includes,
            include_rules: self.include_rules,
            repository: &**repository,
            overlays: self.overlay.as_slice(),
            ..LoadOptions::default()
        };
        let checked = self.read(&options);
        if needs_git || !includes.has_commit_variables() {
            return Ok(checked);
        }
        // An included file may ask for what was not looked up, which is rare.
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

    fn any(&self, is_so: impl Fn(&str) -> bool) -> bool {
        let mut found = false;
        self.each(|text| found |= is_so(text));
        found
    }

    /// Passes the texts on, those that win last.
    fn each(&self, mut take: impl FnMut(&str)) {
        take(&self.text);
        if let Some(overlay) = &self.overlay {
            take(&overlay.text);
        }
    }
}

/// Returns whether reading a file may need variables: those it includes and `expand_vars` do.
fn asks_for_variables(text: &str) -> bool {
    text.contains("include") || text.contains("expand_vars")
}
