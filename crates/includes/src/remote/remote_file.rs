//! Files at addresses (`include:remote`).

use super::ask_once::decoded;
use super::errors::failed;
use super::finder::Finder;
use crate::Question;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pipeline::include::{FileHome, IncludeError, IncludeFailure, IncludedFile};
use sha2::{Digest as _, Sha256};
use web::Url;

impl Finder {
    /// Returns the file at an address.
    pub(super) async fn remote(
        &self,
        address: &str,
        integrity: Option<&str>,
        age: Option<u64>,
    ) -> Result<IncludedFile, IncludeError> {
        let url = read(address)?;
        let name = shown(&url);
        let body = self.asker.ask(Question::Page { url, age }).await?;
        let body = body.ok_or(IncludeError::Missing)?;
        if let Some(expected) = integrity {
            check_integrity(expected, &body)?;
        }
        Ok(IncludedFile {
            name,
            text: decoded(&body)?.into(),
            home: FileHome::NoProject,
            component: Vec::new(),
        })
    }
}

/// Parses the address of a file.
fn read(address: &str) -> Result<Url, IncludeError> {
    let refuse = |reason, help| failed(IncludeFailure::Invalid, reason, help);
    let mut url = Url::parse(address).map_err(|error| {
        refuse(
            format!("invalid address: {error}"),
            "expected an address such as `https://host/file.yml`",
        )
    })?;
    match url.scheme() {
        "http" | "https" => {}
        scheme @ ("ssh" | "git") => {
            return Err(refuse(
                format!("nothing is fetched over `{scheme}`"),
                "`project` includes a file of a repository on a GitLab",
            ));
        }
        _ => {
            return Err(refuse(
                "only `https` addresses are fetched".to_owned(),
                "expected an address such as `https://host/file.yml`",
            ));
        }
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns the name of a file in messages: its address without parts that may be secret.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Checks the bytes of a file against `sha256-` and a digest in Base64.
fn check_integrity(expected: &str, bytes: &[u8]) -> Result<(), IncludeError> {
    let got = format!("sha256-{}", STANDARD.encode(Sha256::digest(bytes)));
    if got == expected {
        return Ok(());
    }
    let reason = format!("its digest is `{got}`; expected `{expected}`");
    let help = "if the change is intended, write the new digest to `integrity`";
    Err(failed(IncludeFailure::Integrity, reason, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_accepted() {
        let check = |address: &str, expect: Result<&str, &str>| match (read(address), expect) {
            (Ok(url), Ok(name)) => assert_eq!(shown(&url), name, "{address}"),
            (Err(error), Err(reason)) => {
                let error = error.to_string();
                assert!(error.contains(reason), "{address}: {error}");
            }
            (read, _) => panic!("{address}: {read:?}"),
        };
        check("https://e.com/a.yml", Ok("https://e.com/a.yml"));
        check("HTTP://E.com:8080/a.yml", Ok("http://e.com:8080/a.yml"));
        // A number is a valid address; the rules for addresses apply to it.
        check("http://2130706433/a.yml", Ok("http://127.0.0.1/a.yml"));
        check(
            "https://u:secret@e.com/a.yml?token=secret#x",
            Ok("https://e.com/a.yml"),
        );
        check("ssh://git@e.com/a.yml", Err("over `ssh`"));
        check("git://e.com/a.yml", Err("over `git`"));
        check("file:///etc/passwd.yml", Err("only `https` addresses"));
        check("/a.yml", Err("invalid address"));
        check("https://", Err("invalid address"));
        check("https://[::1/a.yml", Err("invalid address"));
        check("http://e.com:99999/a.yml", Err("invalid address"));
    }

    #[test]
    fn fragment_is_dropped() {
        let url = read("https://e.com/a.yml?x=1#part").expect("an address");
        assert_eq!(url.as_str(), "https://e.com/a.yml?x=1");
    }

    #[test]
    fn integrity_covers_every_byte() {
        let expected = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        assert_eq!(check_integrity(expected, b"abc"), Ok(()));
        let error = check_integrity(expected, b"abc\n")
            .expect_err("another text")
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("`sha256-7eqv8/F3StKIhnN3DG1k"), "{error}");
        // The byte order mark counts.
        assert!(check_integrity(expected, b"\xef\xbb\xbfabc").is_err());
    }
}
