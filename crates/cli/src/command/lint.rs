use super::{find_project, print};
use crate::args::LintArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::diagnostics;
use runwright::pipeline::diagnostic::{DiagnosticRecord, Diagnostics, Severity};
use serde::Serialize;

#[derive(Serialize)]
struct Verdict {
    valid: bool,
    errors: Vec<DiagnosticRecord>,
    warnings: Vec<DiagnosticRecord>,
}

impl Verdict {
    /// Returns the verdict on a file that could not even be read.
    fn unreadable(file: String, failure: &Failure) -> Self {
        let error = DiagnosticRecord {
            code: "unreadable-file",
            severity: Severity::Error,
            message: failure.message(),
            file: Some(file),
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            related: Vec::new(),
            help: failure.help().map(ToOwned::to_owned),
        };
        Self {
            valid: false,
            errors: vec![error],
            warnings: Vec::new(),
        }
    }
}

fn print_json(verdict: &Verdict) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(verdict).map_err(Failure::environment)? + "\n")
}

/// Checks the pipeline file.
pub(crate) fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let project = find_project(&args.project)?;
    super::variables(&args.project)?;
    let found = match project.pipeline() {
        Ok(checked) => checked.diagnostics,
        Err(error) if args.json => {
            let failure = Failure::from(error);
            let file = project.file().display().to_string();
            print_json(&Verdict::unreadable(file, &failure))?;
            return Ok(failure.exit());
        }
        Err(error) => return Err(error.into()),
    };
    if args.json {
        print_json(&Verdict {
            valid: !found.has_errors(),
            errors: found.records(Severity::Error),
            warnings: found.records(Severity::Warning),
        })?;
    } else {
        diagnostics(&found);
        print(sentence(&found, &project.file().display().to_string()) + "\n")?;
    }
    let warned = args.strict && found.warnings().next().is_some();
    Ok(if found.has_errors() || warned {
        Exit::Usage
    } else {
        Exit::Success
    })
}

fn sentence(found: &Diagnostics, file: &str) -> String {
    let (errors, warnings) = (found.errors().count(), found.warnings().count());
    match (errors, warnings) {
        (0, 0) => format!("{file} is valid."),
        (0, warnings) => format!("{file} is valid, with {}.", counted(warnings, "warning")),
        (errors, 0) => format!("{file} is invalid: {}.", counted(errors, "error")),
        (errors, warnings) => format!(
            "{file} is invalid: {}, {}.",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
