//! The process environment that jobs on this host inherit.

use super::job_texts::JobTexts;
use super::variable_kind::is_session_variable;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

/// The process environment of this program, sorted. `Debug` shows only how many variables there are.
pub(super) struct HostEnv {
    variables: Vec<(OsString, OsString)>,
    user: String,
}

impl HostEnv {
    /// Reads the environment of this process.
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

    /// Returns the user, the groups and the umask; empty on systems that do not tell.
    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// Returns the variables that are inputs of a job: all except those of a terminal or session that the job does
    /// not name.
    pub(super) fn inputs_of<'h>(
        &'h self,
        texts: &'h JobTexts,
    ) -> impl Iterator<Item = (&'h [u8], &'h [u8])> {
        let is_input = |(name, _): &&(OsString, OsString)| {
            let name = name.to_string_lossy();
            !is_session_variable(&name) || texts.name(&name)
        };
        let inputs = self.variables.iter().filter(is_input);
        inputs.map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }
}

/// Selects the lines about the user from `/proc/self/status`.
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

impl fmt::Debug for HostEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostEnv")
            .field(&self.variables.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{Job, Step};

    #[test]
    fn user_lines_are_selected() {
        let status =
            "Name:\ta\nUmask:\t0022\nPid:\t7\nUid:\t0\t0\nGid:\t1\nGroups:\t4 5\nThreads:\t2\n";
        let expect = "Umask:\t0022\nUid:\t0\t0\nGid:\t1\nGroups:\t4 5";
        assert_eq!(user_of(status), expect);
        assert_eq!(user_of(""), "");
    }

    #[test]
    fn terminal_variables_are_inputs_if_named() {
        let pairs = [("TERM", "xterm"), ("PATH", "/bin"), ("CC", "gcc")];
        let pairs = pairs.map(|(name, value)| (name.into(), value.into()));
        let host = HostEnv::new(pairs.into_iter());
        let check = |script: &str, expect: &[&str]| {
            let job = Job {
                steps: vec![Step {
                    script: vec![script.to_owned()],
                    ..Step::default()
                }],
                ..Job::default()
            };
            let texts = JobTexts::of(&job);
            let inputs: Vec<_> = host.inputs_of(&texts).collect();
            let names = inputs.iter().map(|(name, _)| String::from_utf8_lossy(name));
            assert_eq!(names.collect::<Vec<_>>(), expect);
        };
        check("make", &["CC", "PATH"]);
        check("echo $TERM", &["CC", "PATH", "TERM"]);
    }
}
