use super::refused::failed;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pipeline::include::{IncludeError, IncludeFailure};
use sha2::{Digest as _, Sha256};

/// Checks that the bytes of a file, as they came, are those that `sha256-` and Base64 name.
pub(super) fn check(expected: &str, bytes: &[u8]) -> Result<(), IncludeError> {
    let got = format!("sha256-{}", STANDARD.encode(Sha256::digest(bytes)));
    if got == expected {
        return Ok(());
    }
    let reason = format!("its digest is `{got}`, and not `{expected}`");
    let help = "whoever knows what changed there can write the new digest to `integrity`";
    Err(failed(IncludeFailure::Integrity, reason, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let expected = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        assert_eq!(check(expected, b"abc"), Ok(()));
        let error = check(expected, b"abc\n")
            .expect_err("another text")
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("`sha256-7eqv8/F3StKIhnN3DG1k"), "{error}");
        // The mark at the beginning of a text is part of it.
        assert!(check(expected, b"\xef\xbb\xbfabc").is_err());
    }
}
