//! The constant parts of the text.

use crate::quote::pwsh;

/// The text before the body, for all stages.
///
/// `$PSNativeCommandUseErrorActionPreference` is off because the script checks exit codes itself,
/// which keeps the code instead of an error record.
pub(super) const PROLOGUE: &str = r"$ErrorActionPreference = 'Stop'
$PSNativeCommandUseErrorActionPreference = $false
$OutputEncoding = [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false
function Exit-RunwrightOnFailure([bool]$ok) {
  if ($ok) { return }
  if ($LASTEXITCODE) { exit $LASTEXITCODE }
  exit 1
}
$global:LASTEXITCODE = 0
$runwrightGreen = [string][char]27 + '[32;1m'
$runwrightPlain = [string][char]27 + '[0;m'
";

/// The text after the body.
pub(super) const EPILOGUE: &str = "exit 0\n";

/// Makes the job's variables available as `$NAME` too, as scripts written for GitLab expect.
///
/// PowerShell's own names are not changed: `$HOME` and others are read-only, and setting
/// `$ErrorActionPreference` would change the effect of a failure.
pub(super) const VARIABLES: &str = r#"foreach ($entry in Get-ChildItem Env:) {
  if ($entry.Name -match '^[A-Za-z_][A-Za-z0-9_]*$' -and -not (Test-Path "Variable:$($entry.Name)")) {
    Set-Variable -Name $entry.Name -Value $entry.Value
  }
}
"#;

/// Exports the lines `KEY=VALUE` of the file that `GITLAB_ENV` names.
pub(super) const IMPORT_ENVIRONMENT: &str = r#"if ($env:GITLAB_ENV -and (Test-Path -LiteralPath $env:GITLAB_ENV)) {
  foreach ($line in [IO.File]::ReadAllLines($env:GITLAB_ENV)) {
    if ($line -eq '') { continue }
    if ($line -match '^([A-Za-z_][A-Za-z0-9_]*)=') {
      Set-Item -LiteralPath "Env:$($Matches[1])" -Value $line.Substring($Matches[0].Length)
    } else {
      [Console]::Error.WriteLine('WARNING: skipped a line of GITLAB_ENV that is not KEY=VALUE')
    }
  }
}
"#;

/// Creates the directories of a job.
pub(super) const MAKE_DIRECTORIES: &str = r"[void][IO.Directory]::CreateDirectory($env:CI_PROJECT_DIR)
if ($env:RUNNER_TEMP_PROJECT_DIR) { [void][IO.Directory]::CreateDirectory($env:RUNNER_TEMP_PROJECT_DIR) }
if ($env:GITLAB_ENV -and (Test-Path -LiteralPath $env:GITLAB_ENV)) { Remove-Item -Force -LiteralPath $env:GITLAB_ENV }
";

/// Enters the working tree.
pub(super) const ENTER_PROJECT: &str = "Set-Location -LiteralPath $env:CI_PROJECT_DIR\n";

/// Creates the working tree's directory and enters it.
pub(super) const MAKE_AND_ENTER_PROJECT: &str = "[void][IO.Directory]::CreateDirectory($env:CI_PROJECT_DIR)\nSet-Location -LiteralPath $env:CI_PROJECT_DIR\n";

/// Removes everything in the current directory.
pub(super) const EMPTY_DIRECTORY: &str = "Get-ChildItem -Force | Remove-Item -Force -Recurse\n";

/// Removes the working tree.
pub(super) const REMOVE_PROJECT: &str = r"Set-Location -LiteralPath ([IO.Path]::GetTempPath())
if (Test-Path -LiteralPath $env:CI_PROJECT_DIR) { Remove-Item -Force -Recurse -LiteralPath $env:CI_PROJECT_DIR }
";

/// Removes the private directory.
pub(super) const REMOVE_PRIVATE_DIRECTORY: &str = r"if ($env:RUNNER_TEMP_PROJECT_DIR -and (Test-Path -LiteralPath $env:RUNNER_TEMP_PROJECT_DIR)) { Remove-Item -Force -Recurse -LiteralPath $env:RUNNER_TEMP_PROJECT_DIR }
";

/// Reports a missing git.
pub(super) const REQUIRE_GIT: &str = r"if (-not (Get-Command git -ErrorAction SilentlyContinue)) {
  [Console]::Error.WriteLine('ERROR: git is not installed here; install it or set GIT_STRATEGY: none')
  exit 1
}
";

/// Returns the line that prints `text` in green.
pub(super) fn notice(text: &str) -> String {
    format!("$runwrightGreen + {} + $runwrightPlain\n", pwsh(text))
}
