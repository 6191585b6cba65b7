//! The fixed pieces of text.

/// What comes before the body, whatever the stage.
///
/// - The trap makes a shell that is process 1 of a container end on TERM at all (the kernel drops
///   the signal otherwise), and makes dash run the user's EXIT trap.
/// - dash before 0.5.13 knows no `pipefail`, and a failing `set` ends it: so a subshell tries first;
///   bash is spared the fork, which is a good part of what a short job costs.
/// - `nounset` is never set: scripts in the wild rely on unset variables being empty.
pub(super) const PROLOGUE: &str = r#"trap 'exit 143' TERM
if test -n "${BASH_VERSION-}" || (set -o pipefail) 2>/dev/null; then set -o pipefail; fi
set -o errexit
set +o noclobber
"#;

/// What comes after the body: the shell ends as the body's last command did.
///
/// Without it, a script on standard input would let the shell go on to whatever follows there.
pub(super) const EPILOGUE: &str = "exit\n";

/// Exports the lines `KEY=VALUE` of the file that `GITLAB_ENV` names.
///
/// Nothing in a value is evaluated. A name that this shell cannot export (not an identifier, or
/// read-only) ends dash on the spot, so a subshell tries first;
///   bash is spared the fork, which is a good part of what a short job costs.
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

/// Makes the directories of a job; the private one is for the job's user alone.
pub(super) const MAKE_DIRECTORIES: &str = r#"mkdir -p -- "${CI_PROJECT_DIR:?}"
if [ -n "${RUNNER_TEMP_PROJECT_DIR:-}" ]; then (umask 077; mkdir -p -- "$RUNNER_TEMP_PROJECT_DIR"); fi
if [ -n "${GITLAB_ENV:-}" ]; then rm -f -- "$GITLAB_ENV"; fi
"#;

/// Goes to the working tree. `CDPATH` would send a relative path elsewhere, and print it.
pub(super) const ENTER_PROJECT: &str = "CDPATH= cd -- \"${CI_PROJECT_DIR:?}\"\n";

/// Makes the working tree's directory and goes there.
pub(super) const MAKE_AND_ENTER_PROJECT: &str =
    "mkdir -p -- \"${CI_PROJECT_DIR:?}\"\nCDPATH= cd -- \"$CI_PROJECT_DIR\"\n";

/// Removes everything in the current directory; a module cache is kept unwritable by its tool.
pub(super) const EMPTY_DIRECTORY: &str = "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + \
2>/dev/null || { chmod -R u+rwX . ; find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} + ; }\n";

/// Removes the private directory.
pub(super) const REMOVE_PRIVATE_DIRECTORY: &str =
    "if [ -n \"${RUNNER_TEMP_PROJECT_DIR:-}\" ]; then rm -rf -- \"$RUNNER_TEMP_PROJECT_DIR\"; fi\n";

/// Says so, in place of a puzzling exit code, where an image has no git.
pub(super) const REQUIRE_GIT: &str = "command -v git >/dev/null 2>&1 || \
{ echo \"ERROR: git is not installed here; install it or set GIT_STRATEGY: none\" >&2; exit 1; }\n";
