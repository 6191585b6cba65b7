use super::parts::{self, notice};
use crate::helper::{HELPER, HELPER_DIR, HelperArgument, HelperCall, HelperRule, HelperStage};
use crate::quote::pwsh;
use std::fmt::Write as _;

/// Looks for the helper command; `$runwrightHelper` says whether it is there.
const LOOK: &str = "$runwrightHelper = $false
try { gitlab-runner --version *> $null; $runwrightHelper = $LASTEXITCODE -eq 0 } catch { }
";

/// Writes the calls of the helper command.
pub(super) fn write(stage: &HelperStage, body: &mut String) {
    if stage.into_empty_directory {
        body.push_str(parts::MAKE_AND_ENTER_PROJECT);
        body.push_str(parts::EMPTY_DIRECTORY);
    } else {
        body.push_str(parts::ENTER_PROJECT);
    }
    let _ = writeln!(
        body,
        "if ($env:{HELPER_DIR}) {{ $env:PATH = $env:{HELPER_DIR} + [IO.Path]::PathSeparator + $env:PATH }}"
    );
    for group in &stage.groups {
        body.push_str(LOOK);
        body.push_str("if ($runwrightHelper) {\n");
        match &group.rule {
            HelperRule::All => {
                for call in &group.calls {
                    let _ = writeln!(body, "{}\nExit-RunwrightOnFailure $?", text(call));
                }
            }
            HelperRule::First { success, failure } => {
                body.push_str("$runwrightDone = $false\n");
                for call in &group.calls {
                    let text = text(call);
                    let _ = writeln!(
                        body,
                        "if (-not $runwrightDone) {{\n{text}\n$runwrightDone = $LASTEXITCODE -eq 0\n}}"
                    );
                }
                let (success, failure) = (notice(success), pwsh(failure));
                let _ = writeln!(
                    body,
                    "if ($runwrightDone) {{\n{success}}} else {{\n{failure}\n}}\n$global:LASTEXITCODE = 0"
                );
            }
        }
        let missing = pwsh(&stage.missing());
        let missing = match stage.required_for {
            Some(_) => format!("[Console]::Error.WriteLine({missing})\nexit 1"),
            None => missing,
        };
        let _ = writeln!(body, "}} else {{\n{missing}\n}}");
    }
}

/// Returns the line before a call, and the call.
fn text(call: &HelperCall) -> String {
    let mut text = format!("{}{HELPER}", notice(&call.heading));
    for argument in &call.arguments {
        let _ = match argument {
            HelperArgument::Text(argument) => write!(text, " {}", pwsh(argument)),
            HelperArgument::Variable(name) => write!(text, " $env:{name}"),
        };
    }
    text
}
