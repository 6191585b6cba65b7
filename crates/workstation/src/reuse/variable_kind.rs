//! What the names of variables tell of their values.

/// What the value of a variable says, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What the job is told: it belongs to the key.
    Told,
    /// Which run it is, when, or where: another one in every run.
    Run,
    /// Which commit it is.
    Commit,
}

/// Variables whose values are new in every run. The directories of a run are not among those, although
/// they are new as well: each job knows them without being told, so naming them says nothing.
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

/// What names of variables that say which commit it is begin with.
const OF_THE_COMMIT: [&str; 2] = ["CI_COMMIT_", "CI_BUILD_REF"];

/// More of them.
const COMMITS: [&str; 6] = [
    "CI_BUILD_BEFORE_SHA",
    "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA",
    "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA",
    "CI_MERGE_REQUEST_TARGET_BRANCH_SHA",
];

/// Variables of a terminal or a login session, in the environment of who starts the run. They are left
/// out unless a job names them: else a second window would make all jobs run again.
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

/// What names of such variables begin with, and of those that no job gets from there.
const SESSION_FAMILIES: [&str; 16] = [
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

/// Returns what the value of a job's variable says.
pub(super) fn meaning(name: &str) -> Meaning {
    if OF_THE_RUN.contains(&name) {
        Meaning::Run
    } else if COMMITS.contains(&name) || OF_THE_COMMIT.iter().any(|it| name.starts_with(it)) {
        Meaning::Commit
    } else {
        Meaning::Told
    }
}

/// Returns whether a variable of who starts the run belongs to his terminal or session.
pub(super) fn is_of_session(name: &str) -> bool {
    let families = &SESSION_FAMILIES;
    name == "CI"
        || OF_THE_SESSION.contains(&name)
        || families.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_values_say() {
        let check = |name: &str, expect| assert_eq!(meaning(name), expect, "{name}");
        check("CI_PIPELINE_ID", Meaning::Run);
        check("CI_JOB_TOKEN", Meaning::Run);
        check("CI_COMMIT_SHA", Meaning::Commit);
        check("CI_COMMIT_REF_NAME", Meaning::Commit);
        check("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", Meaning::Commit);
        check("CI_MERGE_REQUEST_IID", Meaning::Told);
        check("CI_JOB_NAME", Meaning::Told);
        check("RELEASE", Meaning::Told);
        for name in ["TERM", "SSH_TTY", "TMUX_PANE", "CI", "_", "XDG_SESSION_ID"] {
            assert!(is_of_session(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "CC",
            "GITLAB_TOKEN",
            "XDG_CONFIG_HOME",
        ] {
            assert!(!is_of_session(name), "{name}");
        }
    }
}
