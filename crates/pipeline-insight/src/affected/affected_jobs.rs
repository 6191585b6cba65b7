use super::Cause;
use super::dependants::Dependants;
use super::finder::Finder;
use super::reads::Reads;
use pipeline::context::PipelineContext;
use pipeline::create::{CreatedJob, Creation, Layers};
use pipeline::plan::of_pipeline;
use std::collections::{BTreeSet, HashSet};

/// The changed files. Paths are relative to the root of the project, with `/` between their parts;
/// one that ends with `/` is a directory in which unknown files changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed<'c> {
    /// The paths; `None` if they are unknown.
    pub files: Option<&'c [String]>,
    /// The files that the pipeline itself is read from, changed or not.
    pub pipeline_files: &'c [String],
}

/// Returns the declared patterns of the files that a job reads, given its name; `None` if none are
/// declared.
pub type InputsOf<'i> = &'i dyn Fn(&str) -> Option<Vec<String>>;

/// The jobs of a pipeline that a change affects, and the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AffectedJobs {
    /// The affected jobs, in the file's order.
    pub touched: Vec<AffectedJob>,
    /// The names of the other included jobs, in the same order.
    pub untouched: Vec<String>,
}

/// A job that a change affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedJob {
    /// Its name; for an instance of a `parallel` job, with its suffix.
    pub name: String,
    /// The cause.
    pub cause: Cause,
}

impl AffectedJobs {
    /// Returns the names of the affected jobs.
    pub fn names(&self) -> BTreeSet<String> {
        let names = self.touched.iter().map(|job| job.name.clone());
        names.collect()
    }
}

/// Finds the jobs of a pipeline that a change affects.
///
/// # Examples
///
/// ```
/// use pipeline_insight::affected::{Cause, Changed, affected};
/// use pipeline::context::PipelineContext;
/// use pipeline::repository::NoRepository;
/// use pipeline::{ResolvedPipeline, create};
///
/// let text = "
/// build: {stage: build, script: make, artifacts: {paths: [app]}}
/// test: {stage: test, script: make test}
/// pages: {stage: build, script: mkdocs}
/// ";
/// let (resolved, _) = ResolvedPipeline::from_text(".gitlab-ci.yml", text).into_result()?;
/// let context = PipelineContext::default();
/// let creation = create(&resolved, &context, &NoRepository);
/// let files = ["src/main.c".to_owned()];
/// let changed = Changed { files: Some(&files), ..Changed::default() };
/// let inputs = |job: &str| match job {
///     "build" => Some(vec!["src/**/*".to_owned()]),
///     "pages" => Some(vec!["docs/**/*".to_owned()]),
///     _ => Some(Vec::new()),
/// };
///
/// let found = affected(&creation, &context, &changed, &inputs);
/// assert_eq!(found.touched[0].name, "build");
/// assert_eq!(found.touched[1].cause, Cause::Behind { job: "build".to_owned() });
/// assert_eq!(found.untouched, ["pages"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn affected(
    creation: &Creation,
    context: &PipelineContext,
    changed: &Changed<'_>,
    inputs: InputsOf<'_>,
) -> AffectedJobs {
    if creation.refusal.is_some() {
        return AffectedJobs::default();
    }
    let jobs = creation.jobs.iter().filter(|job| job.is_included);
    let jobs: Vec<&CreatedJob> = jobs.collect();
    let mut causes = match of_all(changed) {
        Some(cause) => vec![Some(cause); jobs.len()],
        None => direct_causes(creation, context, &jobs, changed, inputs),
    };
    Dependants::of(creation, &jobs).spread(&jobs, &mut causes);
    let mut found = AffectedJobs::default();
    for (job, cause) in jobs.iter().zip(causes) {
        let name = job.name().to_owned();
        match cause {
            Some(cause) => found.touched.push(AffectedJob { name, cause }),
            None => found.untouched.push(name),
        }
    }
    found
}

/// Returns the cause that affects all jobs, if there is one.
fn of_all(changed: &Changed<'_>) -> Option<Cause> {
    let Some(files) = changed.files else {
        return Some(Cause::UnknownChanges);
    };
    let own: HashSet<&String> = changed.pipeline_files.iter().collect();
    // In a directory with unknown changes, any file may be the pipeline's.
    let is_own = |path: &&String| {
        own.contains(path)
            || (path.ends_with('/') && own.iter().any(|it| it.starts_with(path.as_str())))
    };
    let path = files.iter().find(is_own)?.clone();
    Some(Cause::PipelineFile { path })
}

/// Returns the direct cause of each job.
fn direct_causes(
    creation: &Creation,
    context: &PipelineContext,
    jobs: &[&CreatedJob],
    changed: &Changed<'_>,
    inputs: InputsOf<'_>,
) -> Vec<Option<Cause>> {
    let predefined = of_pipeline(creation.name.as_deref(), context);
    let (global, workflow) = (&creation.global_variables, &creation.workflow_variables);
    let layers = Layers::new(context, &predefined, global, workflow);
    let mut finder = Finder::new(changed.files.unwrap_or_default());
    let causes = jobs.iter().map(|job| {
        let reads = match inputs(job.name()) {
            Some(patterns) => Reads::declared(patterns),
            None => Reads::of_rule(job, &layers),
        };
        let of_child = || finder.child(job);
        of_child().or_else(|| finder.find(&reads))
    });
    causes.collect()
}
