//! The trusted keys of hosts, in the format of `sshd(8)`: plain and hashed names, patterns, `@revoked`.

use crate::client_config::matches_any;
use crate::error::{Fingerprint, HostKeyError, HostKeyReason, SshError};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hmac::{Hmac, Mac};
use parking_lot::Mutex;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Held while a key is added to a file.
static ADDING: Mutex<()> = Mutex::new(());

/// The keys that apply to one host.
#[derive(Debug)]
pub(crate) struct KnownKeys {
    /// `host`, or `[host]:port`.
    name: String,
    keys: Vec<KnownKey>,
    /// The file to which a new key is added.
    file: PathBuf,
}

#[derive(Debug)]
struct KnownKey {
    blob: Vec<u8>,
    revoked: bool,
    /// The file and the line.
    place: String,
}

impl KnownKeys {
    /// Reads the keys of `host` from the files; the first one is the user's.
    ///
    /// # Errors
    ///
    /// When a file exists and cannot be read.
    pub(crate) fn read(files: &[PathBuf], host: &str, port: u16) -> Result<Self, SshError> {
        let name = match port {
            22 => host.to_ascii_lowercase(),
            port => format!("[{}]:{port}", host.to_ascii_lowercase()),
        };
        let mut keys = Vec::new();
        for file in files {
            match fs::read(file) {
                Ok(bytes) => {
                    collect(&String::from_utf8_lossy(&bytes), file, &name, &mut keys);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = file.clone();
                    return Err(SshError::Read { path, source });
                }
            }
        }
        let file = files.first().cloned().unwrap_or_default();
        Ok(Self { name, keys, file })
    }

    /// Returns the types of the known keys, to ask the host for one of these.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let trusted = self.keys.iter().filter(|key| !key.revoked);
        trusted.map(|key| kind(&key.blob)).collect()
    }

    /// Checks the key that the host sent. With `accept_new` the first key of a host is added to the file.
    ///
    /// # Errors
    ///
    /// When the key is not trusted, or cannot be added.
    pub(crate) fn check(&self, blob: &[u8], accept_new: bool) -> Result<(), SshError> {
        let of = |revoked: bool| self.keys.iter().filter(move |key| key.revoked == revoked);
        let fail = |reason, known: Vec<&KnownKey>| {
            let known = known.into_iter();
            let known = known.map(|key| (fingerprint(&key.blob), key.place.clone()));
            Err(SshError::HostKey(Box::new(HostKeyError {
                name: self.name.clone(),
                reason,
                sent: fingerprint(blob),
                known: known.collect(),
                file: self.file.clone(),
            })))
        };
        let revoked: Vec<_> = of(true).filter(|key| key.blob == blob).collect();
        if !revoked.is_empty() {
            return fail(HostKeyReason::Revoked, revoked);
        }
        if of(false).any(|key| key.blob == blob) {
            return Ok(());
        }
        let known: Vec<_> = of(false).collect();
        if !known.is_empty() {
            return fail(HostKeyReason::Changed, known);
        }
        if !accept_new {
            return fail(HostKeyReason::Unknown, known);
        }
        let line = format!("{} {} {}\n", self.name, kind(blob), STANDARD.encode(blob));
        // Jobs that start together connect together, and one of them adds the key for all.
        let _adding = ADDING.lock();
        let is_there = fs::read_to_string(&self.file)
            .is_ok_and(|text| text.lines().any(|it| it == line.trim_end()));
        if is_there {
            return Ok(());
        }
        append(&self.file, &line).map_err(|error| {
            let file = self.file.display();
            SshError::config(format!("add the key of {} to {file}: {error}", self.name))
        })
    }
}

/// Adds a line with one call, so that two processes do not mix theirs.
fn append(file: &Path, line: &str) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700).create(parent)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(file)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    // The last line of another program may have no end.
    let end = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{end}{line}").as_bytes())
}

/// Collects the keys of `name`. A line that cannot be read applies to no host, as for ssh.
fn collect(text: &str, file: &Path, name: &str, keys: &mut Vec<KnownKey>) {
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace().peekable();
        let marker = words.next_if(|word| word.starts_with('@'));
        let revoked = match marker {
            None => false,
            Some("@revoked") => true,
            // Certificates of hosts are not supported, so their authority vouches for no key.
            Some(_) => continue,
        };
        let (Some(names), Some(_), Some(key)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let applies = match names.strip_prefix("|1|") {
            Some(hashed) => is_hash_of(hashed, name),
            None => matches_any(names.split(','), name),
        };
        if names.starts_with('#') || !applies {
            continue;
        }
        let Ok(blob) = STANDARD.decode(key) else {
            continue;
        };
        keys.push(KnownKey {
            blob,
            revoked,
            place: format!("{}:{}", file.display(), index + 1),
        });
    }
}

/// Returns whether `salt|hash` is the hash of a name.
fn is_hash_of(hashed: &str, name: &str) -> bool {
    let Some((salt, hash)) = hashed.split_once('|') else {
        return false;
    };
    let (Ok(salt), Ok(hash)) = (STANDARD.decode(salt), STANDARD.decode(hash)) else {
        return false;
    };
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&salt) else {
        return false;
    };
    mac.update(name.as_bytes());
    mac.verify_slice(&hash).is_ok()
}

/// Returns the type of a key: the first string in it (RFC 4253, section 6.6).
fn kind(blob: &[u8]) -> String {
    let read = || {
        let (length, rest) = blob.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        std::str::from_utf8(rest.get(..length)?).ok()
    };
    read().unwrap_or("unknown").to_owned()
}

fn fingerprint(blob: &[u8]) -> Fingerprint {
    Fingerprint {
        kind: kind(blob),
        digest: format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(kind: &str, rest: &[u8]) -> Vec<u8> {
        let mut blob = u32::try_from(kind.len()).unwrap().to_be_bytes().to_vec();
        blob.extend_from_slice(kind.as_bytes());
        blob.extend_from_slice(rest);
        blob
    }

    fn hashed(name: &str) -> String {
        let mut mac = Hmac::<Sha1>::new_from_slice(b"salt").unwrap();
        mac.update(name.as_bytes());
        let hash = STANDARD.encode(mac.finalize().into_bytes());
        format!("|1|{}|{hash}", STANDARD.encode(b"salt"))
    }

    /// Returns the reason for which a key of `host` is refused by a file with this line.
    fn refused(names: &str, known: &[u8], port: u16) -> Option<HostKeyReason> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known");
        let line = format!(
            "# comment\n{names} ssh-ed25519 {}\n",
            STANDARD.encode(known)
        );
        fs::write(&file, line).unwrap();
        let keys = KnownKeys::read(&[file], "Host.example", port).unwrap();
        match keys.check(&blob("ssh-ed25519", b"1"), false) {
            Ok(()) => None,
            Err(SshError::HostKey(error)) => Some(error.reason),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn keys_are_found_by_all_forms_of_names() {
        let own = blob("ssh-ed25519", b"1");
        let other = blob("ssh-ed25519", b"2");
        let hash = hashed("host.example");
        let hash_of_port = hashed("[host.example]:2222");
        let cases = [
            ("host.example", 22, None),
            ("other,*.example", 22, None),
            ("*.example,!host.example", 22, Some(HostKeyReason::Unknown)),
            (&*hash, 22, None),
            (&*hash, 2222, Some(HostKeyReason::Unknown)),
            (&*hash_of_port, 2222, None),
            ("@revoked *", 22, Some(HostKeyReason::Revoked)),
            ("@cert-authority *", 22, Some(HostKeyReason::Unknown)),
        ];
        for (names, port, expect) in cases {
            assert_eq!(refused(names, &own, port), expect, "{names} {port}");
        }
        assert_eq!(
            refused("host.example", &other, 22),
            Some(HostKeyReason::Changed)
        );
        assert_eq!(
            refused("@revoked host.example", &other, 22),
            Some(HostKeyReason::Unknown)
        );
    }

    #[test]
    fn a_new_key_is_added_when_that_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let files = [folder.path().join(".ssh/known_hosts")];
        let key = blob("ssh-ed25519", b"1");
        let keys = KnownKeys::read(&files, "h", 2222).unwrap();
        fs::create_dir(folder.path().join(".ssh")).unwrap();
        // Its last line has no end.
        fs::write(&files[0], "other ssh-ed25519 AAAA").unwrap();
        keys.check(&key, true).unwrap();
        // Another job asked before the key was there.
        keys.check(&key, true).unwrap();
        let lines = fs::read_to_string(&files[0]).unwrap().lines().count();
        assert_eq!(lines, 2);
        let again = KnownKeys::read(&files, "h", 2222).unwrap();
        assert_eq!(again.kinds(), ["ssh-ed25519"]);
        again.check(&key, false).unwrap();
        let error = again
            .check(&blob("ssh-rsa", b"2"), true)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("has changed: it sent ssh-rsa SHA256:"),
            "{error}"
        );
        assert!(error.contains("known_hosts:2)"), "{error}");
    }
}
