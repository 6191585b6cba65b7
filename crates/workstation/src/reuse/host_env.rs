//! What a job of this host gets of the environment of who starts the run.

use super::mentions::JobTexts;
use super::variables::is_of_session;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

/// The environment of who starts the run, sorted. `Debug` shows how many variables there are.
pub(super) struct HostVariables {
    variables: Vec<(OsString, OsString)>,
    user: String,
}

impl HostVariables {
    /// Takes the environment of this process as it is now.
    pub(super) fn capture() -> Self {
        let user = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            user: user_of(&user),
            ..Self::new(std::env::vars_os())
        }
    }

    pub(super) fn new(variables: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let mut variables: Vec<_> = variables.collect();
        variables.sort();
        Self {
            variables,
            user: String::new(),
        }
    }

    /// Returns who starts the run, with which groups, and which rights his files get. It is not known on
    /// all systems.
    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// Returns those that a job may notice: all but those of a terminal or session, and those of these
    /// too which it names.
    pub(super) fn noticed<'h>(
        &'h self,
        texts: &'h JobTexts,
    ) -> impl Iterator<Item = (&'h [u8], &'h [u8])> {
        let is_noticed = |(name, _): &&(OsString, OsString)| {
            let name = name.to_string_lossy();
            !is_of_session(&name) || texts.name(&name)
        };
        let noticed = self.variables.iter().filter(is_noticed);
        noticed.map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }
}

/// Picks the lines about the user out of what Linux tells of a process.
fn user_of(status: &str) -> String {
    let is_wanted = |line: &&str| {
        let starts = ["Umask:", "Uid:", "Gid:", "Groups:"];
        starts.iter().any(|start| line.starts_with(start))
    };
    status
        .lines()
        .filter(is_wanted)
        .collect::<Vec<_>>()
        .join("\n")
}

impl fmt::Debug for HostVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostVariables")
            .field(&self.variables.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{Job, Step};

    #[test]
    fn of_a_process_its_user_counts() {
        let status =
            "Name:\ta\nUmask:\t0022\nPid:\t7\nUid:\t0\t0\nGid:\t1\nGroups:\t4 5\nThreads:\t2\n";
        let expect = "Umask:\t0022\nUid:\t0\t0\nGid:\t1\nGroups:\t4 5";
        assert_eq!(user_of(status), expect);
        assert_eq!(user_of(""), "");
    }

    #[test]
    fn what_belongs_to_a_terminal_counts_where_it_is_named() {
        let pairs = [("TERM", "xterm"), ("PATH", "/bin"), ("CC", "gcc")];
        let pairs = pairs.map(|(name, value)| (name.into(), value.into()));
        let host = HostVariables::new(pairs.into_iter());
        let check = |script: &str, expect: &[&str]| {
            let job = Job {
                steps: vec![Step {
                    script: vec![script.to_owned()],
                    ..Step::default()
                }],
                ..Job::default()
            };
            let texts = JobTexts::of(&job);
            let noticed: Vec<_> = host.noticed(&texts).collect();
            let names = noticed
                .iter()
                .map(|(name, _)| String::from_utf8_lossy(name));
            assert_eq!(names.collect::<Vec<_>>(), expect);
        };
        check("make", &["CC", "PATH"]);
        check("echo $TERM", &["CC", "PATH", "TERM"]);
    }
}
