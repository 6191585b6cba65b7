//! Files at addresses.

use super::asker::decoded;
use super::finder::Finder;
use super::refused::failed;
use crate::Question;
use pipeline::include::{FileHome, IncludeError, IncludeFailure, IncludedFile};
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
            super::integrity::check(expected, &body)?;
        }
        Ok(IncludedFile {
            name,
            text: decoded(&body)?.into(),
            home: FileHome::NoProject,
            component: Vec::new(),
        })
    }
}

/// Reads the address of a file.
fn read(address: &str) -> Result<Url, IncludeError> {
    let refuse = |reason, help| failed(IncludeFailure::Invalid, reason, help);
    let mut url = Url::parse(address).map_err(|error| {
        refuse(
            format!("the address cannot be read: {error}"),
            "an address looks like `https://host/file.yml`",
        )
    })?;
    match url.scheme() {
        "http" | "https" => {}
        scheme @ ("ssh" | "git") => {
            return Err(refuse(
                format!("nothing is fetched over `{scheme}`"),
                "a file in a repository of a GitLab is included with `project`",
            ));
        }
        _ => {
            return Err(refuse(
                "only addresses of `https` are fetched".to_owned(),
                "an address looks like `https://host/file.yml`",
            ));
        }
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns what messages call a file: its address without what may be secret.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_a_web_server() {
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
        // A number is an address too, which the rules look at.
        check("http://2130706433/a.yml", Ok("http://127.0.0.1/a.yml"));
        check(
            "https://u:secret@e.com/a.yml?token=secret#x",
            Ok("https://e.com/a.yml"),
        );
        check("ssh://git@e.com/a.yml", Err("over `ssh`"));
        check("git://e.com/a.yml", Err("over `git`"));
        check("file:///etc/passwd.yml", Err("only addresses of `https`"));
        check("/a.yml", Err("cannot be read"));
        check("https://", Err("cannot be read"));
        check("https://[::1/a.yml", Err("cannot be read"));
        check("http://e.com:99999/a.yml", Err("cannot be read"));
    }

    #[test]
    fn a_fragment_is_nothing_to_ask_for() {
        let url = read("https://e.com/a.yml?x=1#part").expect("an address");
        assert_eq!(url.as_str(), "https://e.com/a.yml?x=1");
    }
}
