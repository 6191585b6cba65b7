use super::parts::{self, notice};
use crate::git::{
    Condition, GIT_DIR_LEFTOVERS, GitAction, GitCommand, GitPlan, GitStep, OnFailure,
};
use crate::quote::pwsh;
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

fn setup(plan: &GitPlan) -> String {
    let unset: Vec<String> = plan
        .unset()
        .iter()
        .map(|name| format!("'Env:{name}'"))
        .collect();
    let env = plan
        .env()
        .iter()
        .map(|&(key, value)| format!("$env:{key} = {}", pwsh(value)));
    let env: Vec<String> = env.collect();
    let config: Vec<String> = plan.config_args().map(|arg| pwsh(&arg)).collect();
    let config: Vec<String> = config.chunks(2).map(|pair| pair.join(", ")).collect();
    format!(
        "Remove-Item -ErrorAction SilentlyContinue -Path {}\n{}\n$runwrightConfig = @(\n  {}\n)\n\
         function Invoke-RunwrightGit {{ & git @runwrightConfig @args }}\n",
        unset.join(", "),
        env.join("\n"),
        config.join(",\n  "),
    )
}

fn step_text(step: &GitStep) -> String {
    let note = step.note.as_deref().map(notice).unwrap_or_default();
    let action = action_text(&step.action);
    let check = "if ($LASTEXITCODE) { exit $LASTEXITCODE }\n";
    let is_git = matches!(step.action, GitAction::Git(_));
    let text = match &step.on_failure {
        _ if !is_git => format!("{note}{action}"),
        OnFailure::Fail => format!("{note}{action}{check}"),
        OnFailure::Ignore => format!("{note}{action}$global:LASTEXITCODE = 0\n"),
        OnFailure::Recover(steps) => {
            let steps: String = steps.iter().map(step_text).collect();
            let again = indented(&format!("{steps}{action}{check}"));
            format!("{note}{action}if ($LASTEXITCODE) {{\n{again}}}\n")
        }
    };
    match &step.condition {
        Condition::Always => text,
        condition => format!("{} {{\n{}}}\n", condition_text(condition), indented(&text)),
    }
}

fn condition_text(condition: &Condition) -> String {
    // Windows PowerShell treats redirected standard error as a failure, and would stop.
    let by_exit_code = |command: &GitCommand, is: &str| {
        let command = command_text(command);
        format!(
            "& {{ $ErrorActionPreference = 'Continue'; {command} *> $null }}\nif ($LASTEXITCODE {is} 0)"
        )
    };
    match condition {
        Condition::Always => "if ($true)".to_owned(),
        Condition::Shallow => "if (Test-Path -LiteralPath '.git/shallow')".to_owned(),
        Condition::NotShallow => "if (-not (Test-Path -LiteralPath '.git/shallow'))".to_owned(),
        Condition::Submodules => "if (Test-Path -LiteralPath '.gitmodules')".to_owned(),
        Condition::CommitMissing(commit) => by_exit_code(&GitPlan::commit_check(commit), "-ne"),
        Condition::Lfs => by_exit_code(&GitPlan::lfs_check(), "-eq"),
    }
}

fn action_text(action: &GitAction) -> String {
    match action {
        GitAction::EnterProject => parts::MAKE_AND_ENTER_PROJECT.to_owned(),
        GitAction::EmptyProject => parts::EMPTY_DIRECTORY.to_owned(),
        GitAction::CleanGitDir => clean_text(),
        GitAction::Git(command) => with_env(command),
    }
}

/// Returns the command, with its own variables set before and removed after it.
fn with_env(command: &GitCommand) -> String {
    let set = command
        .env
        .iter()
        .map(|(key, value)| format!("$env:{key} = {}\n", pwsh(value)));
    let unset = command
        .env
        .iter()
        .map(|(key, _)| format!("$env:{key} = $null\n"));
    format!(
        "{}{}\n{}",
        set.collect::<String>(),
        command_text(command),
        unset.collect::<String>()
    )
}

fn command_text(command: &GitCommand) -> String {
    let args: Vec<String> = command.args.iter().map(|arg| pwsh(arg)).collect();
    format!("Invoke-RunwrightGit {}", args.join(" "))
}

/// Returns the lines of [`GitAction::CleanGitDir`].
fn clean_text() -> String {
    let leftovers: Vec<String> = GIT_DIR_LEFTOVERS.iter().map(|name| pwsh(name)).collect();
    format!(
        r"function Clear-RunwrightGitDir([string]$path) {{
  foreach ($name in {}) {{
    Remove-Item -Force -Recurse -ErrorAction SilentlyContinue -LiteralPath (Join-Path $path $name)
  }}
  Get-ChildItem -Force -Recurse -File -Filter '*.lock' -ErrorAction SilentlyContinue -LiteralPath (Join-Path $path 'refs') | Remove-Item -Force
}}
$gitDir = Get-Item -Force -LiteralPath '.git' -ErrorAction SilentlyContinue
if ($gitDir -and ($gitDir.LinkType -or -not $gitDir.PSIsContainer)) {{ $gitDir.Delete() }}
if (Test-Path -LiteralPath '.git' -PathType Container) {{ Clear-RunwrightGitDir '.git' }}
if (Test-Path -LiteralPath '.git/modules' -PathType Container) {{
  foreach ($head in @(Get-ChildItem -Force -Recurse -File -Filter 'HEAD' -LiteralPath '.git/modules')) {{
    if (Test-Path -LiteralPath (Join-Path $head.DirectoryName 'objects') -PathType Container) {{ Clear-RunwrightGitDir $head.DirectoryName }}
  }}
}}
",
        leftovers.join(", ")
    )
}
