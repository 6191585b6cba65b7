use super::pipeline_options::{find_project, pipeline_options};
use super::stdout::{print, print_json};
use crate::args::{LintArgs, LintFormat};
use crate::failure::{Exit, Failure};
use console::{Style, counted, diagnostics_text, in_file_order, sarif};
use pipeline::parity;
use serde::Serialize;
use yaml::diagnostic::{Diagnostic, DiagnosticRecord, Diagnostics, Severity};

/// Checks the pipeline file.
pub(crate) fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let mut project = args.project.clone();
    project.file = args.path.clone().or(project.file);
    let options = pipeline_options(&project)?;
    let project = find_project(&project)?;
    let file = project.file().display().to_string();
    let checked = match project.read(&options) {
        Ok(checked) => checked,
        Err(error) => {
            let failure = Failure::from(error);
            return unreadable(args, &file, failure);
        }
    };
    let mut found = checked.diagnostics;
    // Keywords that have no effect here matter only once the file is valid.
    if let Some(pipeline) = checked.value.filter(|_| !found.has_errors()) {
        pipeline.check_creation(&mut found);
        parity::diagnose(pipeline.loaded().tree(), &mut found);
    }
    let refused = if args.strict { of_file(&found) } else { 0 };
    match args.format() {
        LintFormat::Text => {
            let least = if args.notes {
                Severity::Note
            } else {
                Severity::Warning
            };
            let text = diagnostics_text(&found, least, Style::of_stdout());
            let gap = if text.is_empty() { "" } else { "\n" };
            let sentence = sentence(&found, invalid_file(&found).unwrap_or(&file), args.notes);
            let strict = match refused {
                0 => String::new(),
                refused => format!(" --strict refuses {}.", counted(refused, "warning")),
            };
            print(format!("{text}{gap}{sentence}{strict}\n"))?;
        }
        LintFormat::Json => print_json(&Verdict::of(&found))?,
        LintFormat::Sarif => {
            let records: Vec<_> = in_file_order(&found)
                .into_iter()
                .map(|finding| DiagnosticRecord::new(finding, found.sources()))
                .collect();
            print_json(&sarif(&records, &file))?;
        }
    }
    Ok(if found.has_errors() || refused > 0 {
        Exit::Usage
    } else {
        Exit::Success
    })
}

/// Reports a file that could not be read, in the requested format.
fn unreadable(args: &LintArgs, file: &str, failure: Failure) -> Result<Exit, Failure> {
    let error = DiagnosticRecord {
        code: "unreadable-file",
        severity: Severity::Error,
        message: failure.message(),
        file: Some(file.to_owned()),
        line: None,
        column: None,
        end_line: None,
        end_column: None,
        related: Vec::new(),
        help: failure.help().map(ToOwned::to_owned),
    };
    match args.format() {
        LintFormat::Text => return Err(failure),
        LintFormat::Sarif => print_json(&sarif(&[error], file))?,
        LintFormat::Json => print_json(&Verdict {
            valid: false,
            errors: vec![error],
            warnings: Vec::new(),
            notes: Vec::new(),
        })?,
    }
    Ok(failure.exit())
}

#[derive(Serialize)]
struct Verdict {
    valid: bool,
    errors: Vec<DiagnosticRecord>,
    warnings: Vec<DiagnosticRecord>,
    notes: Vec<DiagnosticRecord>,
}

impl Verdict {
    fn of(found: &Diagnostics) -> Self {
        Self {
            valid: !found.has_errors(),
            errors: found.records(Severity::Error),
            warnings: found.records(Severity::Warning),
            notes: found.records(Severity::Note),
        }
    }
}

/// Counts the warnings about the file itself, without those about differences of a local run.
fn of_file(found: &Diagnostics) -> usize {
    let is_of_file = |warning: &&Diagnostic| warning.code != parity::CODE;
    found.warnings().filter(is_of_file).count()
}

/// Returns the file of variables whose error kept the pipeline file from being read, if there is one.
fn invalid_file(found: &Diagnostics) -> Option<&str> {
    let mut files = found
        .errors()
        .filter_map(|error| Some(found.sources().file(error.span?.file)));
    Some(files.find(|file| file.is_private())?.name())
}

fn sentence(found: &Diagnostics, file: &str, with_notes: bool) -> String {
    let file = console::strip_controls(file);
    let (errors, warnings) = (found.errors().count(), found.warnings().count());
    let notes = found.notes().count();
    let verdict = match (errors, warnings) {
        (0, 0) => format!("{file} is valid."),
        (0, warnings) => format!("{file} is valid, with {}.", counted(warnings, "warning")),
        (errors, 0) => format!("{file} is invalid: {}.", counted(errors, "error")),
        (errors, warnings) => format!(
            "{file} is invalid: {}, {}.",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    };
    match notes {
        notes if notes > 0 && !with_notes => {
            format!("{verdict} --notes shows {} more.", counted(notes, "note"))
        }
        _ => verdict,
    }
}
