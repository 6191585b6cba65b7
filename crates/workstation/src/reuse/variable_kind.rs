//! The kinds of variables, by their names.

/// What the value of a variable depends on, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableKind {
    /// The job alone: it is part of the key.
    Input,
    /// The run: new in every run.
    Run,
    /// The commit.
    Commit,
}

/// Variables that are new in every run. Directories of a run are not among them: every job knows its directory
/// anyway, so a name of it means nothing.
pub(super) const OF_THE_RUN: [&str; 17] = [
    "CI_BUILD_ID",
    "CI_BUILD_TOKEN",
    "CI_CONCURRENT_ID",
    "CI_CONCURRENT_PROJECT_ID",
    "CI_JOB_ID",
    "CI_JOB_JWT",
    "CI_JOB_JWT_V1",
    "CI_JOB_JWT_V2",
    "CI_JOB_STARTED_AT",
    "CI_JOB_TOKEN",
    "CI_JOB_URL",
    "CI_PIPELINE_CREATED_AT",
    "CI_PIPELINE_ID",
    "CI_PIPELINE_IID",
    "CI_PIPELINE_URL",
    "CI_UPSTREAM_JOB_ID",
    "CI_UPSTREAM_PIPELINE_ID",
];

/// Prefixes of variables of the commit.
const COMMIT_PREFIXES: [&str; 2] = ["CI_COMMIT_", "CI_BUILD_REF"];

/// Further variables of the commit.
const OF_THE_COMMIT: [&str; 6] = [
    "CI_BUILD_BEFORE_SHA",
    "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA",
    "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA",
    "CI_MERGE_REQUEST_TARGET_BRANCH_SHA",
];

/// Variables of a terminal or login session. They are inputs only if a job names them; else all jobs would run
/// again in another window.
const OF_THE_SESSION: [&str; 26] = [
    "COLORTERM",
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_STARTUP_ID",
    "DISPLAY",
    "GITLAB_CI",
    "GITLAB_ENV",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "LS_COLORS",
    "MANAGERPID",
    "OLDPWD",
    "PPID",
    "PWD",
    "SHLVL",
    "STY",
    "SYSTEMD_EXEC_PID",
    "TERM",
    "WAYLAND_DISPLAY",
    "WINDOW",
    "WINDOWID",
    "XAUTHORITY",
    "_",
];

/// Prefixes of such variables, and of those that jobs do not inherit.
const SESSION_PREFIXES: [&str; 16] = [
    "CI_",
    "GNOME_TERMINAL_",
    "ITERM_",
    "KITTY_",
    "KONSOLE_",
    "REGISTER_",
    "RUNNER_",
    "RUNWRIGHT_",
    "SSH_",
    "TERM_",
    "TMUX",
    "VSCODE_",
    "VTE_",
    "WEZTERM_",
    "XDG_SESSION_",
    "ZELLIJ",
];

/// Returns what the value of a job's variable depends on.
pub(super) fn kind_of(name: &str) -> VariableKind {
    if OF_THE_RUN.contains(&name) {
        VariableKind::Run
    } else if OF_THE_COMMIT.contains(&name) || COMMIT_PREFIXES.iter().any(|it| name.starts_with(it))
    {
        VariableKind::Commit
    } else {
        VariableKind::Input
    }
}

/// Returns whether an environment variable belongs to a terminal or session.
pub(super) fn is_session_variable(name: &str) -> bool {
    name == "CI"
        || OF_THE_SESSION.contains(&name)
        || SESSION_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_names() {
        let check = |name: &str, expect| assert_eq!(kind_of(name), expect, "{name}");
        check("CI_PIPELINE_ID", VariableKind::Run);
        check("CI_JOB_TOKEN", VariableKind::Run);
        check("CI_COMMIT_SHA", VariableKind::Commit);
        check("CI_COMMIT_REF_NAME", VariableKind::Commit);
        check("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", VariableKind::Commit);
        check("CI_MERGE_REQUEST_IID", VariableKind::Input);
        check("CI_JOB_NAME", VariableKind::Input);
        check("RELEASE", VariableKind::Input);
        for name in ["TERM", "SSH_TTY", "TMUX_PANE", "CI", "_", "XDG_SESSION_ID"] {
            assert!(is_session_variable(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "CC",
            "GITLAB_TOKEN",
            "XDG_CONFIG_HOME",
        ] {
            assert!(!is_session_variable(name), "{name}");
        }
    }
}
