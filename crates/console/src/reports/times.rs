//! How long jobs and runs take.

use crate::text::{Style, Tone, columns, fit, seconds, shown_name, strip_controls};
use executor_core::ChangedFiles;
use pipeline_insight::forecast::{LEAST_RUNS, Trend, Usual, trend};
use scheduler::CriticalStep;
use scheduler::PipelineReport;
use std::fmt::Write as _;
use std::time::Duration;
use workstation::{JobPlace, JobTime};

/// A run that takes less time is over before anybody has read how long it will take.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

/// Of shorter runs, the summary does not show by itself where the time went.
const WORTH_A_LINE: Duration = Duration::from_secs(10);

/// How many names of files stand in a line.
const NAMES: usize = 5;

/// Returns a chain of jobs with their times: `build 12.3s, test 41.2s`; what they waited is said where
/// it took time.
pub fn path(steps: &[CriticalStep]) -> String {
    let step = |step: &CriticalStep| {
        let waited = if step.waited >= WORTH_A_WORD {
            format!("waiting {}, ", seconds(step.waited))
        } else {
            String::new()
        };
        format!("{waited}{} {}", shown_name(&step.job), seconds(step.took))
    };
    let steps: Vec<String> = steps.iter().map(step).collect();
    steps.join(", ")
}

/// Adds to a summary where the time went, what was slower than usual, and which tracked files changed;
/// `all` also where it is no news.
pub(super) fn summary(text: &mut String, report: &PipelineReport, all: bool, style: Style) {
    let mut lines = Vec::new();
    let head = |word: &str| style.paint(Tone::Quiet, word);
    if let Some(times) = &report.times {
        let is_news = times.path.len() > 1 && report.duration >= WORTH_A_LINE;
        if !times.path.is_empty() && (all || is_news) {
            lines.push(format!("{} {}", head("critical path:"), path(&times.path)));
        }
        for slower in &times.slower {
            let name = style.paint(Tone::Strong, &shown_name(&slower.job));
            let (took, usual) = (seconds(slower.took), seconds(slower.usual));
            let word = style.paint(Tone::Warning, "slower:");
            lines.push(format!("{word} {name} took {took}, usually {usual}"));
        }
    }
    changed(&mut lines, report, "", style);
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
}

/// Adds a line for each job that changed tracked files, those of pipelines that jobs started too.
fn changed(lines: &mut Vec<String>, report: &PipelineReport, above: &str, style: Style) {
    for job in &report.jobs {
        if let Some(changed) = &job.products.changed {
            let name = shown_name(&format!("{above}{}", job.name));
            lines.push(format!(
                "{} {}: {}",
                style.paint(Tone::Warning, "changed tracked files:"),
                style.paint(Tone::Strong, &name),
                files(changed)
            ));
        }
    }
    for child in &report.children {
        let above = format!("{above}{}{}", child.job, crate::model::CHILD_SEPARATOR);
        changed(lines, &child.report, &above, style);
    }
}

/// Returns the names of the first files and how many more there are.
pub(crate) fn files(changed: &ChangedFiles) -> String {
    let names = changed.first.iter().take(NAMES);
    let names: Vec<String> = names.map(|name| strip_controls(&one_line(name))).collect();
    let more = changed.count.saturating_sub(names.len() as u64);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let who = if changed.is_certain {
        ""
    } else {
        " (it, or a job that ran at the same time)"
    };
    format!("{}{more}{who}", names.join(", "))
}

fn one_line(name: &str) -> String {
    name.replace(['\n', '\r', '\t'], " ")
}

/// The known times of one job.
#[derive(Debug)]
pub struct JobTimes<'t> {
    /// The job.
    pub job: &'t str,
    /// Its last times, the oldest first.
    pub times: &'t [JobTime],
}

impl JobTimes<'_> {
    /// Returns its times alone.
    pub(crate) fn took(&self) -> Vec<Duration> {
        self.times.iter().map(|time| time.took).collect()
    }

    /// Returns the usual time, if it is known.
    pub fn usual(&self) -> Option<Usual> {
        Usual::of(&self.took())
    }

    /// Returns since which run it takes longer, or not as long.
    pub fn trend(&self) -> Option<(Trend, u64)> {
        let trend = trend(&self.took())?;
        Some((trend, self.times.get(trend.since)?.run))
    }
}

/// Returns where jobs ran: `shell`, `shell, in place`, `shell, ci/other.yml`.
pub fn place(place: &JobPlace) -> String {
    let mut text = place.executor.clone();
    if place.in_place {
        text.push_str(", in place");
    }
    if let Some(file) = &place.file {
        text.push_str(", ");
        text.push_str(file);
    }
    strip_controls(&text)
}

/// Returns a table of jobs: how long they usually take, took last, and whether that changed.
pub fn table(jobs: &[JobTimes<'_>], style: Style) -> String {
    let names = jobs.iter().map(|job| columns(&shown_name(job.job)));
    let width = names.max().unwrap_or(0).clamp(3, 40);
    let head = format!(
        "{}  {:>9}  {:>9}  runs",
        fit("job", width, ""),
        "usually",
        "last"
    );
    let mut text = style.paint(Tone::Quiet, &head);
    text.push('\n');
    for job in jobs {
        let usual = job.usual().map(|usual| seconds(usual.median));
        let last = job.times.last().map(|time| seconds(time.took));
        let name = fit(&shown_name(job.job), width, style.ellipsis());
        let line = format!(
            "{}  {:>9}  {:>9}  {:>4}  {}",
            style.paint(Tone::Strong, &name),
            usual.unwrap_or_else(|| "?".to_owned()),
            last.unwrap_or_default(),
            job.times.len(),
            job.trend()
                .map(|it| changed_since(it, style))
                .unwrap_or_default(),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn changed_since((trend, run): (Trend, u64), style: Style) -> String {
    let (word, tone) = if trend.is_slower() {
        ("slower", Tone::Warning)
    } else {
        ("faster", Tone::Good)
    };
    format!(
        "{} since run {run}: {}, before {}",
        style.paint(tone, word),
        seconds(trend.now),
        seconds(trend.before)
    )
}

/// Returns the details of one job.
pub fn one(job: &JobTimes<'_>, style: Style) -> String {
    let mut text = String::new();
    let name = style.paint(Tone::Strong, &shown_name(job.job));
    let usual = job.usual();
    let _ = match &usual {
        Some(usual) => writeln!(text, "{name} usually takes {}", seconds(usual.median)),
        None => writeln!(
            text,
            "{name}: its usual time is known after {LEAST_RUNS} runs"
        ),
    };
    if let Some(trend) = job.trend() {
        let _ = writeln!(text, "{}", changed_since(trend, style));
    }
    for (at, time) in job.times.iter().enumerate() {
        let earlier = Usual::of(&job.took()[..at]);
        let is_slower = earlier.is_some_and(|earlier| earlier.is_exceeded_by(time.took));
        let remark = if is_slower {
            "  slower than before"
        } else {
            ""
        };
        let line = format!("  run {:<5} {:>9}{remark}", time.run, seconds(time.took));
        let _ = writeln!(text, "{line}");
    }
    text
}
