//! Questions at the terminal.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::terminal::while_asking;
use console::{OutputFeatures, columns, fit, strip_controls};
use inquire::list_option::ListOption;
use inquire::validator::{ErrorMessage, Validation};
use inquire::{InquireError, MultiSelect, Select};
use std::fmt;
use std::io;
use yaml::suggest::first_names;

/// The columns before a row.
const MARGIN: usize = 8;
/// The lines of the question and its help.
const FRAME: usize = 4;
/// The most rows shown at once.
const MOST_ROWS: usize = 20;

/// The most jobs that an error names.
const MOST_NAMED: usize = 10;

/// The size of a terminal that does not report one.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Returns whether the user can be asked: input and output are a terminal, and this is not CI.
pub(crate) fn can_ask() -> bool {
    OutputFeatures::for_questions().can_ask()
}

/// Asks for one of the rows; `None` when the user leaves.
pub(super) fn one_of(question: &str, rows: &[String]) -> Result<Option<usize>, Failure> {
    let (options, page) = options(rows);
    let asking = Select::new(question, options)
        .with_page_size(page)
        .with_scorer(&|input, row, _, at| score(input, row, at))
        .with_help_message("arrows move, letters filter, enter chooses, esc quits");
    let asked = while_asking(|| asking.raw_prompt());
    answered(asked, |row| row.index)
}

/// Asks for the job that a command needs, if there are several; `None` when the user leaves.
///
/// # Errors
///
/// When the user cannot be asked, or there is no job.
pub(super) fn one_job(question: &str, rows: &[String]) -> Result<Option<usize>, Failure> {
    match rows {
        [] => Err(Failure::usage(anyhow!("there is no such job"))),
        [_] => Ok(Some(0)),
        _ if can_ask() => one_of(question, rows),
        _ => {
            let names: Vec<_> = rows.iter().map(|row| first_word(row)).collect();
            let names = first_names(&names, MOST_NAMED);
            Err(Failure::usage(anyhow!("name a job")).with_help(format!("the jobs are {names}")))
        }
    }
}

/// Returns the name that a row begins with.
fn first_word(row: &str) -> String {
    strip_controls(row.split("  ").next().unwrap_or(row))
}

/// Asks for some of the rows, at least one; `None` when the user leaves.
pub(super) fn some_of(question: &str, rows: &[String]) -> Result<Option<Vec<usize>>, Failure> {
    let (options, page) = options(rows);
    let asking = MultiSelect::new(question, options)
        .with_page_size(page)
        .with_scorer(&|input, row, _, at| score(input, row, at))
        // After one job, the user looks for the next with a new filter.
        .with_keep_filter(false)
        .with_formatter(&|rows| format!("{} of them", rows.len()))
        .with_validator(|rows: &[ListOption<&Row>]| {
            Ok(if rows.is_empty() {
                let message = "mark at least one with the space key; esc quits";
                Validation::Invalid(ErrorMessage::Custom(message.to_owned()))
            } else {
                Validation::Valid
            })
        })
        .with_help_message(
            "space marks, letters filter, right marks all, enter continues, esc quits",
        );
    let asked = while_asking(|| asking.raw_prompt());
    answered(asked, |rows| {
        let mut places: Vec<usize> = rows.iter().map(|row| row.index).collect();
        places.sort_unstable();
        places
    })
}

/// A row of a list: the shown text, and the text that the filter matches.
#[derive(Debug, Clone)]
struct Row {
    shown: String,
    whole: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn score(input: &str, row: &Row, at: usize) -> Option<i64> {
    Select::<Row>::DEFAULT_SCORER(input, row, &row.whole, at)
}

/// Returns the rows, cut to the width of the terminal, and how many are shown at once.
fn options(rows: &[String]) -> (Vec<Row>, usize) {
    let (width, height) = size();
    let width = width.saturating_sub(MARGIN).max(MARGIN);
    let options = rows.iter().map(|row| {
        let whole = strip_controls(row);
        let shown = if columns(&whole) > width {
            fit(&whole, width, "...").trim_end().to_owned()
        } else {
            whole.clone()
        };
        Row { shown, whole }
    });
    let page = height.saturating_sub(FRAME).clamp(1, MOST_ROWS);
    (options.collect(), page)
}

fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    size.ok()
        .filter(|&(width, height)| width > 0 && height > 0)
        .unwrap_or(USUAL_SIZE)
}

fn answered<A, T>(
    asked: io::Result<Result<A, InquireError>>,
    take: impl FnOnce(A) -> T,
) -> Result<Option<T>, Failure> {
    match asked.unwrap_or_else(|error| Err(InquireError::IO(error))) {
        Ok(answer) => Ok(Some(take(answer))),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Ok(None),
        Err(InquireError::IO(error)) => Err(error)
            .context("ask at the terminal")
            .map_err(Failure::environment),
        Err(error) => Err(Failure::environment(anyhow!(
            "ask at the terminal: {error}"
        ))),
    }
}
