//! From what an entry says to the files that are asked for.

use super::entry::{Entry, Source};
use super::includer::Includer;
use super::text::Text;
use super::wildcard::Wildcard;
use super::{FileHome, IncludeLocation};
use crate::dialect::Dialect;
use crate::repository::Paths;
use yaml::source::Span;

/// How long a path with wildcards may be, in bytes: each is compared with all paths there are.
const LONGEST_WILDCARD: usize = 1024;

/// What becomes of an entry.
#[derive(Debug)]
pub(super) enum Located {
    /// These files are asked for.
    Files(Vec<Target>),
    /// The paths that fit a wildcard are.
    Fitting(Wildcard, Span),
    /// Nothing is, and that is a mistake.
    Refused(Refusal),
    /// Nothing is, because the dialect leaves such entries out.
    LeftOut,
}

/// A file that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) location: IncludeLocation,
    /// What messages call it.
    pub(super) shown: String,
    /// Where it is named.
    pub(super) span: Span,
    /// Where the project is named that it is in, and the branch, tag or commit there.
    pub(super) project_span: Option<Span>,
    pub(super) reference_span: Option<Span>,
}

impl Target {
    fn new(location: IncludeLocation, shown: String, span: Span) -> Self {
        Self {
            location,
            shown,
            span,
            project_span: None,
            reference_span: None,
        }
    }
}

/// Why an entry cannot be followed, whatever files there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The path leads out of the project.
    Outside,
    /// The path has wildcards and is too long for that.
    TooLong,
    /// A file that lives in no project names a local one.
    NoProject,
    /// There is no parent pipeline here whose artifacts could be meant.
    Artifact,
    /// The dialect refuses components.
    Component,
}

/// Finds out which files an entry means.
pub(super) fn locate(entry: &Entry, includer: &Includer, dialect: Dialect) -> Located {
    let is_bitrab = dialect == Dialect::Bitrab;
    match &entry.source {
        Source::Local(path) => local(path, includer, dialect),
        Source::Project { .. } | Source::Template(_) if is_bitrab => Located::LeftOut,
        Source::Component(_) if is_bitrab => Located::Refused(Refusal::Component),
        Source::Artifact { .. } if !includer.knows_parent => Located::Refused(Refusal::Artifact),
        Source::Artifact { job, path } => {
            let shown = format!("{}` of the job `{}", path.shown, job.shown);
            let location = IncludeLocation::Artifact {
                job: job.value.clone(),
                path: path.value.clone(),
            };
            Located::Files(vec![Target::new(location, shown, path.span)])
        }
        Source::Project {
            project,
            files,
            reference,
        } => {
            let target = |file: &Text| {
                let shown = format!("{}/{}", project.shown, file.without_slash().shown);
                let location = IncludeLocation::Project {
                    project: project.value.clone(),
                    file: file.without_slash().value,
                    reference: reference.as_ref().map(|reference| reference.value.clone()),
                };
                Target {
                    project_span: Some(project.span),
                    reference_span: reference.as_ref().map(|reference| reference.span),
                    ..Target::new(location, shown, file.span)
                }
            };
            Located::Files(files.iter().map(target).collect())
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
    Located::Files(vec![Target::new(location, text.shown.clone(), text.span)])
}

fn local(text: &Text, includer: &Includer, dialect: Dialect) -> Located {
    if includer.home == FileHome::Nowhere {
        return Located::Refused(Refusal::NoProject);
    }
    let base = match dialect {
        Dialect::Bitrab if !text.value.starts_with('/') => directory(&includer.path),
        Dialect::Bitrab | Dialect::GitLab => "",
    };
    let (Some(path), Some(shown)) = (joined(base, &text.value), joined(base, &text.shown)) else {
        return Located::Refused(Refusal::Outside);
    };
    if path.contains('*') {
        if path.len() > LONGEST_WILDCARD {
            return Located::Refused(Refusal::TooLong);
        }
        return Located::Fitting(Wildcard::new(&path), text.span);
    }
    let location = IncludeLocation::Local { path };
    Located::Files(vec![Target::new(location, shown, text.span)])
}

/// Returns the targets for the paths that fit a wildcard, sorted, without those passed over.
pub(super) fn fitting(
    wildcard: &Wildcard,
    span: Span,
    paths: &Paths,
    is_passed_over: impl Fn(&str) -> bool,
) -> Vec<Target> {
    let fits = |path: &&String| wildcard.fits(path) && !is_passed_over(path);
    let mut fitting: Vec<&String> = paths.iter().filter(fits).collect();
    fitting.sort_unstable();
    let target = |path: &String| {
        let location = IncludeLocation::Local { path: path.clone() };
        Target::new(location, path.clone(), span)
    };
    fitting.into_iter().map(target).collect()
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns `path`, which starts at `base`, without `.` and `..`; nothing when it leads out.
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
