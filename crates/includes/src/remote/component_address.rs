use super::reference::project_path;
use super::version::RequestedVersion;
use gitlab_api::{Accounts, Instance};
use thiserror::Error;

/// The address of a component, `host/group/project/name@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComponentAddress {
    /// The GitLab.
    pub(super) instance: Instance,
    /// The project's path.
    pub(super) project: String,
    /// The component's name.
    pub(super) name: String,
    /// The text after the `@`.
    pub(super) reference: String,
    /// The version that it asks for.
    pub(super) version: RequestedVersion,
}

/// Why a text is not the address of a component.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub(super) struct AddressError {
    /// What is wrong with it.
    pub(super) reason: &'static str,
    /// What it should look like.
    pub(super) help: &'static str,
}

/// The expected form of an address.
pub(super) const SHAPE: &str = "a component is named `HOST/GROUP/PROJECT/NAME@VERSION`, for example \
                     `$CI_SERVER_FQDN/group/project/name@1.2.0`";

impl ComponentAddress {
    /// Parses an address; `accounts` has the known GitLabs.
    ///
    /// The path of a GitLab below one may be present or missing.
    ///
    /// # Errors
    ///
    /// When the text is not such an address, or its GitLab is not known.
    pub(super) fn parse(text: &str, accounts: &dyn Accounts) -> Result<Self, AddressError> {
        let refuse = |reason| AddressError {
            reason,
            help: SHAPE,
        };
        if text.contains("://") {
            return Err(refuse("the address starts with a scheme; expected a host"));
        }
        let Some((path, reference)) = text.split_once('@') else {
            return Err(refuse("the address has no version: expected an `@`"));
        };
        let version = RequestedVersion::parse(reference).ok_or(AddressError {
            reason: "the text after the `@` is not a version",
            help: "a version is a tag, a branch, a commit, `~latest`, or the start of a version \
                   such as `1` or `1.2`",
        })?;
        let Some((host, rest)) = path.split_once('/').filter(|(host, _)| !host.is_empty()) else {
            return Err(refuse("the address does not start with a host"));
        };
        let instance = accounts.instance(host).ok_or(AddressError {
            reason: "its host is not a known GitLab",
            help: "the settings name the GitLabs of other hosts",
        })?;
        let below = without_path_of(&instance, rest).unwrap_or(rest);
        let Some((project, name)) = below.rsplit_once('/') else {
            return Err(refuse(
                "the address has no project and component after the host",
            ));
        };
        // A slash at either end means that a part is missing.
        let is_whole = !project.starts_with('/') && !project.ends_with('/');
        let Some(project) = project_path(project).filter(|_| is_whole) else {
            return Err(refuse("the address has no project with a group"));
        };
        if !is_name(name) {
            return Err(refuse(
                "the last part of the address is not a component name",
            ));
        }
        Ok(Self {
            project: project.to_owned(),
            name: name.to_owned(),
            reference: reference.to_owned(),
            instance,
            version,
        })
    }
}

/// Returns the part after the path of a GitLab below one, if it can hold a component.
fn without_path_of<'r>(instance: &Instance, rest: &'r str) -> Option<&'r str> {
    let (_, after_scheme) = instance.address().split_once("://")?;
    let (_, path) = after_scheme.split_once('/')?;
    let rest = rest.strip_prefix(path)?.strip_prefix('/')?;
    (rest.matches('/').count() >= 2).then_some(rest)
}

fn is_name(name: &str) -> bool {
    let is_bad = |character: char| {
        character.is_control() || character.is_whitespace() || "?#%\\:".contains(character)
    };
    !name.is_empty() && name != "." && name != ".." && !name.contains(is_bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gitlab_api::Token;

    #[derive(Debug)]
    struct Known(&'static str);

    impl Accounts for Known {
        fn own(&self) -> Option<Instance> {
            Instance::parse(self.0).ok()
        }

        fn instance(&self, name: &str) -> Option<Instance> {
            self.own().filter(|own| own.name() == name)
        }

        fn token(&self, _instance: &Instance) -> Option<Token> {
            None
        }

        fn places(&self, _instance: &Instance) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn address_has_host_project_name_and_version() {
        let check = |instance: &'static str, text: &str, project: &str, name: &str| {
            let read = ComponentAddress::parse(text, &Known(instance));
            let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.instance.address(), instance, "{text}");
            assert_eq!((&*read.project, &*read.name), (project, name), "{text}");
        };
        check("https://gitlab.com", "gitlab.com/g/p/c@1", "g/p", "c");
        check(
            "https://gitlab.com",
            "gitlab.com/g/s/p/c@feature/x",
            "g/s/p",
            "c",
        );
        check("http://h:8080", "h:8080/g/p/c@~latest", "g/p", "c");
        check("https://h/git", "h/g/p/c@1", "g/p", "c");
        check("https://h/git", "h/git/g/p/c@1", "g/p", "c");
        // This project's group has the same name as the path.
        check("https://h/git", "h/git/p/c@1", "git/p", "c");
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        let check = |text: &str, expect: &str| {
            let error = ComponentAddress::parse(text, &Known("https://gitlab.com"));
            let error = error.expect_err(text).to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "no version");
        check("gitlab.com/g/p/c", "no version");
        check("gitlab.com/g/p/c@", "is not a version");
        check("gitlab.com/g/p/c@~1.2.3", "is not a version");
        check("gitlab.com/g/p/c@1@2 3", "is not a version");
        check("/g/p/c@1", "not start with a host");
        check("c@1", "not start with a host");
        check("https://gitlab.com/g/p/c@1", "scheme");
        check("example.com/g/p/c@1", "not a known GitLab");
        check("gitlab.com:8443/g/p/c@1", "not a known GitLab");
        check("gitlab.com/c@1", "no project and component");
        check("gitlab.com/p/c@1", "with a group");
        check("gitlab.com//p/c@1", "with a group");
        check("gitlab.com/g/p/@1", "not a component name");
        check("gitlab.com/g/../c@1", "with a group");
        check("gitlab.com/g/p/..@1", "not a component name");
        check("gitlab.com/g/p//c@1", "with a group");
        check("gitlab.com/g/p/c d@1", "not a component name");
    }
}
