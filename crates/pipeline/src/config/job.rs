use super::Spanned;
use super::need::NeedEntry;
use super::variables::Variables;
use super::{Environment, Inherit, Inheritable, Parallel, PolicyKeyword, RulesKeyword, Trigger};
use executor_core::job::{
    JobInputDefinitions, PagesDefinition, ReleaseDefinition, RunStep, Secrets, When,
};
use std::sync::Arc;
use yaml::source::Span;

/// A job as in the file, with `extends` applied; `None` means absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: Arc<str>,
    /// What it runs.
    pub kind: JobKind,
    /// The location of its name.
    pub span: Span,
    /// Its stage.
    pub stage: Option<Spanned<String>>,
    /// Its commands; absent when it has steps or a trigger instead.
    pub script: Option<Vec<String>>,
    /// The pipeline it starts.
    pub trigger: Option<Box<Trigger>>,
    /// The rules; the first that matches decides.
    pub rules: RulesKeyword,
    /// In which pipelines it is.
    pub only: Option<Box<PolicyKeyword>>,
    /// In which pipelines it is not.
    pub except: Option<Box<PolicyKeyword>>,
    /// The keywords it can inherit from `default`.
    pub inheritable: Inheritable,
    /// What it inherits from `default` and the global variables.
    pub inherit: Inherit,
    /// Its own variables.
    pub variables: Variables,
    /// When it starts.
    pub when: Option<When>,
    /// The delay of a delayed job.
    pub start_in: Option<String>,
    /// Whether it may fail.
    pub allow_failure: Option<AllowFailure>,
    /// The jobs it needs.
    pub needs: Option<Vec<Spanned<NeedEntry>>>,
    /// The jobs whose artifacts it fetches.
    pub dependencies: Option<Vec<Spanned<String>>>,
    /// How it expands to several jobs.
    pub parallel: Option<Parallel>,
    /// The question before a manual job starts.
    pub manual_confirmation: Option<String>,
    /// Keywords without effect on the pipeline's structure.
    pub kept: Kept,
}

/// Whether a failed job lets the pipeline pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowFailure {
    /// Always or never.
    Flag(bool),
    /// Only after one of these exit codes.
    ExitCodes(Vec<i32>),
}

/// What a job runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// The commands of `script`.
    #[default]
    Script,
    /// The steps of `run`.
    Run,
    /// Another pipeline: `trigger`, or `needs` alone, which mirrors one.
    Trigger,
}

/// Keywords without effect on the pipeline's structure; values are boxed, as they are rare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// The pattern that finds the coverage in the log, without its slashes.
    pub coverage: Option<String>,
    /// The environment.
    pub environment: Option<Box<Environment>>,
    /// The inputs.
    pub inputs: Option<Box<JobInputDefinitions>>,
    /// The pages.
    pub pages: Option<Box<PagesDefinition>>,
    /// The directory of the pages, by the old keyword.
    pub publish: Option<String>,
    /// The release.
    pub release: Option<Box<ReleaseDefinition>>,
    /// The resource group.
    pub resource_group: Option<String>,
    /// The secrets.
    pub secrets: Option<Box<Secrets>>,
    /// The steps it runs instead of a script.
    pub run: Option<Vec<RunStep>>,
}

impl Job {
    /// Returns a job without keywords.
    pub(super) fn new(name: &str, kind: JobKind, span: Span) -> Self {
        Self {
            name: name.into(),
            kind,
            span,
            stage: None,
            script: None,
            trigger: None,
            rules: RulesKeyword::Absent,
            only: None,
            except: None,
            inheritable: Inheritable::default(),
            inherit: Inherit::default(),
            variables: Variables::new(),
            when: None,
            start_in: None,
            allow_failure: None,
            needs: None,
            dependencies: None,
            parallel: None,
            manual_confirmation: None,
            kept: Kept::default(),
        }
    }

    /// Returns whether the job publishes pages, because of `pages` or of its name.
    pub fn publishes_pages(&self) -> bool {
        match self.kept.pages.as_deref() {
            Some(pages) => pages.is_enabled(),
            None => &*self.name == "pages",
        }
    }

    /// Returns the pipeline of another project whose status the job mirrors.
    pub fn mirrored_pipeline(&self) -> Option<&str> {
        let mut needs = self.needs.iter().flatten();
        needs.find_map(|need| match &need.value {
            NeedEntry::Mirror(pipeline) => Some(pipeline.as_str()),
            NeedEntry::Job(_) | NeedEntry::Cross(_) => None,
        })
    }
}
