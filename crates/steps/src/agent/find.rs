//! Finds an agent that can be put into a container.

use crate::agent::{AgentError, PROGRAM, elf, version_mark};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The variable with the path of the agent, which takes precedence.
const VARIABLE: &str = "RUNWRIGHT_AGENT";

/// The agent that the build script embeds, if any.
#[cfg(has_embedded_agent)]
const EMBEDDED: Option<&[u8]> = Some(include_bytes!(env!("RUNWRIGHT_AGENT_FILE")));
#[cfg(not(has_embedded_agent))]
const EMBEDDED: Option<&[u8]> = None;

/// An agent that can be put into a container: static, of this version, for this machine.
#[derive(Debug, Clone)]
pub struct Agent {
    source: Source,
    machine: &'static str,
    digest: Arc<OnceLock<String>>,
}

#[derive(Clone)]
enum Source {
    File(PathBuf),
    Embedded(&'static [u8]),
}

/// Finds an agent: at `$RUNWRIGHT_AGENT`, beside this program, or in this program.
///
/// The first one counts: if it cannot be used, that is an error.
///
/// # Errors
///
/// Fails if there is none, or if it has another version, is for another machine, or is not static.
pub fn find() -> Result<Agent, AgentError> {
    let beside = std::env::current_exe().ok().and_then(|own| {
        let path = own.parent()?.join(PROGRAM);
        path.is_file().then_some(path)
    });
    choose(std::env::var_os(VARIABLE), beside, EMBEDDED)
}

fn choose(
    named: Option<OsString>,
    beside: Option<PathBuf>,
    embedded: Option<&'static [u8]>,
) -> Result<Agent, AgentError> {
    let named = named.filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = named {
        return Agent::open(&path);
    }
    match (beside, embedded) {
        // A development build has a dynamically linked one beside it.
        (Some(path), Some(bytes)) => Agent::open(&path).or_else(|_| Agent::embedded(bytes)),
        (Some(path), None) => Agent::open(&path),
        (None, Some(bytes)) => Agent::embedded(bytes),
        (None, None) => Err(AgentError::Absent),
    }
}

impl Agent {
    /// Opens the agent in a file.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, has another version, is for another machine, or is not static.
    pub fn open(path: &Path) -> Result<Self, AgentError> {
        let read = |source| AgentError::Read {
            path: path.to_owned(),
            source,
        };
        let path = std::path::absolute(path).map_err(read)?;
        let bytes = fs::read(&path).map_err(read)?;
        let place = path.display().to_string();
        Self::checked(Source::File(path), &bytes, place)
    }

    fn embedded(bytes: &'static [u8]) -> Result<Self, AgentError> {
        Self::checked(Source::Embedded(bytes), bytes, "in this program".to_owned())
    }

    fn checked(source: Source, bytes: &[u8], place: String) -> Result<Self, AgentError> {
        let machine = check(bytes).map_err(|reason| AgentError::Unfit { place, reason })?;
        Ok(Self {
            source,
            machine,
            digest: Arc::default(),
        })
    }

    /// Returns the path of its file; `None` for the embedded agent.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::Embedded(_) => None,
        }
    }

    /// Returns the content.
    ///
    /// # Errors
    ///
    /// Fails if the file can no longer be read.
    pub fn bytes(&self) -> io::Result<Cow<'static, [u8]>> {
        match &self.source {
            Source::File(path) => fs::read(path).map(Cow::Owned),
            Source::Embedded(bytes) => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Returns the SHA-256 of the content in hexadecimal digits; computed once.
    ///
    /// # Errors
    ///
    /// Fails if the file can no longer be read.
    pub fn digest(&self) -> io::Result<&str> {
        if let Some(digest) = self.digest.get() {
            return Ok(digest);
        }
        let digest = Sha256::digest(&*self.bytes()?);
        Ok(self.digest.get_or_init(|| format!("{digest:x}")))
    }

    /// Returns its version, which is that of this program.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Returns whether it runs in images of this platform, for example `linux` and `amd64`.
    pub fn runs_on(&self, system: &str, machine: &str) -> bool {
        system == "linux" && machine == self.machine
    }

    /// Returns a tar with the executable program as `runwright-agent`.
    ///
    /// # Errors
    ///
    /// Fails if the file can no longer be read.
    pub fn tar(&self, uid: u64, gid: u64) -> io::Result<Vec<u8>> {
        pack(&self.bytes()?, uid, gid)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Embedded(bytes) => write!(formatter, "embedded, {} bytes", bytes.len()),
        }
    }
}

/// Returns the machine of an agent, or why it cannot be used.
fn check(file: &[u8]) -> Result<&'static str, String> {
    let Some(program) = elf::read(file) else {
        return Err("it is not a Linux program".to_owned());
    };
    let own = env!("CARGO_PKG_VERSION");
    match version_mark::find(file) {
        None => return Err("it is another program".to_owned()),
        Some(version) if version != own => {
            return Err(format!("its version is {version}; expected {own}"));
        }
        Some(_) => {}
    }
    if program.machine != elf::own_machine() {
        let (theirs, ours) = (program.machine, elf::own_machine());
        return Err(format!("it is for {theirs}; expected {ours}"));
    }
    if !program.is_static {
        return Err("it needs libraries, which an image may not have".to_owned());
    }
    Ok(program.machine)
}

/// Packs the program as an executable for all users.
pub(crate) fn pack(program: &[u8], uid: u64, gid: u64) -> io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(program.len()).unwrap_or(u64::MAX));
    header.set_mode(0o755);
    header.set_uid(uid);
    header.set_gid(gid);
    // Equal programs have equal tars.
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    let mut builder = tar::Builder::new(Vec::with_capacity(program.len() + 4096));
    builder.append_data(&mut header, PROGRAM, program)?;
    builder.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file that is accepted as an agent.
    fn fake(machine: u8, version: &str, header: u8) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[18], file[32], file[54], file[56], file[64]) = (machine, 64, 56, 1, header);
        file.extend_from_slice(format!("\0runwright-agent of version {version}\0").as_bytes());
        file
    }

    fn own_machine() -> u8 {
        if elf::own_machine() == "arm64" {
            0xb7
        } else {
            0x3e
        }
    }

    fn good() -> Vec<u8> {
        fake(own_machine(), env!("CARGO_PKG_VERSION"), 1)
    }

    #[test]
    fn unusable_agent_is_refused_with_a_reason() {
        assert_eq!(check(&good()), Ok(elf::own_machine()));
        let own = env!("CARGO_PKG_VERSION");
        for (file, expected) in [
            (
                b"#!/bin/sh\n".to_vec(),
                "it is not a Linux program".to_owned(),
            ),
            (good()[..120].to_vec(), "it is another program".to_owned()),
            (
                fake(own_machine(), "99.1.2", 1),
                format!("its version is 99.1.2; expected {own}"),
            ),
            (
                fake(2, own, 1),
                format!("it is for another machine; expected {}", elf::own_machine()),
            ),
            (
                fake(own_machine(), own, 3),
                "it needs libraries, which an image may not have".to_owned(),
            ),
        ] {
            assert_eq!(check(&file), Err(expected));
        }
    }

    #[test]
    fn agent_is_searched_in_variable_neighbour_and_embedded_order() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            fs::write(root.path().join(name), content).unwrap();
            root.path().join(name)
        };
        let (named, beside) = (file("named", &good()), file("beside", &good()));
        let broken = file("broken", b"no program");
        let embedded: &'static [u8] = Box::leak(good().into_boxed_slice());
        let path = |chosen: Result<Agent, AgentError>| chosen.unwrap().path().map(Path::to_owned);

        let name = Some(named.clone().into_os_string());
        assert_eq!(
            path(choose(name, Some(beside.clone()), Some(embedded))),
            Some(named)
        );
        let empty = Some(OsString::new());
        assert_eq!(
            path(choose(empty, Some(beside.clone()), Some(embedded))),
            Some(beside)
        );
        assert_eq!(
            path(choose(None, Some(broken.clone()), Some(embedded))),
            None
        );
        assert_eq!(path(choose(None, None, Some(embedded))), None);
        // The variable is never ignored.
        let error = choose(Some(broken.into_os_string()), None, Some(embedded)).unwrap_err();
        assert!(
            error.to_string().contains("it is not a Linux program"),
            "{error}"
        );
        let error = choose(Some("/no/such/agent".into()), None, Some(embedded)).unwrap_err();
        assert!(matches!(error, AgentError::Read { .. }), "{error}");
        assert!(matches!(choose(None, None, None), Err(AgentError::Absent)));
    }

    #[test]
    fn digest_is_that_of_the_content() {
        let embedded: &'static [u8] = Box::leak(good().into_boxed_slice());
        let agent = Agent::embedded(embedded).unwrap();
        let digest = agent.digest().unwrap();
        assert_eq!(digest.len(), 64);
        assert_eq!(digest, Agent::embedded(embedded).unwrap().digest().unwrap());
        assert!(agent.runs_on("linux", elf::own_machine()));
        assert!(!agent.runs_on("windows", elf::own_machine()));
    }

    use std::io::Read;

    #[test]
    fn packed_program_is_executable() {
        let packed = pack(b"program", 7, 8).unwrap();
        let mut archive = tar::Archive::new(&packed[..]);
        let mut entries = archive.entries().unwrap();
        let mut entry = entries.next().unwrap().unwrap();
        let header = entry.header();
        let owner = (header.uid().unwrap(), header.gid().unwrap());
        assert_eq!((header.mode().unwrap(), owner), (0o755, (7, 8)));
        assert_eq!(entry.path_bytes(), PROGRAM.as_bytes());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert_eq!(content, b"program");
        assert!(entries.next().is_none());
    }
}
