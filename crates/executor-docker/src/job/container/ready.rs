//! The main process of a container without the agent: it waits while stages run beside it, or is the
//! shell that runs them.

use crate::job::files::tree::Owner;
use shells::MarkedLine;
use steps::AgentInfo;

/// Finds the best shell.
const FIND: &str = r#"for shell in /usr/local/bin/bash /usr/bin/bash /bin/bash /usr/local/bin/sh /usr/bin/sh /bin/sh sh; do
  [ -x "$shell" ] && break
done
"#;

/// Prints the details of the container.
///
/// Needs only a shell: not every image has `id`.
const TELL: &str = r#"while read -r key id rest; do
  case $key in
    Uid:) uid=$id ;;
    Gid:) gid=$id ;;
  esac
done </proc/self/status
if command -v tar >/dev/null 2>&1; then tar=tar; else tar=none; fi
echo "$1 $uid $gid $tar $shell"
"#;

/// Waits for a line that never comes; not every image has `sleep`. The first process of a container ignores signals
/// without a handler.
const WAIT: &str = "trap 'exit 143' TERM\nread -r nothing\n";

/// The shell and the user of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerDetails {
    /// The best shell.
    pub(crate) shell: String,
    /// The user's number.
    pub(crate) uid: u32,
    /// The group's number.
    pub(crate) gid: u32,
    /// Whether the shell finds `tar`; the agent needs none.
    pub(crate) has_tar: bool,
}

impl ContainerDetails {
    /// Returns the owner of the user's files.
    pub(crate) fn owner(&self) -> Owner {
        Owner {
            uid: self.uid,
            gid: self.gid,
        }
    }

    /// Returns whether the shell is bash.
    pub(crate) fn is_bash(&self) -> bool {
        self.shell.ends_with("/bash")
    }

    /// Takes the details from the agent; `None` without a shell.
    pub(crate) fn of(agent: &AgentInfo) -> Option<Self> {
        Some(Self {
            shell: agent.shells.first()?.clone(),
            uid: agent.uid,
            gid: agent.gid,
            has_tar: false,
        })
    }

    /// Reads the details from the line of the main process.
    pub(crate) fn read(line: &MarkedLine) -> Option<Self> {
        let mut words = line.found()?.splitn(4, ' ');
        let uid = words.next()?.parse().ok()?;
        let gid = words.next()?.parse().ok()?;
        let has_tar = words.next()? == "tar";
        let shell = words.next()?.to_owned();
        Some(Self {
            shell,
            uid,
            gid,
            has_tar,
        })
    }
}

/// Returns the command of a container whose main process reads a script: the best shell, or `sh` when `only_sh`.
///
/// The script itself goes to standard input: an entry point that is a shell with `-c` drops the arguments of the
/// command, and one that prints its command must not print the mark.
pub(crate) fn shell(only_sh: bool) -> Vec<String> {
    if only_sh {
        return vec!["sh".to_owned()];
    }
    let script = format!("{FIND}exec \"$shell\"");
    ["sh", "-c", &script].map(str::to_owned).to_vec()
}

/// Returns the script with which such a shell prints `mark` and the details.
pub(crate) fn question(mark: &str) -> String {
    format!("set -- {mark}\n{FIND}{TELL}exit 0\n")
}

/// Returns the script with which such a shell prints them, and then runs until it is stopped.
pub(crate) fn question_and_wait(mark: &str) -> String {
    format!("set -- {mark}\n{FIND}{TELL}{WAIT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read_from_one_line() {
        let check = |said: &str, expect: Option<(&str, u32, u32, bool, bool)>| {
            let mut line = MarkedLine::new("mark".to_owned());
            line.pass(said.as_bytes(), |_| ());
            let found = ContainerDetails::read(&line);
            let found = found
                .as_ref()
                .map(|it| (&*it.shell, it.uid, it.gid, it.is_bash(), it.has_tar));
            assert_eq!(found, expect, "{said:?}");
        };
        let bash = ("/bin/bash", 0, 0, true, true);
        check("mark 0 0 tar /bin/bash\n", Some(bash));
        let sh = ("sh", 1000, 5, false, false);
        check("hello\nmark 1000 5 none sh\n", Some(sh));
        check("mark x\n", None);
        check("mark 0 0 tar /bin/sh", None);
    }
}
