use super::created_pipeline::CreatedPipeline;
use super::plan_times::PlanTimes;
use super::stdout::{print, print_json};
use super::touched::Touched;
use crate::args::{PlanArgs, PlanFormat};
use crate::failure::{Exit, Failure};
use console::reports::plan::{PlanJob, dot, mermaid, stages, table};
use console::{Style, Tone, counted, shown_name, strip_controls};
use executor_core::job::RefType;
use pipeline::Selection;
use pipeline::context::PipelineContext;
use pipeline::create::{CreatedJob, Creation, RefusalReason};
use pipeline::rules::Rule;
use pipeline_insight::affected::Cause;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Shows the pipeline that a situation creates.
///
/// A pipeline that rules exclude is a valid answer, as it is for GitLab; one that cannot be created is an
/// error.
pub(crate) fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let Some(mut created) = CreatedPipeline::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    // Changes are found before narrowing, since jobs that are not shown can affect those that are.
    let touched = created.touched(&args.changed, &args.project)?;
    let all = created.creation.jobs.len();
    created.narrow(&Selection {
        jobs: args.jobs.job.clone(),
        skip: args.jobs.skipped(),
        ..Selection::default()
    })?;
    let creation = &created.creation;
    let causes = touched.as_ref().map(Touched::causes);
    let causes = causes.as_ref();
    let times = args.times.then(|| times(&created, causes)).transpose()?;
    match args.format() {
        PlanFormat::Table => {
            let context = created.pipeline.context()?;
            let style = Style::of_stdout();
            let mut text = match &creation.refusal {
                Some(refusal) => {
                    let why = created.no_pipeline("plan").text(refusal, style);
                    format!("{}: {why}", situation(context))
                }
                None => shown(creation, all, context, causes, times.as_ref(), style),
            };
            if let Some(times) = times.filter(|_| creation.refusal.is_none()) {
                text.push_str(&times.shown(style));
            }
            print(text)?;
        }
        PlanFormat::Json => {
            let mut document = document(creation, causes)?;
            if let Some(times) = times {
                let jobs = jobs(creation, causes);
                let names = jobs.iter().map(|job| &*job.definition.name);
                document["times"] = times.document(names);
            }
            print_json(&document)?;
        }
        PlanFormat::Mermaid => print(mermaid(&stages(jobs(creation, causes))))?,
        PlanFormat::Dot => print(dot(&stages(jobs(creation, causes))))?,
    }
    if args.format() != PlanFormat::Table {
        created.print_refusal("plan");
    }
    Ok(exit(creation))
}

/// Returns the expected duration of the pipeline, or of its touched jobs.
fn times(created: &CreatedPipeline, causes: Causes<'_>) -> Result<PlanTimes, Failure> {
    let names = causes.map(|_| {
        let jobs = jobs(&created.creation, causes).into_iter();
        jobs.map(|job| job.definition.name.clone()).collect()
    });
    PlanTimes::of(created, names)
}

/// Returns the jobs of the pipeline; none if there is no pipeline.
pub(super) fn present(creation: &Creation) -> Vec<&CreatedJob> {
    if creation.refusal.is_some() {
        return Vec::new();
    }
    creation.included()
}

/// Returns the exit code of a command that inspects this pipeline.
pub(super) fn exit(creation: &Creation) -> Exit {
    match &creation.refusal {
        Some(refusal) if refusal.reason == RefusalReason::SeedError => Exit::Usage,
        _ => Exit::Success,
    }
}

/// Why jobs are touched, by their names; present when only touched jobs count.
type Causes<'c> = Option<&'c HashMap<&'c str, &'c Cause>>;

/// Returns the pipeline as JSON; with `causes`, only the touched jobs, each with its cause.
fn document(creation: &Creation, causes: Causes<'_>) -> Result<Value, Failure> {
    let mut document = serde_json::to_value(creation.document()).map_err(Failure::environment)?;
    if let (Some(causes), Some(jobs)) = (causes, document["jobs"].as_array_mut()) {
        let cause = |job: &Value| causes.get(job["name"].as_str()?);
        jobs.retain(|job| cause(job).is_some());
        for job in jobs {
            job["touched_by"] = serde_json::to_value(cause(job)).map_err(Failure::environment)?;
        }
    }
    Ok(document)
}

fn shown(
    creation: &Creation,
    all: usize,
    context: &PipelineContext,
    causes: Causes<'_>,
    times: Option<&PlanTimes>,
    style: Style,
) -> String {
    let situation = situation(context);
    let mut text = String::new();
    let mut jobs = jobs(creation, causes);
    for job in &mut jobs {
        job.usual = times.and_then(|times| times.usual(&job.definition.name));
    }
    let count = jobs.len();
    let name = creation.shown_name.as_deref().map(strip_controls);
    let name = name.map_or(String::new(), |name| format!("{name}, "));
    let _ = writeln!(
        text,
        "{name}{situation}: {count} of {}",
        counted(all, "job")
    );
    text.push_str(&table(&stages(jobs), style));
    let left_out = creation.jobs.iter().filter(|job| !job.is_included);
    for (number, job) in left_out.enumerate() {
        if number == 0 {
            let _ = writeln!(text, "{}", style.paint(Tone::Quiet, "left out"));
        }
        let _ = writeln!(text, "  {}: {}", shown_name(job.name()), job.left_out_by());
    }
    let untouched = present(creation).into_iter().map(CreatedJob::name);
    let untouched = untouched.filter(|name| causes.is_some_and(|it| !it.contains_key(name)));
    let untouched: Vec<String> = untouched.map(shown_name).collect();
    if !untouched.is_empty() {
        let _ = writeln!(text, "{}", style.paint(Tone::Quiet, "not touched"));
        let _ = writeln!(text, "  {}", untouched.join(", "));
    }
    text
}

/// Returns a short description of the pipeline's situation.
fn situation(context: &PipelineContext) -> String {
    let commit = &context.commit;
    let what = match &context.merge_request {
        Some(request) => format!(
            "merge request of {} to {}",
            request.source.name, request.target.name
        ),
        None => match commit.ref_type {
            RefType::Branch => format!("branch {}", commit.ref_name),
            RefType::Tag => format!("tag {}", commit.ref_name),
        },
    };
    strip_controls(&format!("{what} ({})", context.source))
}

fn jobs<'c>(creation: &'c Creation, causes: Causes<'_>) -> Vec<PlanJob<'c>> {
    let jobs = present(creation).into_iter();
    let jobs = jobs.filter_map(|job| {
        let why = match causes {
            None => why(job),
            Some(causes) => causes.get(job.name())?.to_string(),
        };
        Some(PlanJob {
            definition: &job.shown,
            why,
            usual: None,
        })
    });
    jobs.collect()
}

/// Returns a description of the rule that included the job.
fn why(job: &CreatedJob) -> String {
    let Some(at) = job.rule else {
        return String::new();
    };
    let condition = job.resolved.rules.entries().get(at).map(condition);
    format!("rule {}: {}", at + 1, condition.unwrap_or_default())
}

/// Returns a short description of a rule's conditions.
fn condition(rule: &Rule) -> String {
    let mut words = Vec::new();
    if let Some(condition) = &rule.condition {
        words.push(format!("if {}", condition.value.text()));
    }
    if let Some(changes) = &rule.changes {
        words.push(format!("changes {}", few(&changes.paths)));
    }
    if let Some(exists) = &rule.exists {
        words.push(format!("exists {}", few(&exists.paths)));
    }
    if words.is_empty() {
        return "always".to_owned();
    }
    words.join(" and ")
}

/// Returns a shortened list.
fn few(paths: &[String]) -> String {
    match paths {
        [first, rest @ ..] if rest.len() > 1 => format!("{first} and {} more", rest.len()),
        _ => paths.join(", "),
    }
}
