use super::parts;
use crate::git::{
    Condition, GIT_DIR_LEFTOVERS, GitAction, GitCommand, GitPlan, GitStep, OnFailure,
};
use crate::quote::{sh, sh_always};
use crate::writer::indented;

/// Appends the steps of `plan` to `body`.
pub(super) fn write(plan: &GitPlan, body: &mut String) {
    if plan.needs_git() {
        body.push_str(parts::REQUIRE_GIT);
        body.push_str(&setup(plan));
    }
    for step in &plan.steps {
        body.push_str(&step_text(step));
    }
}

/// Returns the lines that set the environment and define the function that runs all commands.
fn setup(plan: &GitPlan) -> String {
    let unset = plan.unset().join(" ");
    let env: Vec<String> = plan
        .env()
        .iter()
        .map(|&(key, value)| format!("{key}={}", sh(value)))
        .collect();
    let config: Vec<String> = plan.config_args().map(|arg| sh(&arg)).collect();
    let config: Vec<String> = config.chunks(2).map(|pair| pair.join(" ")).collect();
    format!(
        "unset {unset}\nexport {}\nrunwright_git() {{\n  git {} \"$@\"\n}}\n",
        env.join(" "),
        config.join(" \\\n    "),
    )
}

fn step_text(step: &GitStep) -> String {
    let note = match &step.note {
        Some(note) => format!("printf \"\\033[32;1m%s\\033[0;m\\n\" {}\n", sh_always(note)),
        None => String::new(),
    };
    let action = action_text(&step.action);
    let text = match &step.on_failure {
        OnFailure::Fail => format!("{note}{action}"),
        OnFailure::Ignore => format!("{note}{} || true\n", action.trim_end()),
        OnFailure::Recover(steps) => {
            let steps: String = steps.iter().map(step_text).collect();
            format!(
                "{note}{} || {{\n{}}}\n",
                action.trim_end(),
                indented(&(steps + &action))
            )
        }
    };
    match condition_text(&step.condition) {
        Some(condition) => format!("if {condition}; then\n{}fi\n", indented(&text)),
        None => text,
    }
}

fn condition_text(condition: &Condition) -> Option<String> {
    Some(match condition {
        Condition::Always => return None,
        Condition::Shallow => "[ -f .git/shallow ]".to_owned(),
        Condition::NotShallow => "[ ! -f .git/shallow ]".to_owned(),
        Condition::Submodules => "[ -f .gitmodules ]".to_owned(),
        Condition::CommitMissing(commit) => {
            format!(
                "! {} 2>/dev/null",
                command_text(&GitPlan::commit_check(commit))
            )
        }
        Condition::Lfs => format!("{} >/dev/null 2>&1", command_text(&GitPlan::lfs_check())),
    })
}

fn action_text(action: &GitAction) -> String {
    match action {
        GitAction::EnterProject => parts::MAKE_AND_ENTER_PROJECT.to_owned(),
        GitAction::EmptyProject => parts::EMPTY_DIRECTORY.to_owned(),
        GitAction::CleanGitDir => clean_text(),
        GitAction::Git(command) => command_text(command) + "\n",
    }
}

/// Returns the command; its own variables are set in a subshell, because shells differ in the
/// effect of an assignment before a function's name.
fn command_text(command: &GitCommand) -> String {
    let args: Vec<String> = command.args.iter().map(|arg| sh(arg)).collect();
    let text = format!("runwright_git {}", args.join(" "));
    if command.env.is_empty() {
        return text;
    }
    let env: Vec<String> = command
        .env
        .iter()
        .map(|(key, value)| format!("{key}={}", sh(value)))
        .collect();
    format!("(export {}; {text})", env.join(" "))
}

/// Returns the lines of [`GitAction::CleanGitDir`].
///
/// A line of `find`'s output is a path below `.git/modules`, or a part of one whose name contains a
/// line break; the `case` ignores parts that are not below `.git/modules`.
fn clean_text() -> String {
    let leftovers: Vec<String> = GIT_DIR_LEFTOVERS
        .iter()
        .map(|name| format!("\"$1/{name}\""))
        .collect();
    format!(
        r#"if [ -L .git ] || [ ! -d .git ]; then rm -f -- .git; fi
runwright_clean_git_dir() {{
  rm -rf -- {}
  if [ -d "$1/refs" ]; then find "$1/refs" -type f -name "*.lock" -exec rm -f -- {{}} + ; fi
}}
if [ -d .git ]; then runwright_clean_git_dir .git; fi
if [ -d .git/modules ]; then
  find .git/modules -type f -name HEAD | while IFS= read -r runwright_head; do
    case "$runwright_head" in .git/modules/*) ;; *) continue ;; esac
    runwright_dir="${{runwright_head%/HEAD}}"
    if [ -d "$runwright_dir/objects" ]; then runwright_clean_git_dir "$runwright_dir"; fi
  done
fi
"#,
        leftovers.join(" ")
    )
}
