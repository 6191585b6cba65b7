//! The host names of services.

use std::collections::HashSet;

/// The length limit of a part of a host name between two dots.
const LONGEST_LABEL: usize = 63;

/// The length limit of a host name.
const LONGEST_NAME: usize = 253;

/// The image and the aliases of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedNames<'a> {
    /// The image, with its variables expanded.
    pub image: &'a str,
    /// The aliases, separated by spaces or commas, with their variables expanded.
    pub aliases: &'a str,
}

/// The names of one service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceNames {
    /// The names, those of its image first. When all of them are taken, the list is empty and the service is not started,
    /// as in GitLab.
    pub names: Vec<String>,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

/// Why an alias cannot be a host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the alias {alias:?} of the service {image} {problem}")]
pub struct AliasError {
    /// The alias, or its beginning.
    pub alias: String,
    /// The service's image.
    pub image: String,
    /// The reason.
    pub problem: &'static str,
}

/// Returns the names of all services of a job, in their order.
///
/// A service has the names of its image (see [`image_names`]) and its aliases. The first service with a name gets it; a
/// later one does not, with a warning.
///
/// # Errors
///
/// When an alias is not a host name, or is a name of the local host.
pub fn names_of(services: &[RequestedNames<'_>]) -> Result<Vec<ServiceNames>, AliasError> {
    let mut taken: HashSet<String> = HashSet::new();
    services
        .iter()
        .map(|wanted| {
            let mut of_one = ServiceNames::default();
            let mut own = HashSet::new();
            let from_image = image_names(wanted.image)
                .into_iter()
                .filter(|name| problem_of(name).is_none());
            let separators = |c: char| c == ',' || c.is_whitespace();
            let aliases = wanted.aliases.split(separators);
            let aliases = aliases.filter(|alias| !alias.is_empty());
            let checked = aliases.map(|alias| checked(alias, wanted.image));
            for name in from_image.map(Ok).chain(checked) {
                let name = name?;
                // Host names are case-insensitive.
                let key = name.to_ascii_lowercase();
                if !own.insert(key.clone()) {
                    continue;
                }
                if taken.contains(&key) {
                    of_one.warnings.push(format!(
                        "The name {name} belongs to another service; {} is not reachable by it.",
                        wanted.image
                    ));
                    continue;
                }
                of_one.names.push(name);
            }
            taken.extend(own);
            if of_one.names.is_empty() {
                of_one.warnings.push(format!(
                    "The service {} is not started: no name is left to reach it by. Give it an alias.",
                    wanted.image
                ));
            }
            Ok(of_one)
        })
        .collect()
}

/// Returns the host names of an image: its name without the registry's port, the tag and the digest, with `__` and with
/// `-` for each slash.
///
/// # Examples
///
/// ```
/// use executor_docker::service::image_names;
///
/// assert_eq!(image_names("postgres:17"), ["postgres"]);
/// assert_eq!(
///     image_names("registry.example:5000/group/db@sha256:0123"),
///     ["registry.example__group__db", "registry.example-group-db"],
/// );
/// ```
pub fn image_names(image: &str) -> Vec<String> {
    let (path, _) = split_version(image);
    let path = match path.split_once('/') {
        Some((host, rest)) => {
            let host = host.split_once(':').map_or(host, |(host, _)| host);
            format!("{host}/{rest}")
        }
        None => path.to_owned(),
    };
    let underscores = path.replace('/', "__");
    let hyphens = path.replace('/', "-");
    if underscores == hyphens {
        vec![underscores]
    } else {
        vec![underscores, hyphens]
    }
}

/// Splits an image into its name and its version: the digest, the tag, or `latest`.
pub(crate) fn split_version(image: &str) -> (&str, &str) {
    let (image, digest) = image
        .split_once('@')
        .map_or((image, None), |(image, digest)| (image, Some(digest)));
    // A colon before the last slash precedes the registry's port.
    let path_start = image.rfind('/').map_or(0, |slash| slash + 1);
    let tag = image[path_start..]
        .find(':')
        .map(|colon| path_start + colon);
    let (name, tag) = tag.map_or((image, None), |colon| {
        (&image[..colon], Some(&image[colon + 1..]))
    });
    (name, digest.or(tag).unwrap_or("latest"))
}

fn checked(alias: &str, image: &str) -> Result<String, AliasError> {
    match problem_of(alias) {
        None => Ok(alias.to_owned()),
        Some(problem) => Err(AliasError {
            alias: alias.chars().take(LONGEST_LABEL).collect(),
            image: image.to_owned(),
            problem,
        }),
    }
}

/// Returns why `name` cannot be the host name of a service.
///
/// Names follow RFC 1123 and may contain underscores, as GitLab's do.
fn problem_of(name: &str) -> Option<&'static str> {
    if name.len() > LONGEST_NAME {
        return Some("is longer than the 253 characters a host name may have");
    }
    let lowercase = name.to_ascii_lowercase();
    if lowercase == "localhost" || lowercase.ends_with(".localhost") {
        return Some("is a name of the job's own container");
    }
    if name.parse::<std::net::IpAddr>().is_ok() {
        return Some("is an address");
    }
    for label in name.split('.') {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if label.len() > LONGEST_LABEL {
            return Some("has a part longer than the 63 characters it may have");
        }
        if label.is_empty() || !label.chars().all(allowed) {
            return Some("is not a host name: use letters, digits, hyphens and dots");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Some("is not a host name: no part of it begins or ends with a hyphen");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(services: &[(&str, &str)], expect: &[&[&str]], warnings: usize) {
        let wanted: Vec<_> = services
            .iter()
            .map(|&(image, aliases)| RequestedNames { image, aliases })
            .collect();
        let found = names_of(&wanted).expect("names");
        let names: Vec<_> = found.iter().map(|one| one.names.clone()).collect();
        assert_eq!(names, expect, "of {services:?}");
        let warned: usize = found.iter().map(|one| one.warnings.len()).sum();
        assert_eq!(warned, warnings, "warnings of {services:?}: {found:?}");
    }

    #[test]
    fn names_derive_from_the_image_and_the_aliases() {
        check(&[("redis", "")], &[&["redis"]], 0);
        check(&[("redis:7.4-alpine", "cache")], &[&["redis", "cache"]], 0);
        check(
            &[("tutum/wordpress:latest", "")],
            &[&["tutum__wordpress", "tutum-wordpress"]],
            0,
        );
        check(
            &[("localhost:5000/a/b:1", "x,y z,,\tx")],
            &[&["localhost__a__b", "localhost-a-b", "x", "y", "z"]],
            0,
        );
        check(&[("db", "My_db.internal")], &[&["db", "My_db.internal"]], 0);
        check(&[("db", "db DB")], &[&["db"]], 0);
        check(&[], &[], 0);
    }

    #[test]
    fn a_name_belongs_to_the_first_service() {
        check(
            &[("redis:6", "old"), ("redis:7", "new")],
            &[&["redis", "old"], &["new"]],
            1,
        );
        check(&[("redis", ""), ("redis", "")], &[&["redis"], &[]], 2);
        check(&[("a", "x"), ("b", "X,y")], &[&["a", "x"], &["b", "y"]], 1);
    }

    #[test]
    fn invalid_host_names_are_refused() {
        let refuse = |alias: &str, part: &str| {
            let wanted = RequestedNames {
                image: "db",
                aliases: alias,
            };
            let error = names_of(&[wanted]).expect_err(alias).to_string();
            assert!(error.contains(part), "{error}");
        };
        refuse("../../x", "is not a host name");
        refuse("a/b", "is not a host name");
        refuse("a..b", "is not a host name");
        refuse("ä", "is not a host name");
        refuse("$UNSET", "is not a host name");
        refuse("-x", "hyphen");
        refuse("x-.y", "hyphen");
        refuse("localhost", "job's own");
        refuse("db.LOCALHOST", "job's own");
        refuse("10.0.0.1", "is an address");
        refuse(&"x".repeat(70), "63");
        refuse(&"x.".repeat(150), "253");
    }

    #[test]
    fn an_image_with_a_long_name_has_only_its_alias() {
        let long = "x".repeat(70);
        check(&[(&long, "db")], &[&["db"]], 0);
        check(&[(&long, "")], &[&[]], 1);
    }

    #[test]
    fn the_version_is_the_digest_or_the_tag() {
        let check = |image: &str, name: &str, version: &str| {
            assert_eq!(split_version(image), (name, version), "{image}");
        };
        check("redis", "redis", "latest");
        check("redis:7", "redis", "7");
        check("host:5000/redis", "host:5000/redis", "latest");
        check(
            "host:5000/redis:7@sha256:00",
            "host:5000/redis",
            "sha256:00",
        );
        check("", "", "latest");
    }
}
