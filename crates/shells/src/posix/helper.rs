use super::parts;
use crate::helper::{HELPER, HELPER_DIR, HelperArgument, HelperCall, HelperRule, HelperStage};
use crate::quote::{sh, sh_always};
use std::fmt::Write as _;

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
        "if [ -n \"${{{HELPER_DIR}:-}}\" ] && [ -x \"${HELPER_DIR}/{HELPER}\" ]; then PATH=\"${HELPER_DIR}:${{PATH:-/usr/bin:/bin}}\"; fi"
    );
    for group in &stage.groups {
        let _ = writeln!(body, "if {HELPER} --version >/dev/null 2>&1; then");
        match &group.rule {
            HelperRule::All => {
                for call in &group.calls {
                    let _ = writeln!(body, "{}", text(call));
                }
            }
            HelperRule::First { success, failure } => {
                for (index, call) in group.calls.iter().enumerate() {
                    let word = if index == 0 { "if" } else { "elif" };
                    let _ = writeln!(body, "{word} {}\nthen {}", text(call), green(success));
                }
                let _ = writeln!(body, "else {}\nfi", yellow(failure));
            }
        }
        let missing = match stage.required_for {
            Some(_) => format!("echo {} >&2; exit 1", sh_always(&stage.missing())),
            None => yellow(&stage.missing()),
        };
        let _ = writeln!(body, "else {missing}\nfi");
    }
}

/// Returns the line before a call, and the call.
fn text(call: &HelperCall) -> String {
    let mut text = format!("{}\n{HELPER}", green(&call.heading));
    for argument in &call.arguments {
        let _ = match argument {
            HelperArgument::Text(argument) => write!(text, " {}", sh(argument)),
            HelperArgument::Variable(name) => write!(text, " \"${{{name}-}}\""),
        };
    }
    text
}

fn green(line: &str) -> String {
    format!("printf \"\\033[32;1m%s\\033[0;m\\n\" {}", sh_always(line))
}

fn yellow(line: &str) -> String {
    format!("printf \"\\033[0;33m%s\\033[0;m\\n\" {}", sh_always(line))
}
