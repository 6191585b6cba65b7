//! The command of a process.

use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::Rlimit;

use crate::error::ProcessError;

/// The search path for a program if the child has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program with its arguments, environment, directory and standard input.
///
/// The environment has only what [`env`](Self::env) adds; a job does not inherit the runner's. `Debug` shows neither
/// values of variables nor standard input, which may be secret.
///
/// ```
/// let command = process::Command::new("bash")
///     .arg("-e")
///     .env("PATH", "/usr/bin:/bin")
///     .current_dir("/")
///     .stdin(process::Stdin::Bytes(b"echo hello".to_vec()));
/// ```
#[derive(Clone)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    current_dir: Option<PathBuf>,
    stdin: Stdin,
    descendants: Descendants,
}

/// What happens to the processes that a process leaves behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Descendants {
    /// They are killed when the main process has ended.
    #[default]
    End,
    /// They live until the tree is closed.
    Stay,
}

/// The standard input of a process.
#[derive(Clone, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end. They are written while the output is read, so that neither side waits for the other.
    Bytes(Vec<u8>),
    /// The input that the caller writes to [`Process::take_stdin`](crate::Process::take_stdin).
    Piped,
}

impl Command {
    /// Returns a command for a program, given by path or by name on the child's own `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            current_dir: None,
            stdin: Stdin::Null,
            descendants: Descendants::default(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item: Into<OsString>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable; a later setting of the same name wins.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets several variables.
    pub fn envs<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        self.env.extend(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        self
    }

    /// Sets the working directory; the default is the runner's.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// Sets standard input; the default is empty.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Lets the processes that it leaves behind live until [`ProcessTree::close`](crate::ProcessTree::close).
    ///
    /// A stop then reaches its process group alone, so that processes of earlier commands of the tree live on too.
    /// All commands of a tree must agree.
    pub fn keep_descendants(mut self) -> Self {
        self.descendants = Descendants::Stay;
        self
    }

    /// Returns the program as named by the caller.
    pub fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    pub(crate) fn input(&self) -> &Stdin {
        &self.stdin
    }

    pub(crate) fn descendants(&self) -> Descendants {
        self.descendants
    }

    /// Checks all parts and converts them for `execve`.
    pub(crate) fn prepare(&self, marker: Option<&str>) -> Result<Prepared, ProcessError> {
        if let Some(directory) = &self.current_dir {
            check_directory(directory)?;
        }
        let program = self.resolve()?;
        let mut args = vec![text(&self.program, "the program's name")?];
        for (index, arg) in self.args.iter().enumerate() {
            args.push(text(arg, &format!("argument {}", index + 1))?);
        }
        let current_dir = match &self.current_dir {
            Some(directory) => Some(text(directory.as_os_str(), "the working directory")?),
            None => None,
        };
        Ok(Prepared {
            program: text(program.as_os_str(), "the program's path")?,
            args,
            env: self.environment(marker)?,
            current_dir,
            lock_limit: None,
        })
    }

    /// Finds the program as the child would: relative to its directory, on its `PATH`.
    ///
    /// An absolute path also makes std use `posix_spawn`: with a cleared environment and a bare name it would fork.
    fn resolve(&self) -> Result<PathBuf, ProcessError> {
        let not_found = || ProcessError::NotFound {
            program: self.program(),
        };
        if self.program.is_empty() {
            return Err(not_found());
        }
        if self.program.as_bytes().contains(&b'/') {
            return Ok(self.in_directory(Path::new(&self.program)));
        }
        let path = self
            .env
            .iter()
            .rfind(|(name, _)| name == "PATH")
            .map(|(_, value)| value);
        let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
        let mut refused = None;
        for directory in std::env::split_paths(path) {
            let candidate = self.in_directory(&directory.join(&self.program));
            match access(&candidate, Access::EXEC_OK) {
                Ok(()) if candidate.is_file() => return Ok(candidate),
                Err(rustix::io::Errno::ACCESS) => refused = Some(candidate),
                _ => {}
            }
        }
        // As in a shell: a file that may not be executed is reported as such.
        refused.ok_or_else(not_found)
    }

    fn in_directory(&self, path: &Path) -> PathBuf {
        let path = match &self.current_dir {
            Some(directory) => directory.join(path),
            None => path.to_owned(),
        };
        // The child changes its directory first, so a relative path would not be found.
        std::path::absolute(&path).unwrap_or(path)
    }

    fn environment(&self, marker: Option<&str>) -> Result<Vec<CString>, ProcessError> {
        let mut environment = Vec::with_capacity(self.env.len() + 1);
        let mut seen = std::collections::HashSet::with_capacity(self.env.len());
        for (name, value) in self.env.iter().rev() {
            if !seen.insert(name.as_os_str()) || name == MARKER_NAME {
                continue;
            }
            let unpassable = || ProcessError::Unpassable {
                what: format!("variable {}", name.display()),
            };
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(unpassable());
            }
            // Room for the final NUL, so that the text is not reallocated.
            let mut pair = Vec::with_capacity(name.len() + value.len() + 2);
            pair.extend_from_slice(name.as_bytes());
            pair.push(b'=');
            pair.extend_from_slice(value.as_bytes());
            let pair = CString::new(pair).map_err(|_| unpassable())?;
            environment.push(pair);
        }
        environment.reverse();
        if let Some(marker) = marker {
            environment.push(text(
                OsStr::new(&format!("{MARKER_NAME}={marker}")),
                "the marker",
            )?);
        }
        Ok(environment)
    }
}

fn check_directory(path: &Path) -> Result<(), ProcessError> {
    let error = |source| ProcessError::WorkingDirectory {
        path: path.to_owned(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(error)?;
    if !metadata.is_dir() {
        return Err(error(std::io::ErrorKind::NotADirectory.into()));
    }
    access(path, Access::EXEC_OK).map_err(|errno| error(errno.into()))
}

/// The variable that every process of a run carries.
pub(crate) const MARKER_NAME: &str = "RUNWRIGHT_PROCESS_MARKER";

/// Separates the marker of a job from the markers of a runner inside it.
pub(crate) const MARKER_SEPARATOR: u8 = b'/';

/// Prefixes a marker with the one that this runner was itself started with, if any.
pub(crate) fn nested(inherited: Option<&OsStr>, own: &str) -> String {
    let plain = |text: &&str| {
        text.len() < 1024
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || b"./".contains(&byte))
    };
    match inherited.and_then(OsStr::to_str).filter(plain) {
        Some(inherited) => format!("{inherited}/{own}"),
        None => own.to_owned(),
    }
}

fn text(value: &OsStr, what: &str) -> Result<CString, ProcessError> {
    CString::new(value.as_bytes()).map_err(|_| ProcessError::Unpassable {
        what: what.to_owned(),
    })
}

impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("current_dir", &self.current_dir)
            .field("stdin", &self.stdin)
            .field("descendants", &self.descendants)
            .finish()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("Null"),
            Self::Bytes(bytes) => write!(formatter, "Bytes({} bytes)", bytes.len()),
            Self::Piped => formatter.write_str("Piped"),
        }
    }
}

/// A command in the form that the kernel takes.
pub(crate) struct Prepared {
    pub(crate) program: CString,
    pub(crate) args: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) current_dir: Option<CString>,
    /// The limit on file locks that identifies its descendants where they have no cgroup.
    pub(crate) lock_limit: Option<Rlimit>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_variable_wins_and_order_is_kept() {
        let command = Command::new("/bin/true")
            .env("A", "1")
            .env("B", "2")
            .env("A", "3");
        let environment = command.environment(Some("m")).unwrap();
        let expected: Vec<CString> = vec![
            c"B=2".into(),
            c"A=3".into(),
            c"RUNWRIGHT_PROCESS_MARKER=m".into(),
        ];
        assert_eq!(environment, expected);
    }

    #[test]
    fn marker_of_an_outer_job_is_inherited() {
        assert_eq!(nested(None, "b.1.1"), "b.1.1");
        assert_eq!(nested(Some(OsStr::new("a.1.2")), "b.1.1"), "a.1.2/b.1.1");
        assert_eq!(nested(Some(OsStr::new("a\tx")), "b.1.1"), "b.1.1");
    }

    #[test]
    fn invalid_variable_names_are_refused() {
        for name in ["", "A=B", "A\0B"] {
            let error = Command::new("/bin/true")
                .env(name, "1")
                .environment(None)
                .unwrap_err();
            assert!(
                matches!(error, ProcessError::Unpassable { .. }),
                "{name:?}: {error}"
            );
        }
    }

    #[test]
    fn debug_shows_no_value() {
        let command = Command::new("sh")
            .env("TOKEN", "hunter2")
            .stdin(Stdin::Bytes(vec![b'x']));
        let text = format!("{command:?}");
        assert!(
            text.contains("TOKEN") && !text.contains("hunter2"),
            "{text}"
        );
    }

    #[test]
    fn bare_name_is_found_on_the_childs_path() {
        let command = Command::new("sh").env("PATH", "/nonexistent:/bin");
        assert_eq!(command.resolve().unwrap(), Path::new("/bin/sh"));
        let missing = Command::new("sh")
            .env("PATH", "/nonexistent")
            .resolve()
            .unwrap_err();
        assert!(matches!(missing, ProcessError::NotFound { .. }));
    }
}
