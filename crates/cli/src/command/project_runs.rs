//! The runs of a project, and how commands find runs and jobs among them.

use crate::args::PlaceArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use console::{CHILD_SEPARATOR, Style, Tone, counted, error_line, shell_quoted, shown_name};
use jiff::Timestamp;
use pipeline::selector::{self, NamedJob, NoMatch};
use scheduler::Status;
use scheduler::event::ParentJob;
use std::path::Path;
use workstation::{
    JobHistory, LocalError, LocalProject, ProjectState, Run, RunHistory, RunState, Runs, StateDir,
    end_orphans,
};
use yaml::suggest::{did_you_mean, first_names};

/// The runs of the project that a command is about.
pub(super) struct ProjectRuns {
    pub(super) state: StateDir,
    pub(super) project: ProjectState,
    pub(super) runs: Runs,
}

impl ProjectRuns {
    /// Finds the runs, ends the processes of killed ones, and prints what earlier runs left for the user to do.
    pub(super) fn find(place: &PlaceArgs) -> Result<Self, Failure> {
        let past = Self::open(place)?;
        let ended = end_orphans(&past.state)?;
        if ended > 0 {
            let note = Style::of_stderr().paint(Tone::Warning, "note:");
            let runs = counted(ended, "killed run");
            error_line(&format!("{note} ended the processes of {runs}"));
        }
        print_leftovers(&past.project);
        Ok(past)
    }

    /// Finds the runs, and the run to resume: the one of this number, or the last one. The notes on
    /// leftovers do not suggest resuming it.
    pub(super) fn find_to_resume(
        place: &PlaceArgs,
        number: Option<u64>,
    ) -> Result<(Self, Run), Failure> {
        let past = Self::open(place)?;
        let run = past.run(number);
        print_leftovers_except(&past.project, run.as_ref().ok().map(Run::id));
        Ok((past, run?))
    }

    /// Finds the runs, and prints nothing.
    pub(super) fn open(place: &PlaceArgs) -> Result<Self, Failure> {
        Self::open_in(place.cwd.as_deref().unwrap_or(Path::new(".")))
    }

    /// Finds the runs of the project of a directory, and prints nothing.
    pub(super) fn open_in(directory: &Path) -> Result<Self, Failure> {
        let project = LocalProject::find(directory, None)?;
        let state = StateDir::of_user().map_err(LocalError::from)?;
        let project = state.project(project.root());
        let runs = project.runs();
        Ok(Self {
            state,
            project,
            runs,
        })
    }

    /// Returns the runs that run now, the newest first, without child pipelines.
    pub(super) fn running(&self) -> Result<Vec<Run>, Failure> {
        let mut running = self.runs.list().map_err(LocalError::from)?;
        running.retain(|run| {
            // A run is canceled together with its child pipelines.
            if run.record().parent.is_some() {
                return false;
            }
            let history = run.history().unwrap_or_default();
            matches!(run.state(&history), RunState::Running { .. })
        });
        Ok(running)
    }

    /// Returns the run of this number, or the last one.
    pub(super) fn run(&self, number: Option<u64>) -> Result<Run, Failure> {
        let found = match number {
            Some(number) => self.runs.find(number),
            None => self.runs.latest(),
        };
        Ok(found.map_err(LocalError::from)?)
    }

    /// Returns the run that has the job of this name. `deploy > build`, as a running pipeline shows it,
    /// names a job of a child pipeline.
    pub(super) fn owner<'n>(&self, run: Run, name: &'n str) -> Result<(Run, &'n str), Failure> {
        let history = history(&run)?;
        if history.job(name).is_some() {
            return Ok((run, name));
        }
        for (at, _) in name.match_indices(CHILD_SEPARATOR) {
            let (job, below) = (&name[..at], &name[at + CHILD_SEPARATOR.len()..]);
            if history.job(job).is_some()
                && let Some(child) = self.child(&run, job)?
            {
                return self.owner(child, below);
            }
        }
        Ok((run, name))
    }

    /// Refuses the number of a run in place of a job of the last run; `command` needs a job.
    pub(super) fn refuse_number(&self, command: &str, words: &[String]) -> Result<(), Failure> {
        let [word] = words else {
            return Ok(());
        };
        let Ok(number) = word.parse() else {
            return Ok(());
        };
        if history(&self.run(None)?)?.job(word).is_some() {
            return Ok(());
        }
        // The last run is reported to have no such job if there is no such run either.
        let Ok(run) = self.run(Some(number)) else {
            return Ok(());
        };
        let history = history(&run)?;
        let failure = Failure::usage(anyhow!("{number} is a run; name its job too"));
        let first = history.planned().next();
        let job = first.map_or_else(|| "JOB".to_owned(), |job| shell_quoted(&job.name));
        let jobs = jobs_of(&history).map_or_else(String::new, |jobs| format!("; {jobs}"));
        Err(failure.with_help(format!("`runwright {command} {number} {job}`{jobs}")))
    }

    /// Returns the child pipeline that a job of a run started last.
    pub(super) fn child(&self, run: &Run, job: &str) -> Result<Option<Run>, Failure> {
        Ok(self.runs.child_of(run, job).map_err(LocalError::from)?)
    }

    /// Returns the run that the user started: the run itself, or the outermost parent of a child pipeline.
    ///
    /// # Errors
    ///
    /// When a run of another project started it.
    pub(super) fn top(&self, run: &Run) -> Result<Run, Failure> {
        let mut top = run.clone();
        while let Some(parent) = top.record().parent.clone() {
            if parent.project.is_some() {
                return Err(started_elsewhere(&top, &parent));
            }
            // A child is younger than its parent.
            if parent.pipeline.0 >= top.id() {
                break;
            }
            top = self.run(Some(parent.pipeline.0))?;
        }
        Ok(top)
    }
}

fn started_elsewhere(run: &Run, parent: &ParentJob) -> Failure {
    let error = anyhow!(
        "run {} was started by job {:?} of run {} of another project",
        run.id(),
        parent.job,
        parent.pipeline
    );
    let failure = Failure::usage(error);
    match &run.record().above {
        Some(above) => {
            let above = shell_quoted(&above.display().to_string());
            let pipeline = parent.pipeline;
            failure.with_help(format!(
                "`runwright resume -C {above} {pipeline}` continues both"
            ))
        }
        None => failure,
    }
}

/// Prints what earlier runs left for the user to do: killed runs, once each, and environments whose
/// `auto_stop_in` has expired.
pub(super) fn print_leftovers(project: &ProjectState) {
    print_leftovers_except(project, None);
}

fn print_leftovers_except(project: &ProjectState, resumed: Option<u64>) {
    print_killed_runs(&project.runs(), resumed);
    // The commands that need the list report why it cannot be read.
    let due = project.environments().due(Timestamp::now());
    let names: Vec<_> = due
        .iter()
        .flatten()
        .map(|it| shown_name(&it.name))
        .collect();
    if !names.is_empty() {
        let style = Style::of_stderr();
        error_line(&format!(
            "{} environments due to stop: {}; stop them with `runwright environments stop --due`",
            style.paint(Tone::Warning, "note:"),
            names.join(", ")
        ));
    }
}

/// Prints once which runs were killed, and how to resume them, except for `resumed`.
pub(super) fn print_killed_runs(runs: &Runs, resumed: Option<u64>) {
    let style = Style::of_stderr();
    for killed in runs.take_killed() {
        let note = style.paint(Tone::Warning, "note:");
        let id = killed.id;
        error_line(&match resumed {
            Some(it) if it == id => format!("{note} {killed}"),
            _ => format!("{note} {killed}; `runwright resume {id}` continues it"),
        });
    }
}

/// Reads the history of a run.
pub(super) fn history(run: &Run) -> Result<RunHistory, Failure> {
    Ok(run.history().map_err(LocalError::from)?)
}

/// Returns whether a job waits for the user.
pub(super) fn waits(job: &JobHistory) -> bool {
    matches!(job.status, Status::Manual | Status::Scheduled)
}

/// Returns the names of the jobs that wait for the user, in the run of this number or the last one of a directory; none
/// if they cannot be read.
pub(crate) fn waiting_jobs(directory: &Path, number: Option<u64>) -> Vec<String> {
    let read = || -> Result<Vec<String>, Failure> {
        let history = history(&ProjectRuns::open_in(directory)?.run(number)?)?;
        let waiting = history.planned().filter(|job| waits(job));
        Ok(waiting.map(|job| job.name.clone()).collect())
    };
    read().unwrap_or_default()
}

/// Returns the job of this name in a run.
pub(super) fn job<'h>(
    run: &Run,
    history: &'h RunHistory,
    name: &str,
) -> Result<&'h JobHistory, Failure> {
    history.job(name).ok_or_else(|| {
        let names = history.planned().map(|job| job.name.as_str());
        let help = did_you_mean(name, names).or_else(|| jobs_of(history));
        let failure = Failure::usage(anyhow!("run {} has no job {name:?}", run.id()));
        match help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    })
}

/// Returns the jobs of a run that `text` selects: a name, a glob, or instances by their variables.
pub(super) fn jobs<'h>(
    run: &Run,
    history: &'h RunHistory,
    text: &str,
) -> Result<Vec<&'h JobHistory>, Failure> {
    if let Some(job) = history.job(text) {
        return Ok(vec![job]);
    }
    let planned: Vec<_> = history.planned().collect();
    let named: Vec<_> = planned
        .iter()
        .map(|job| NamedJob::new(&job.name, &job.matrix))
        .collect();
    match selector::find(text, &named) {
        Ok(selected) => Ok(selected.indices.into_iter().map(|at| planned[at]).collect()),
        // The error for an unknown name lists the existing names.
        Err(NoMatch::Job { .. } | NoMatch::Glob { .. }) => {
            job(run, history, text).map(|job| vec![job])
        }
        Err(error) => {
            let failure = Failure::usage(anyhow!("run {}: {error}", run.id()));
            Err(match jobs_of(history) {
                Some(help) => failure.with_help(help),
                None => failure,
            })
        }
    }
}

/// An error names at most this many jobs.
const MOST_NAMES: usize = 10;

fn jobs_of(history: &RunHistory) -> Option<String> {
    let names: Vec<_> = history.planned().map(|job| shown_name(&job.name)).collect();
    let list = first_names(&names, MOST_NAMES);
    (!names.is_empty()).then(|| format!("its jobs: {list}"))
}

/// Splits `[RUN] REST...`: a leading number is a run.
pub(super) fn split_run(words: &[String]) -> (Option<u64>, &[String]) {
    match words {
        [first, rest @ ..] => match first.parse() {
            Ok(number) => (Some(number), rest),
            Err(_) => (None, words),
        },
        [] => (None, words),
    }
}

/// Splits `[RUN] JOB`: a single word is a job, even if it is a number.
pub(super) fn run_and_job(words: &[String]) -> Result<(Option<u64>, &str), Failure> {
    match words {
        [job] => Ok((None, job)),
        [run, job] => match run.parse() {
            Ok(number) => Ok((Some(number), job)),
            Err(_) => Err(
                Failure::usage(anyhow!("{run:?} is not the number of a run")).with_help(
                    "`runwright history` shows the runs; a job name with spaces needs quotes",
                ),
            ),
        },
        _ => Err(Failure::usage(anyhow!("name one job"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_number_selects_a_run() {
        let check = |text: &str, run: Option<u64>, rest: &[&str]| {
            let words: Vec<String> = text.split_whitespace().map(ToOwned::to_owned).collect();
            assert_eq!(split_run(&words).0, run, "{text}");
            assert_eq!(split_run(&words).1, rest, "{text}");
        };
        check("", None, &[]);
        check("12", Some(12), &[]);
        check("12 test", Some(12), &["test"]);
        check("test 12", None, &["test", "12"]);
        check("-1", None, &["-1"]);
        let words = |text: &str| -> Vec<String> {
            text.split_whitespace().map(ToOwned::to_owned).collect()
        };
        assert_eq!(run_and_job(&words("12")).unwrap(), (None, "12"));
        assert_eq!(run_and_job(&words("3 12")).unwrap(), (Some(3), "12"));
        assert!(run_and_job(&words("a b")).is_err());
    }
}
