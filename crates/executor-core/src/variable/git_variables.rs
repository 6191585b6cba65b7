//! Variables that change which repository git works on, and how.

/// Variables that make git work on another repository than the one in its directory, or on other parts of it.
///
/// Git sets them for its hooks, so they are there when a pipeline is started from inside one.
pub const GIT_REPOSITORY_VARIABLES: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// Variables with configuration for one git command, set by `git -c` for the programs that command starts.
///
/// Those of the runner's own environment do not concern a job. A job may set its own.
const CONFIGURATION_VARIABLES: [&str; 3] =
    ["GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// Returns whether a variable of the runner's own environment concerns another repository or command of git, so that neither
/// a job nor the runner's own git may inherit it.
pub fn is_foreign_git_variable(name: &str) -> bool {
    GIT_REPOSITORY_VARIABLES.contains(&name) || CONFIGURATION_VARIABLES.contains(&name)
}
