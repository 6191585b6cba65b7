use super::given::list;
use executor_core::job::RefType;
use pipeline::context::matches_scope;

/// A branch or tag of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    /// Branch or tag.
    pub(super) kind: RefType,
    /// Its name.
    pub(super) name: String,
}

/// Whether the branches or tags of a pipeline are protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    /// It was not requested.
    #[default]
    NotRequested,
    /// For each reference, from the server.
    Known(Vec<bool>),
    /// The server did not tell.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl Reference {
    /// Returns a branch.
    pub(super) fn branch(name: &str) -> Self {
        Self {
            kind: RefType::Branch,
            name: name.to_owned(),
        }
    }
}

impl Protection {
    /// Returns whether the pipeline may use protected variables: all its references must be protected, for a merge
    /// request both branches.
    pub(crate) fn is_protected(&self) -> bool {
        matches!(self, Self::Known(all) if !all.is_empty() && all.iter().all(|it| *it))
    }

    /// Returns whether the reference at an index is protected.
    pub(crate) fn of(&self, at: usize) -> bool {
        matches!(self, Self::Known(all) if all.get(at).copied().unwrap_or(false))
    }

    /// Returns a note about the protected variables that are left out, if any.
    pub(crate) fn note(&self, protected: &[&str]) -> Option<String> {
        if protected.is_empty() || self.is_protected() {
            return None;
        }
        let names = list(protected);
        Some(match self {
            Self::NotRequested => {
                format!("left out, as nothing is protected here: {names} (`protected: true`)")
            }
            Self::Known(_) => format!(
                "left out, as they are for protected branches and tags, and this pipeline is for \
                 none: {names}"
            ),
            Self::Unknown { reason } => format!(
                "left out, as it is unknown whether this pipeline is for a protected branch or \
                 tag ({reason}): {names}"
            ),
        })
    }
}

/// Returns whether a name matches a protected pattern such as `release/*`.
pub(super) fn is_covered(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| matches_scope(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_protected_by_patterns() {
        let check = |pattern: &str, name: &str, expect: bool| {
            let patterns = ["other".to_owned(), pattern.to_owned()];
            assert_eq!(is_covered(name, &patterns), expect, "{pattern} {name}");
        };
        check("main", "main", true);
        check("main", "main2", false);
        check("main", "Main", false);
        check("release/*", "release/1.0", true);
        check("release/*", "release/", true);
        check("release/*", "old/release/1", false);
        check("*-stable", "1-2-stable", true);
        check("*-stable", "1-stable-x", false);
        check("v*.*", "v1.2", true);
        check("v*.*", "v1", false);
        check("a*a", "a", false);
        check("*", "", true);
        check("", "", true);
    }

    #[test]
    fn pipelines_use_protected_variables_if_all_references_are_protected() {
        let check = |protection: Protection, expect: bool, word: &str| {
            assert_eq!(protection.is_protected(), expect, "{protection:?}");
            let note = protection.note(&["A", "B"]);
            assert_eq!(note.is_none(), expect, "{protection:?}");
            let note = note.unwrap_or_default();
            assert!(note.contains(word), "{note}");
            assert_eq!(protection.note(&[]), None);
        };
        check(
            Protection::NotRequested,
            false,
            "nothing is protected here: A, B",
        );
        check(Protection::Known(vec![true]), true, "");
        check(Protection::Known(vec![true, true]), true, "");
        check(
            Protection::Known(vec![true, false]),
            false,
            "for none: A, B",
        );
        check(Protection::Known(Vec::new()), false, "for none");
        let reason = "it is silent".to_owned();
        check(
            Protection::Unknown { reason },
            false,
            "(it is silent): A, B",
        );
    }
}
