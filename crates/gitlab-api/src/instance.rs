use std::fmt;
use thiserror::Error;
use url::Url;
use web::Origin;

/// A GitLab: `https://gitlab.com`, or a self-managed one, possibly below a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The address, without a trailing slash.
    address: String,
    origin: Origin,
}

/// Why an address is not that of a GitLab.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{address}` is no address of a GitLab: {reason}")]
pub struct InstanceError {
    /// The address as given, without the parts that may be secret.
    pub address: String,
    /// What is wrong with the address.
    pub reason: &'static str,
}

impl Instance {
    /// Returns the GitLab at an address like `https://gitlab.example.com/gitlab`; a bare host means
    /// `https`.
    ///
    /// # Errors
    ///
    /// When it is not the address of a web server, or has a user, a query or a fragment.
    pub fn parse(address: &str) -> Result<Self, InstanceError> {
        let bare = address.trim_end_matches('/');
        let full = if bare.contains("://") {
            bare.to_owned()
        } else {
            format!("https://{bare}")
        };
        // The user and the query may be secret.
        let shown = full.rsplit('@').next().unwrap_or_default();
        let shown = shown.split(['?', '#']).next().unwrap_or_default();
        let refuse = |reason| InstanceError {
            address: shown.to_owned(),
            reason,
        };
        let url = Url::parse(&full).map_err(|_| refuse("it cannot be read"))?;
        let origin = Origin::of(&url).ok_or_else(|| refuse("only http and https are spoken"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "a user belongs into the settings, not into an address",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("there is nothing behind its path"));
        }
        let path = url.path().trim_end_matches('/');
        Ok(Self {
            address: format!("{origin}{path}"),
            origin,
        })
    }

    /// Returns the server.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the name that components use, `CI_SERVER_FQDN`: the host, with the port unless it is the default.
    pub fn name(&self) -> &str {
        let rest = self.address.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    /// Returns the address, without a trailing slash.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read() {
        let check = |given: &str, expect: Option<(&str, &str)>| {
            let read = Instance::parse(given).ok();
            let read = read.as_ref().map(|it| (it.address(), it.name()));
            assert_eq!(read, expect, "{given}");
        };
        check("gitlab.com", Some(("https://gitlab.com", "gitlab.com")));
        check("https://h/git/", Some(("https://h/git", "h")));
        check("http://h:8080", Some(("http://h:8080", "h:8080")));
        check("https://h:443", Some(("https://h", "h")));
        check("ssh://git@h", None);
        check("https://user:secret@h", None);
        check("https://h?x=1", None);
        check("", None);
    }

    #[test]
    fn an_error_shows_no_secret() {
        for address in [
            "https://user:secret@h",
            "https://h?token=secret",
            "x y?secret",
        ] {
            let error = Instance::parse(address).expect_err("refused");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
