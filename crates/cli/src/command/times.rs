use super::project_runs::ProjectRuns;
use super::stdout::{print, print_json};
use crate::args::TimesArgs;
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow};
use console::reports::times::{JobTimes, one, path, place, table};
use console::{Style, Tone, error_line, print_notes};
use scheduler::CriticalStep;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;
use workstation::{JobPlace, JobTime, LocalError, PastTimes, Run};
use yaml::suggest::did_you_mean;

/// The version of the `--json` format.
const VERSION: u32 = 1;

/// Shows how long the jobs of the project take.
pub(crate) fn times(args: &TimesArgs) -> Result<Exit, Failure> {
    let past = ProjectRuns::find(&args.place)?;
    let durations = past.project.durations();
    let known = durations
        .read()
        .with_context(|| format!("read {}", durations.path().display()))
        .map_err(Failure::environment)?;
    if known.damaged > 0 {
        print_notes(["some times cannot be read and are ignored"]);
    }
    let places = gather(&known, args.job.as_deref())?;
    let last = match &args.job {
        Some(_) => None,
        None => last_path(&past)?,
    };
    if args.json {
        print_json(&Document::of(&places, last.as_ref()))?;
    } else if places.is_empty() && last.is_none() {
        error_line("there are no times yet: they are recorded when jobs succeed");
    } else {
        print(shown(&places, last.as_ref(), args.job.is_some()))?;
    }
    Ok(Exit::Success)
}

/// Times by job name, for one [`JobPlace`].
type Jobs<'k> = BTreeMap<&'k str, Vec<JobTime>>;

/// Returns the times of one job or of all, grouped by where they ran.
fn gather<'k>(
    known: &'k PastTimes,
    job: Option<&str>,
) -> Result<Vec<(&'k JobPlace, Jobs<'k>)>, Failure> {
    let places = known.places().into_iter();
    let mut places: Vec<(&JobPlace, Jobs<'_>)> = places
        .map(|place| (place, known.of_place(place).into_iter().collect()))
        .collect();
    let Some(job) = job else {
        return Ok(places);
    };
    let names: Vec<String> = places
        .iter()
        .flat_map(|(_, jobs)| jobs.keys().map(ToString::to_string))
        .collect();
    for (_, jobs) in &mut places {
        jobs.retain(|name, _| *name == job);
    }
    places.retain(|(_, jobs)| !jobs.is_empty());
    if places.is_empty() {
        let failure = Failure::usage(anyhow!("there are no times of a job {job:?}"));
        let names = names.iter().map(String::as_str);
        return Err(match did_you_mean(job, names) {
            Some(help) => failure.with_help(help),
            None => failure.with_help("`runwright times` shows all that are known"),
        });
    }
    Ok(places)
}

/// The critical path of the last run.
struct LastPath {
    run: u64,
    steps: Vec<CriticalStep>,
}

fn last_path(past: &ProjectRuns) -> Result<Option<LastPath>, Failure> {
    let runs = past.runs.list().map_err(LocalError::from)?;
    let is_first = |run: &&Run| run.record().parent.is_none();
    let Some(run) = runs.iter().find(is_first) else {
        return Ok(None);
    };
    let steps = run.course().map_err(LocalError::from)?.critical_path();
    let run = run.id();
    Ok((!steps.is_empty()).then_some(LastPath { run, steps }))
}

fn shown(places: &[(&JobPlace, Jobs<'_>)], last: Option<&LastPath>, is_one: bool) -> String {
    let style = Style::of_stdout();
    let mut text = String::new();
    for (number, (at, jobs)) in places.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        if places.len() > 1 {
            let _ = writeln!(text, "{}", style.paint(Tone::Quiet, &place(at)));
        }
        let jobs = jobs.iter();
        let jobs: Vec<JobTimes<'_>> = jobs.map(|(job, times)| JobTimes { job, times }).collect();
        if is_one {
            text.extend(jobs.iter().map(|job| one(job, style)));
        } else {
            text.push_str(&table(&jobs, style));
        }
    }
    if let Some(last) = last {
        let head = format!("critical path of run {}:", last.run);
        let head = style.paint(Tone::Quiet, &head);
        let _ = writeln!(text, "{head} {}", path(&last.steps));
    }
    text
}

#[derive(Serialize)]
struct Document<'t> {
    version: u32,
    places: Vec<PlaceDocument<'t>>,
    last_run: Option<PathDocument<'t>>,
}

#[derive(Serialize)]
struct PlaceDocument<'t> {
    executor: &'t str,
    in_place: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'t str>,
    jobs: Vec<JobDocument<'t>>,
}

#[derive(Serialize)]
struct JobDocument<'t> {
    job: &'t str,
    usual_ms: Option<u64>,
    last_ms: Option<u64>,
    trend: Option<TrendDocument>,
    times: Vec<TimeDocument>,
}

#[derive(Serialize)]
struct TrendDocument {
    slower: bool,
    since_run: u64,
    before_ms: u64,
    now_ms: u64,
}

#[derive(Serialize)]
struct TimeDocument {
    run: u64,
    at: jiff::Timestamp,
    took_ms: u64,
}

#[derive(Serialize)]
struct PathDocument<'t> {
    run: u64,
    critical_path: Vec<StepDocument<'t>>,
}

#[derive(Serialize)]
struct StepDocument<'t> {
    job: &'t str,
    waited_ms: u64,
    took_ms: u64,
}

impl<'t> Document<'t> {
    fn of(places: &'t [(&JobPlace, Jobs<'_>)], last: Option<&'t LastPath>) -> Self {
        let places = places.iter().map(|(place, jobs)| PlaceDocument {
            executor: &place.executor,
            in_place: place.in_place,
            file: place.file.as_deref(),
            jobs: jobs
                .iter()
                .map(|(job, times)| JobDocument::of(job, times))
                .collect(),
        });
        let last_run = last.map(|last| PathDocument {
            run: last.run,
            critical_path: last.steps.iter().map(StepDocument::of).collect(),
        });
        Self {
            version: VERSION,
            places: places.collect(),
            last_run,
        }
    }
}

impl<'t> JobDocument<'t> {
    fn of(job: &'t str, times: &[JobTime]) -> Self {
        let known = JobTimes { job, times };
        Self {
            job,
            usual_ms: known.usual().map(|usual| millis(usual.median)),
            last_ms: times.last().map(|time| millis(time.took)),
            trend: known.trend().map(|(trend, run)| TrendDocument {
                slower: trend.is_slower(),
                since_run: run,
                before_ms: millis(trend.before),
                now_ms: millis(trend.now),
            }),
            times: times.iter().map(TimeDocument::of).collect(),
        }
    }
}

impl TimeDocument {
    fn of(time: &JobTime) -> Self {
        Self {
            run: time.run,
            at: time.at,
            took_ms: millis(time.took),
        }
    }
}

impl<'t> StepDocument<'t> {
    fn of(step: &'t CriticalStep) -> Self {
        Self {
            job: &step.job,
            waited_ms: millis(step.waited),
            took_ms: millis(step.took),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
