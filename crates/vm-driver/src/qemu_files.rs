//! The files and the process of a machine of QEMU, which are found without a daemon.

use driver_toolkit::{Failure, NotReady, program};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a killed process may take to end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// What is stored beside the disk of a machine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) image: PathBuf,
    pub(crate) cpus: u32,
    pub(crate) memory: u32,
    /// The port of this host that leads to the machine's SSH server; 0 before the first start.
    pub(crate) port: u16,
    /// The memory with which it starts, instead of booting.
    pub(crate) snapshot: Option<PathBuf>,
    /// The accelerator that works, once that is known.
    pub(crate) accelerator: Option<String>,
    /// Whether its last start was completed.
    pub(crate) started: bool,
}

/// The files of a machine.
#[derive(Debug)]
pub(crate) struct Files(pub(crate) PathBuf);

impl Files {
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn read(&self) -> Result<Option<Description>, NotReady> {
        let path = self.at("machine.json");
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| Failure::system(format!("{}: {error}", path.display())).into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    pub(crate) fn write(&self, description: &Description) -> Result<(), NotReady> {
        let (path, partial) = (self.at("machine.json"), self.at("machine.json.new"));
        let text = serde_json::to_vec(description).map_err(NotReady::never)?;
        fs::write(&partial, text).map_err(failed("write", &partial))?;
        fs::rename(&partial, &path).map_err(failed("write", &path))
    }

    /// Returns the process of the machine, also one whose start was interrupted: the path of its `pid` is in its arguments.
    pub(crate) fn process(&self) -> Option<u32> {
        let own = self.at("pid");
        let own = own.as_os_str().as_encoded_bytes();
        fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            let mut arguments = arguments.split(|byte| *byte == 0);
            arguments.any(|it| it == own).then_some(pid)
        })
    }

    /// Ends the process of a machine.
    pub(crate) fn end(&self) -> Result<(), NotReady> {
        let Some(pid) = self.process() else {
            return Ok(());
        };
        run(program("kill").args(["-KILL", &pid.to_string()]))?;
        let deadline = Instant::now() + END_LIMIT;
        while self.process().is_some() {
            if Instant::now() >= deadline {
                return Err(NotReady::not_yet("its process ends"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Where the files are while they are made.
    pub(crate) fn unfinished(&self) -> Self {
        Self(with_end(&self.0, ".new"))
    }

    /// Removes the files, also unfinished ones.
    pub(crate) fn remove(&self) -> Result<(), NotReady> {
        remove(&self.unfinished().0)?;
        remove(&self.0)?;
        // A driver that was killed may have started it just now. Later it finds no disk.
        self.end()
    }
}

/// A process that ends a machine and removes its files when this process gives up or dies. No state names the machine, so neither
/// a cleanup nor a sweep would find it.
pub(crate) struct Guard(Child);

/// Waits for the end of standard input. The number of the machine's process may belong to another one by then.
const GUARD: &str = r#"cat >/dev/null
pid=$(cat "$1/pid" 2>/dev/null) && grep -qF "$1/pid" "/proc/$pid/cmdline" 2>/dev/null && kill -KILL "$pid"
rm -rf -- "$1" "$1.new""#;

impl Guard {
    pub(crate) fn start(files: &Files) -> Result<Self, NotReady> {
        let mut command = program("sh");
        command.args(["-c", GUARD, "sh"]).arg(&files.0);
        let child = command.stdin(Stdio::piped()).spawn();
        child.map(Self).map_err(failed("guard", &files.0))
    }

    pub(crate) fn release(mut self) {
        let _ = self.0.kill();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It closes standard input first.
        let _ = self.0.wait();
    }
}

pub(crate) fn failed(action: &str, path: &Path) -> impl Fn(io::Error) -> NotReady {
    let text = format!("{action} {}", path.display());
    // It may pass, as a full disk does.
    move |error| Failure::system(format!("{text}: {error}")).into()
}

/// Returns a path with this text after its name.
pub(crate) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Runs a program to its end and returns its output; an error has what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String, NotReady> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        let text = format!("start {name}: {error}");
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => Failure::permanent(text),
            _ => Failure::system(text),
        }
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = format!("{name} failed ({}): {}", output.status, text.trim());
    Err(Failure::system(text).into())
}

/// Removes a directory; an absent one is not an error.
pub(crate) fn remove(path: &Path) -> Result<(), NotReady> {
    match fs::remove_dir_all(path) {
        // A program that a killed driver has left writes there.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(NotReady::not_yet(
            format!("remove {}: {error}", path.display()),
        )),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
