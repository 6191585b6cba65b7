//! The constant parts of the text.

/// The text before the body, for all stages.
///
/// - The trap makes a shell that is process 1 of a container end on TERM (otherwise the kernel
///   drops the signal), and makes dash run the user's EXIT trap.
/// - dash before 0.5.13 has no `pipefail`, and a failing `set` ends it, so a subshell tries first.
///   bash needs no such fork, which would take a large part of the time of a short job.
/// - `nounset` is never set, since existing scripts rely on unset variables being empty.
pub(super) const PROLOGUE: &str = r#"trap 'exit 143' TERM
if test -n "${BASH_VERSION-}" || (set -o pipefail) 2>/dev/null; then set -o pipefail; fi
set -o errexit
set +o noclobber
"#;

/// The text after the body: the shell ends with the status of the body's last command.
///
/// Without it, the shell would continue with any text after a script on standard input.
pub(super) const EPILOGUE: &str = "exit\n";

/// Exports the lines `KEY=VALUE` of the file that `GITLAB_ENV` names.
///
/// Values are not evaluated. A name that the shell cannot export (not an identifier, or read-only)
/// ends dash immediately, so a subshell tries first.
pub(crate) const IMPORT_ENVIRONMENT: &str = r#"if [ -r "${GITLAB_ENV:-}" ]; then
  while IFS= read -r runwright_line || [ -n "$runwright_line" ]; do
    case "$runwright_line" in
      '') continue ;;
      [A-Za-z_]*=*) ;;
      *) echo "WARNING: skipped a line of GITLAB_ENV that is not KEY=VALUE" >&2; continue ;;
    esac
    runwright_key="${runwright_line%%=*}"
    case "$runwright_key" in
      *[!A-Za-z0-9_]*) echo "WARNING: skipped a line of GITLAB_ENV that is not KEY=VALUE" >&2; continue ;;
    esac
    if (export "$runwright_key=${runwright_line#*=}") 2>/dev/null; then
      export "$runwright_key=${runwright_line#*=}"
    else
      echo "WARNING: skipped $runwright_key of GITLAB_ENV: this shell cannot set it" >&2
    fi
  done <"$GITLAB_ENV"
  unset runwright_line runwright_key
fi
"#;

/// Creates the directories of a job; only the job's user may enter the private one.
pub(super) const MAKE_DIRECTORIES: &str = r#"mkdir -p -- "${CI_PROJECT_DIR:?}"
if [ -n "${RUNNER_TEMP_PROJECT_DIR:-}" ]; then (umask 077; mkdir -p -- "$RUNNER_TEMP_PROJECT_DIR"); fi
if [ -n "${GITLAB_ENV:-}" ]; then rm -f -- "$GITLAB_ENV"; fi
"#;

/// Enters the working tree. `CDPATH` would change the meaning of a relative path, and print it.
pub(super) const ENTER_PROJECT: &str = "CDPATH= cd -- \"${CI_PROJECT_DIR:?}\"\n";

/// Creates the working tree's directory and enters it.
pub(super) const MAKE_AND_ENTER_PROJECT: &str =
    "mkdir -p -- \"${CI_PROJECT_DIR:?}\"\nCDPATH= cd -- \"$CI_PROJECT_DIR\"\n";

/// Removes everything in the current directory, including directories that a tool made unwritable.
pub(super) const EMPTY_DIRECTORY: &str = "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + \
2>/dev/null || { chmod -R u+rwX . ; find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + ; }\n";

/// Removes the working tree.
pub(super) const REMOVE_PROJECT: &str = "cd / && rm -rf -- \"${CI_PROJECT_DIR:?}\" 2>/dev/null || \
{ chmod -R u+rwX \"$CI_PROJECT_DIR\" ; rm -rf -- \"$CI_PROJECT_DIR\" ; }\n";

/// Removes the private directory.
pub(super) const REMOVE_PRIVATE_DIRECTORY: &str =
    "if [ -n \"${RUNNER_TEMP_PROJECT_DIR:-}\" ]; then rm -rf -- \"$RUNNER_TEMP_PROJECT_DIR\"; fi\n";

/// Reports a missing git instead of failing with an unclear exit code.
pub(super) const REQUIRE_GIT: &str = "command -v git >/dev/null 2>&1 || \
{ echo \"ERROR: git is not installed here; install it or set GIT_STRATEGY: none\" >&2; exit 1; }\n";
