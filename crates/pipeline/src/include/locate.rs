//! Finds the files that an entry of `include` names.

use super::entry::{Entry, Source};
use super::includer::Includer;
use super::text::Text;
use super::wildcard::Wildcard;
use super::{FileHome, IncludeLocation};
use crate::dialect::Dialect;
use crate::repository::Paths;
use yaml::source::Span;

/// The maximum length of a path with wildcards, in bytes, because it is compared with all paths.
const LONGEST_WILDCARD: usize = 1024;

/// The files of an entry.
#[derive(Debug)]
pub(super) enum Located {
    /// These files.
    Files(Vec<Target>),
    /// The files that match a wildcard.
    Matching(Wildcard, Span),
    /// The entry is a mistake.
    Refused(Refusal),
    /// The dialect ignores such entries.
    Ignored,
}

/// A file to fetch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) location: IncludeLocation,
    /// Its name in messages.
    pub(super) shown: String,
    /// The location of its name.
    pub(super) span: Span,
    /// Help for a name with a variable that is not set.
    pub(super) unset_help: Option<String>,
    /// Its project, and the branch, tag or commit there.
    pub(super) project: Option<Text>,
    pub(super) reference: Option<Text>,
}

impl Target {
    fn new(location: IncludeLocation, shown: String, name: &Text) -> Self {
        Self {
            location,
            shown,
            span: name.span,
            unset_help: name.unset_help(),
            project: None,
            reference: None,
        }
    }
}

/// Why an entry is invalid, regardless of the existing files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The path points outside the project.
    Outside,
    /// GitLab looks for the path as it is written, `.`, `..` and `//` included, and finds nothing.
    NotNormal {
        /// The path in messages.
        shown: String,
        /// The path that was probably meant.
        normal: String,
    },
    /// The path has wildcards and is too long.
    TooLong,
    /// A file that belongs to no project names a local one.
    NoProject,
    /// There is no parent pipeline with artifacts.
    Artifact,
    /// The dialect refuses components.
    Component,
}

/// Finds the files of an entry.
pub(super) fn locate(entry: &Entry, includer: &Includer, dialect: Dialect) -> Located {
    let is_bitrab = dialect == Dialect::Bitrab;
    match &entry.source {
        Source::Local(path) => local(path, includer, dialect),
        Source::Project { .. } | Source::Template(_) if is_bitrab => Located::Ignored,
        Source::Component(_) if is_bitrab => Located::Refused(Refusal::Component),
        Source::Artifact { .. } if !includer.knows_parent => Located::Refused(Refusal::Artifact),
        Source::Artifact { job, path } => {
            let shown = format!("{}` of the job `{}", path.shown, job.shown);
            let location = IncludeLocation::Artifact {
                job: job.value.clone(),
                path: path.value.clone(),
            };
            Located::Files(vec![Target::new(location, shown, path)])
        }
        Source::Project {
            project,
            files,
            reference,
        } => {
            let target = |file: &Text| {
                let path = as_written(file)?;
                let location = IncludeLocation::Project {
                    project: project.value.clone(),
                    file: path.value,
                    reference: reference.as_ref().map(|reference| reference.value.clone()),
                };
                let shown = format!("{}/{}", project.shown, path.shown);
                Ok(Target {
                    project: Some(project.clone()),
                    reference: reference.clone(),
                    ..Target::new(location, shown, file)
                })
            };
            let targets: Result<_, Refusal> = files.iter().map(target).collect();
            targets.map_or_else(Located::Refused, Located::Files)
        }
        Source::Remote {
            url,
            integrity,
            cache,
        } => one(
            url,
            IncludeLocation::Remote {
                url: url.value.clone(),
                integrity: integrity.clone(),
                cache: *cache,
            },
        ),
        Source::Template(name) => {
            let location = IncludeLocation::Template {
                name: name.value.clone(),
            };
            one(name, location)
        }
        Source::Component(address) => {
            let location = IncludeLocation::Component {
                address: address.value.clone(),
            };
            one(address, location)
        }
    }
}

fn one(text: &Text, location: IncludeLocation) -> Located {
    Located::Files(vec![Target::new(location, text.shown.clone(), text)])
}

fn local(text: &Text, includer: &Includer, dialect: Dialect) -> Located {
    if includer.home == FileHome::NoProject {
        return Located::Refused(Refusal::NoProject);
    }
    let (path, shown) = match dialect {
        Dialect::GitLab => match as_written(text) {
            Ok(path) => (path.value, path.shown),
            Err(refusal) => return Located::Refused(refusal),
        },
        Dialect::Bitrab => {
            let is_relative = !text.value.starts_with('/');
            let base = is_relative.then(|| directory(&includer.path));
            let join = |path: &str| joined(base.unwrap_or_default(), path);
            match (join(&text.value), join(&text.shown)) {
                (Some(path), Some(shown)) => (path, shown),
                _ => return Located::Refused(Refusal::Outside),
            }
        }
    };
    if path.contains('*') {
        if path.len() > LONGEST_WILDCARD {
            return Located::Refused(Refusal::TooLong);
        }
        return Located::Matching(Wildcard::new(&path), text.span);
    }
    let location = IncludeLocation::Local { path };
    Located::Files(vec![Target::new(location, shown, text)])
}

/// Returns a path without its leading slashes, if GitLab can find a file there.
fn as_written(text: &Text) -> Result<Text, Refusal> {
    let path = text.without_slash();
    let (Some(normal), Some(shown)) = (joined("", &path.value), joined("", &path.shown)) else {
        return Err(Refusal::Outside);
    };
    if normal == path.value {
        return Ok(path);
    }
    Err(Refusal::NotNormal {
        shown: path.shown,
        normal: shown,
    })
}

/// Returns the targets for the paths that match a wildcard, sorted, without skipped ones.
pub(super) fn matching(
    wildcard: &Wildcard,
    span: Span,
    paths: &Paths,
    is_skipped: impl Fn(&str) -> bool,
) -> Vec<Target> {
    let is_match = |path: &&String| wildcard.is_match(path) && !is_skipped(path);
    let mut matching: Vec<&String> = paths.iter().filter(is_match).collect();
    matching.sort_unstable();
    let target = |path: &String| Target {
        location: IncludeLocation::Local { path: path.clone() },
        shown: path.clone(),
        span,
        unset_help: None,
        project: None,
        reference: None,
    };
    matching.into_iter().map(target).collect()
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns `path` relative to `base`, normalized; nothing when it points outside the project.
fn joined(base: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_project() {
        let cases = [
            ("", "/ci//a.yml", Some("ci/a.yml")),
            ("ci", "./a.yml", Some("ci/a.yml")),
            ("ci/x", "../a.yml", Some("ci/a.yml")),
            ("ci", "../../etc/passwd.yml", None),
            ("", "ci/../../a.yml", None),
        ];
        for (base, path, expect) in cases {
            assert_eq!(joined(base, path).as_deref(), expect, "{path} at {base}");
        }
    }
}
