//! Executors of GitLab Runner that do not exist here.

/// Each with the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "parallels",
        "use `instance` or `custom` with a driver for Parallels",
    ),
    (
        "virtualbox",
        "use `custom` with a driver for virtual machines",
    ),
    ("docker-windows", "Windows containers are not run"),
    (
        "docker-autoscaler-windows",
        "Windows containers are not run",
    ),
    ("docker-ssh", "GitLab Runner has removed it; use `docker`"),
    (
        "docker-ssh+machine",
        "GitLab Runner has removed it; use `docker+machine`",
    ),
];

/// Returns why an executor of GitLab Runner is refused.
pub(in crate::config) fn refused_executor(name: &str) -> Option<&'static str> {
    let found = REFUSED.iter().find(|(executor, _)| *executor == name);
    found.map(|(_, reason)| *reason)
}

/// Returns all executors that are refused, with the reasons.
pub(super) fn all_refused() -> &'static [(&'static str, &'static str)] {
    REFUSED
}

/// Returns the names of the executors that are refused.
pub(in crate::config) fn refused_executors() -> impl Iterator<Item = &'static str> {
    REFUSED.iter().map(|(name, _)| *name)
}
