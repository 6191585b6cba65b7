use super::given::list;
use executor_core::job::RefType;
use pipeline::context::matches_scope;

/// A branch or tag that a pipeline is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    /// Which of the two.
    pub(super) kind: RefType,
    /// Its name.
    pub(super) name: String,
}

/// Whether what a pipeline is for is protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Nobody was asked.
    #[default]
    Unasked,
    /// The server says it of each reference.
    Known(Vec<bool>),
    /// The server does not say it.
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
    /// Returns whether the pipeline may use what is protected: all that it is for must be, of a merge
    /// request both branches.
    pub(crate) fn is_protected(&self) -> bool {
        matches!(self, Self::Known(all) if !all.is_empty() && all.iter().all(|it| *it))
    }

    /// Returns whether the reference at a place is protected.
    pub(crate) fn of(&self, at: usize) -> bool {
        matches!(self, Self::Known(all) if all.get(at).copied().unwrap_or(false))
    }

    /// Says in a note which of the variables are left out, if some are.
    pub(crate) fn note(&self, protected: &[&str]) -> Option<String> {
        if protected.is_empty() || self.is_protected() {
            return None;
        }
        let names = list(protected);
        Some(match self {
            Self::Unasked => {
                format!("left out, as nothing is protected here: {names} (`protected: true`)")
            }
            Self::Known(_) => format!(
                "left out, as they are for protected branches and tags, and this pipeline is of \
                 none: {names}"
            ),
            Self::Unknown { reason } => format!(
                "left out, as it is not known whether this pipeline is of a protected branch or \
                 tag ({reason}): {names}"
            ),
        })
    }
}

/// Returns whether a name is one of those that a project protects: `release/*` stands for many.
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
    fn a_pipeline_may_use_what_is_protected_when_all_it_is_for_is() {
        let check = |protection: Protection, expect: bool, word: &str| {
            assert_eq!(protection.is_protected(), expect, "{protection:?}");
            let note = protection.note(&["A", "B"]);
            assert_eq!(note.is_none(), expect, "{protection:?}");
            let note = note.unwrap_or_default();
            assert!(note.contains(word), "{note}");
            assert_eq!(protection.note(&[]), None);
        };
        check(
            Protection::Unasked,
            false,
            "nothing is protected here: A, B",
        );
        check(Protection::Known(vec![true]), true, "");
        check(Protection::Known(vec![true, true]), true, "");
        check(Protection::Known(vec![true, false]), false, "of none: A, B");
        check(Protection::Known(Vec::new()), false, "of none");
        let reason = "it is silent".to_owned();
        check(
            Protection::Unknown { reason },
            false,
            "(it is silent): A, B",
        );
    }
}
