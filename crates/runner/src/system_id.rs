//! The identity of this machine, by which a GitLab tells apart the machines that share a token.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// The number of characters after `s_` or `r_`.
const LENGTH: usize = 12;

/// Returns the machine's identity that is kept in a file, as GitLab Runner keeps it in `.runner_system_id` beside its
/// configuration. It is made and kept if there is none yet.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn system_id(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Ok(text) if is_valid(text.trim()) => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let id = match fs::read_to_string("/etc/machine-id") {
        Ok(machine) if !machine.trim().is_empty() => of_machine(machine.trim()),
        _ => random()?,
    };
    process::replace_file(file, id.as_bytes())?;
    Ok(id)
}

fn is_valid(id: &str) -> bool {
    let rest = id.strip_prefix("s_").or_else(|| id.strip_prefix("r_"));
    rest.is_some_and(|it| it.len() == LENGTH && it.bytes().all(|it| it.is_ascii_alphanumeric()))
}

/// Returns the identity that GitLab Runner has on the same machine.
fn of_machine(machine: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(machine.as_bytes());
    let mut mac = mac.expect("a key may have any length");
    mac.update(b"gitlab-runner");
    format!("s_{}", hex(&mac.finalize().into_bytes()[..LENGTH / 2]))
}

fn random() -> io::Result<String> {
    Ok(format!("r_{}", &random_hex()?[..LENGTH]))
}

/// Returns 32 random hexadecimal digits.
pub(crate) fn random_hex() -> io::Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join(".runner_system_id");
        let first = system_id(&file).expect("made");
        assert!(is_valid(&first), "{first}");
        assert_eq!(system_id(&file).expect("read"), first);
        fs::write(&file, "r_AbCdEf123456\n").expect("written");
        assert_eq!(system_id(&file).expect("read"), "r_AbCdEf123456");
        fs::write(&file, "nonsense").expect("written");
        assert!(is_valid(&system_id(&file).expect("made anew")));
        assert_eq!(of_machine("a").len(), 14);
    }
}
