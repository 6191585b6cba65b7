use object_store::Attribute;
use object_store::path::Path;
use std::borrow::Cow;

/// The metadata of an object with the digest of the paths in its archive.
pub(super) const METADATA: Attribute = Attribute::Metadata(Cow::Borrowed("cachepaths"));

/// What the names of a job's caches begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    /// Returns the prefix of GitLab Runner: `[PATH/][runner/TOKEN/]project/ID/`.
    pub(super) fn new(path: &str, runner: Option<&str>, project: u64) -> Self {
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if let Some(runner) = runner {
            parts.extend(["runner", runner]);
        }
        let project = project.to_string();
        parts.extend(["project", &project]);
        Self(parts.join("/"))
    }

    /// Returns the name of the object of a key.
    ///
    /// # Errors
    ///
    /// When the key has characters that no name may have.
    pub(super) fn object(&self, key: &str) -> Result<Path, object_store::path::Error> {
        Path::parse(format!("{}/{key}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_gitlab_runner() {
        let check = |path, runner, key, expect: &str| {
            let name = Prefix::new(path, runner, 42).object(key);
            assert_eq!(name.expect("a name").as_ref(), expect);
        };
        check(
            "",
            Some("abcdefghi"),
            "default",
            "runner/abcdefghi/project/42/default",
        );
        check(
            "ci/caches/",
            Some("t"),
            "job name/é",
            "ci/caches/runner/t/project/42/job name/é",
        );
        check("ci", None, "a#b?c%20", "ci/project/42/a#b?c%20");
        assert!(Prefix::new("", None, 1).object("a\nb").is_err());
    }
}
