use super::project_runs::{ProjectRuns, print_killed_runs};
use super::stdout::{print, print_json};
use crate::args::HistoryArgs;
use crate::failure::{Exit, Failure};
use console::reports::history::{ShownRun, nested, table};
use console::{Style, error_line};
use std::num::NonZeroUsize;
use workstation::{LocalError, Runs, RunsError};

/// Shows the runs of the project, or of all projects.
pub(crate) fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let past = ProjectRuns::find(&args.place)?;
    let mut projects = vec![past.runs.clone()];
    if args.all {
        projects = past.state.all_runs().map_err(LocalError::from)?;
        for runs in &projects {
            print_killed_runs(runs, None);
        }
    }
    let mut shown = Vec::new();
    let mut unreadable = Vec::new();
    for runs in &projects {
        gather(runs, &mut shown, &mut unreadable)?;
    }
    let mut shown = nested(shown);
    shown.truncate(args.number.map_or(usize::MAX, NonZeroUsize::get));
    if args.json {
        print_json(&shown)?;
    } else if shown.is_empty() && unreadable.is_empty() {
        error_line("nothing has been run yet");
    } else {
        print(table(&shown, args.all, Style::of_stdout()))?;
    }
    let exit = if unreadable.is_empty() {
        Exit::Success
    } else {
        Exit::Environment
    };
    for error in unreadable {
        Failure::from(LocalError::from(error)).report();
    }
    Ok(exit)
}

/// Adds the runs of a project, and the reasons why some cannot be shown.
fn gather(
    runs: &Runs,
    shown: &mut Vec<ShownRun>,
    unreadable: &mut Vec<RunsError>,
) -> Result<(), Failure> {
    for run in runs.each().map_err(LocalError::from)? {
        let read = run.and_then(|run| {
            let history = run.history()?;
            Ok((run, history))
        });
        match read {
            Ok((run, history)) => {
                shown.push(ShownRun::of(&run, &history));
                unreadable.extend(run.damage(&history));
            }
            Err(error) => unreadable.push(error),
        }
    }
    Ok(())
}
