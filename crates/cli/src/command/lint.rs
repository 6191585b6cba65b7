use super::find_project;
use crate::args::LintArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::{diagnostics, line};
use runwright::pipeline::diagnostic::{DiagnosticRecord, Diagnostics, Severity};
use serde::Serialize;

#[derive(Serialize)]
struct Verdict {
    valid: bool,
    errors: Vec<DiagnosticRecord>,
    warnings: Vec<DiagnosticRecord>,
}

/// Checks the pipeline file.
pub(crate) fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let project = find_project(&args.project)?;
    super::variables(&args.project)?;
    let found = project.pipeline()?.diagnostics;
    if args.json {
        let verdict = Verdict {
            valid: !found.has_errors(),
            errors: found.records(Severity::Error),
            warnings: found.records(Severity::Warning),
        };
        line(&serde_json::to_string_pretty(&verdict).map_err(Failure::environment)?);
    } else {
        diagnostics(&found);
        line(&sentence(&found, &project.file().display().to_string()));
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
