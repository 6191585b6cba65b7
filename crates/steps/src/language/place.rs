//! The places of functions.

use super::error::LanguageError;
use std::fmt;

/// The file names of functions; the first existing one counts.
pub const FILES: [&str; 2] = ["func.yml", "step.yml"];

/// The place of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A directory of the environment. A relative path starts at the directory of the referring function.
    Local(File),
    /// A directory of a git repository.
    Git {
        /// The address of the repository.
        url: String,
        /// The tag, branch or commit.
        rev: String,
        /// The file in it.
        file: File,
    },
    /// A directory of an image in a registry.
    Oci {
        /// The host of the registry, with its port if any.
        registry: String,
        /// The name of the image.
        repository: String,
        /// The tag or digest.
        tag: String,
        /// The file in it.
        file: File,
    },
    /// A function of the service itself.
    Builtin(String),
}

/// A directory, and the file of a function in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct File {
    /// The directory; empty for the root.
    pub directory: String,
    /// The file; `None` for the usual names.
    pub name: Option<String>,
}

impl Place {
    /// Parses a reference without expressions.
    ///
    /// # Errors
    ///
    /// When it is not a reference.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        let text = text.trim();
        if text.is_empty() || text.chars().any(|c| c.is_control() || c == '\0') {
            return Err(LanguageError::new(
                "the reference is empty, or contains control characters",
            ));
        }
        if text.starts_with(['.', '/']) {
            return Ok(Self::Local(File::of(text)));
        }
        for scheme in ["builtin://", "dist://"] {
            if let Some(name) = text.strip_prefix(scheme) {
                return Ok(Self::Builtin(name.to_owned()));
            }
        }
        let (address, inside) = text.split_once(' ').unwrap_or((text, ""));
        match address.rsplit_once('@') {
            Some((image, digest)) if digest.starts_with("sha256:") => oci(image, digest, inside),
            Some((address, rev)) if inside.is_empty() => git(address, rev),
            _ => oci_with_tag(address, inside),
        }
    }
}

/// Parses `host/group/project[/-/dir[/file.yml]]@rev`. In this form functions are below `steps`.
fn git(address: &str, rev: &str) -> Result<Place, LanguageError> {
    let (project, inside) = match address.split_once("/-/") {
        Some((project, inside)) => (project, inside),
        None => (address, ""),
    };
    if project.is_empty() || rev.is_empty() {
        return Err(LanguageError::new(format!(
            "{address}@{rev} has no repository or no revision"
        )));
    }
    if !project.contains("://")
        && project
            .split('/')
            .next()
            .is_some_and(|host| host.contains('@'))
    {
        return Err(LanguageError::new(format!(
            "expected ssh://USER@HOST/PATH@{rev} for a git repository over ssh"
        )));
    }
    let mut file = File::inside(inside)?;
    file.directory = match file.directory.as_str() {
        "" => "steps".to_owned(),
        directory => format!("steps/{directory}"),
    };
    Ok(Place::Git {
        url: with_scheme(project),
        rev: rev.to_owned(),
        file,
    })
}

pub(super) fn with_scheme(project: &str) -> String {
    if project.contains("://") || project.starts_with('/') {
        return project.to_owned();
    }
    format!("https://{project}")
}

/// Parses `registry/repository:tag`.
fn oci_with_tag(text: &str, inside: &str) -> Result<Place, LanguageError> {
    let last = text.rfind('/').map_or(0, |slash| slash + 1);
    match text[last..].find(':') {
        Some(colon) => oci(&text[..last + colon], &text[last + colon + 1..], inside),
        None => Err(LanguageError::new(format!(
            "`{text}` is not a reference: a directory starts with `.` or `/`, an image ends with `:TAG`, a git \
             repository with `@REVISION`"
        ))),
    }
}

/// Parses an image; `inside` is `dir[/file.yml]`.
fn oci(image: &str, tag: &str, inside: &str) -> Result<Place, LanguageError> {
    match image.split_once('/') {
        Some((registry, repository)) if ![registry, repository, tag].contains(&"") => {
            Ok(Place::Oci {
                registry: registry.to_owned(),
                repository: repository.to_owned(),
                tag: tag.to_owned(),
                file: File::inside(inside.trim())?,
            })
        }
        _ => Err(LanguageError::new(format!(
            "{image} is not an image: expected REGISTRY/REPOSITORY:TAG"
        ))),
    }
}

impl File {
    /// Parses a path in a repository or an image.
    ///
    /// # Errors
    ///
    /// When it leads out of the repository or image.
    fn inside(path: &str) -> Result<Self, LanguageError> {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(LanguageError::new(format!(
                "the path {path} leads out of the repository or image"
            )));
        }
        Ok(Self::of(path))
    }

    /// Parses a path; one that ends with `.yml` includes the file name.
    fn of(path: &str) -> Self {
        let (directory, last) = path.rsplit_once('/').unwrap_or(("", path));
        if last.strip_suffix(".yml").is_none() {
            let directory = match path.trim_end_matches('/') {
                "" if path.starts_with('/') => "/",
                directory => directory,
            };
            return Self {
                directory: directory.to_owned(),
                name: None,
            };
        }
        let directory = if directory.is_empty() && path.starts_with('/') {
            "/"
        } else {
            directory
        };
        Self {
            directory: directory.to_owned(),
            name: Some(last.to_owned()),
        }
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.directory.is_empty() { "" } else { "/" };
        match &self.name {
            Some(name) => write!(f, "{}{separator}{name}", self.directory),
            None => f.write_str(&self.directory),
        }
    }
}

/// Returns an address without its user part, which may contain a password.
pub(crate) fn shown_url(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) => (host, format!("/{path}")),
        None => (rest, String::new()),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}{host}{path}")
}

/// Formats the place as it is written.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(file) => write!(f, "{file}"),
            Self::Git { url, rev, file } => {
                let shown = shown_url(url);
                write!(f, "{shown}@{rev}, {file}")
            }
            Self::Oci {
                registry,
                repository,
                tag,
                file,
            } => {
                let sign = if tag.contains(':') { '@' } else { ':' };
                write!(f, "{registry}/{repository}{sign}{tag}")?;
                if *file == File::default() {
                    return Ok(());
                }
                write!(f, " {file}")
            }
            Self::Builtin(name) => write!(f, "builtin://{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_hidden() {
        for (url, expect) in [
            ("https://me:pw@host/a/b", "https://host/a/b"),
            ("me:pw@host/a/b", "host/a/b"),
            ("host/a@b", "host/a@b"),
            ("https://me:pw@host", "https://host"),
        ] {
            assert_eq!(shown_url(url), expect, "{url}");
        }
    }

    #[test]
    fn references_are_classified_by_prefix_and_suffix() {
        let check = |text: &str, expect: &str| {
            let place = Place::parse(text).map(|place| format!("{place:?}"));
            let place = place.unwrap_or_else(|wrong| wrong.to_string());
            assert_eq!(place, expect, "{text}");
        };
        let file = |directory: &str, name: &str| {
            let name = if name.is_empty() {
                "None".to_owned()
            } else {
                format!("Some({name:?})")
            };
            format!("File {{ directory: {directory:?}, name: {name} }}")
        };
        let local = |directory: &str, name: &str| format!("Local({})", file(directory, name));
        check(".", &local(".", ""));
        check("./a/b/", &local("./a/b", ""));
        check("../a/my.yml", &local("../a", "my.yml"));
        check("/opt/a", &local("/opt/a", ""));
        check("/", &local("/", ""));
        check("/a.yml", &local("/", "a.yml"));
        check(
            "builtin://function/oci/build",
            "Builtin(\"function/oci/build\")",
        );
        check("dist://script", "Builtin(\"script\")");
        let git = |url: &str, rev: &str, file: String| {
            format!("Git {{ url: {url:?}, rev: {rev:?}, file: {file} }}")
        };
        check(
            "gitlab.com/components/echo@v1.0.0",
            &git(
                "https://gitlab.com/components/echo",
                "v1.0.0",
                file("steps", ""),
            ),
        );
        check(
            "gitlab.com/c/echo/-/reverse/my-step.yml@3c63f3",
            &git(
                "https://gitlab.com/c/echo",
                "3c63f3",
                file("steps/reverse", "my-step.yml"),
            ),
        );
        let oci = |registry: &str, tag: &str, file: String| {
            format!(
                "Oci {{ registry: {registry:?}, repository: \"org/echo\", tag: {tag:?}, file: {file} }}"
            )
        };
        check(
            "registry.example.com/org/echo:1",
            &oci("registry.example.com", "1", file("", "")),
        );
        check(
            "localhost:5000/org/echo:1.2 a/b.yml",
            &oci("localhost:5000", "1.2", file("a", "b.yml")),
        );
        check(
            "localhost:5000/org/echo@sha256:ab",
            &oci("localhost:5000", "sha256:ab", file("", "")),
        );
        check(
            "localhost:5000/org/echo@sha256:ab a/b.yml",
            &oci("localhost:5000", "sha256:ab", file("a", "b.yml")),
        );
    }

    #[test]
    fn invalid_references_are_reported() {
        let check = |text: &str, expect: &str| {
            let wrong = Place::parse(text).expect_err(text);
            assert!(wrong.message.contains(expect), "{text}: {wrong}");
        };
        check("", "is empty");
        check("a\nb", "control characters");
        check("echo", "an image ends with `:TAG`");
        check("localhost:5000/echo", "an image ends with `:TAG`");
        check("echo:1", "is not an image");
        check("gitlab.com/a/b@", "no revision");
        check("git@example.com:a/b@v1", "ssh://USER@HOST/PATH@v1");
        check("gitlab.com/a/-/../x@1", "leads out");
        check("r.example.com/a:1 ../x", "leads out");
    }
}
