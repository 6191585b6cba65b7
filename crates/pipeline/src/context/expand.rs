use super::reference::{Part, each_part};
use crate::graph;
use executor_core::variable::{JobVariable, LONGEST_VALUE};
use std::collections::HashMap;
use thiserror::Error;

/// The maximum total length of a job's values: far above what a process can receive, and harmless
/// for the runner.
const LONGEST_VALUES: usize = 16 * LONGEST_VALUE;

/// Why the references among variables cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum ExpandError {
    /// They refer to each other, in these cycles; the last name of a cycle is its first.
    #[error("the variables refer to each other in a cycle: {}", cycles_text(.0))]
    Cycles(Vec<Vec<String>>),
    /// A value becomes too long.
    #[error("the value of the variable {0} is larger than 1 MiB")]
    TooLong(String),
    /// The values become too long in total.
    #[error("the values of the variables are larger than 16 MiB in total")]
    AllTooLong,
}

fn cycles_text(cycles: &[Vec<String>]) -> String {
    let cycles: Vec<String> = cycles.iter().map(|cycle| cycle.join(" -> ")).collect();
    cycles.join(", ")
}

/// The references that an expansion keeps. The default keeps none, and makes unknown variables
/// empty, as in the texts that GitLab expands itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Kept {
    /// Whether references to unknown variables stay.
    pub undefined: bool,
    /// Whether references to file variables stay.
    pub files: bool,
    /// Whether references to raw variables stay.
    pub raw: bool,
}

impl Kept {
    /// The references kept in the variables sent to a runner, which knows the paths of files and
    /// does not expand raw variables.
    pub const FOR_RUNNER: Self = Self {
        undefined: true,
        files: true,
        raw: true,
    };

    fn keeps(self, variable: &JobVariable) -> bool {
        variable.file && self.files || variable.raw && self.raw && !variable.file
    }
}

/// Expands references among variables recursively, as GitLab does before it sends a job.
///
/// `$$`, `%%` and raw variables stay unchanged, and a reference of a variable to itself is removed;
/// `kept` lists the other references to keep.
///
/// The grammar is that of GitLab's server; [`executor_core::variable`] has the runner's, which is
/// applied later, and explains why there are two.
///
/// # Errors
///
/// When two or more variables refer to each other in a cycle, or a value has more than 1 MiB, or all
/// values more than 16 MiB.
pub fn sort_and_expand(
    variables: Vec<JobVariable>,
    kept: Kept,
) -> Result<Vec<JobVariable>, ExpandError> {
    let references = references(&variables);
    let edges: Vec<Vec<usize>> = (references.iter().enumerate())
        .map(|(own, found)| {
            found
                .iter()
                .flatten()
                .copied()
                .filter(|&at| at != own)
                .collect()
        })
        .collect();
    let order = graph::order(&edges).map_err(|cycles| {
        let names = cycles.iter().map(|cycle| {
            let nodes = cycle.iter().chain(cycle.first());
            nodes.map(|&at| variables[at].key.clone()).collect()
        });
        ExpandError::Cycles(names.collect())
    })?;

    let mut total = 0;
    let mut expanded = variables;
    for own in order {
        let variable = &expanded[own];
        if !has_references(variable) {
            // A file variable is not part of a process environment.
            if !variable.file {
                check_length(variable.value.len(), &variable.key, &mut total)?;
            }
            continue;
        }
        let mut value = String::with_capacity(variable.value.len());
        let mut found = references[own].iter();
        each_part(&variable.value, |part| match part {
            Part::Text(text) => value.push_str(text),
            Part::Reference { text, .. } => match found.next().copied().flatten() {
                Some(index) if index == own => {}
                Some(index) if !kept.keeps(&expanded[index]) => {
                    // A value that is too long is refused below and need not grow further.
                    if value.len() <= LONGEST_VALUE {
                        value.push_str(&expanded[index].value);
                    }
                }
                None if !kept.undefined => {}
                _ => value.push_str(text),
            },
        });
        check_length(value.len(), &variable.key, &mut total)?;
        expanded[own].value = value;
    }
    Ok(expanded)
}

/// Adds the length of a value to the total, and checks both.
fn check_length(length: usize, name: &str, total: &mut usize) -> Result<(), ExpandError> {
    if length > LONGEST_VALUE {
        return Err(ExpandError::TooLong(name.to_owned()));
    }
    *total += length;
    if *total > LONGEST_VALUES {
        return Err(ExpandError::AllTooLong);
    }
    Ok(())
}

/// Returns whether the value may contain references to expand.
pub(crate) fn has_references(variable: &JobVariable) -> bool {
    !variable.raw && !variable.file && variable.value.contains(['$', '%'])
}

/// Returns the targets of each variable's references, in order; `None` for unknown names.
fn references(variables: &[JobVariable]) -> Vec<Vec<Option<usize>>> {
    let indices = variables.iter().enumerate();
    let indices: HashMap<&str, usize> =
        indices.map(|(at, variable)| (&*variable.key, at)).collect();
    let references = variables.iter().map(|variable| {
        let mut found = Vec::new();
        if has_references(variable) {
            each_part(&variable.value, |part| {
                if let Part::Reference { name, .. } = part {
                    found.push(indices.get(name).copied());
                }
            });
        }
        found
    });
    references.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(variables: &[(&str, &str)]) -> Result<Vec<String>, ExpandError> {
        let public = |&(name, value): &(&str, &str)| JobVariable::public(name, value);
        let variables = variables.iter().map(public).collect();
        let expanded = sort_and_expand(variables, Kept::FOR_RUNNER)?;
        Ok(expanded
            .into_iter()
            .map(|variable| variable.value)
            .collect())
    }

    #[test]
    fn references_are_expanded_in_any_order() {
        let values = expand(&[
            ("A", "<$B>"),
            ("B", "${C}%C%"),
            ("C", "c"),
            ("D", "$A $NO $D"),
        ]);
        assert_eq!(values.unwrap(), ["<cc>", "cc", "c", "<cc> $NO "]);
    }

    #[test]
    fn escapes_and_malformed_references_stay() {
        let values = expand(&[("A", "$$B %% ${B $1 $ 5% %B"), ("B", "b")]);
        assert_eq!(values.unwrap()[0], "$$B %% ${B $1 $ 5% %B");
        assert_eq!(expand(&[("A", "ü$Bé$"), ("B", "b")]).unwrap()[0], "übé$");
    }

    #[test]
    fn raw_and_file_variables_are_not_expanded() {
        let raw = JobVariable {
            raw: true,
            ..JobVariable::public("R", "$A")
        };
        let variables = vec![
            JobVariable::public("A", "$R $F $N"),
            raw,
            JobVariable::file("F", "content"),
        ];
        let check = |kept: Kept, expect: &str| {
            let values = sort_and_expand(variables.clone(), kept).unwrap();
            assert_eq!(values[0].value, expect, "with {kept:?}");
            assert_eq!(values[1].value, "$A");
        };
        check(Kept::FOR_RUNNER, "$R $F $N");
        check(Kept::default(), "$A content ");
        let undefined = true;
        let kept = Kept {
            undefined,
            ..Kept::default()
        };
        check(kept, "$A content $N");
    }

    #[test]
    fn cycles_and_exponential_growth_are_refused() {
        let cycle = expand(&[("A", "$B"), ("B", "$A")]).unwrap_err();
        assert_eq!(
            cycle.to_string(),
            "the variables refer to each other in a cycle: A -> B -> A"
        );
        let cycles = expand(&[("A", "$B"), ("B", "$A"), ("C", "$A$D"), ("D", "$C")]).unwrap_err();
        assert_eq!(
            cycles.to_string(),
            "the variables refer to each other in a cycle: A -> B -> A, C -> D -> C"
        );
        let bomb: Vec<(String, String)> = (0..40)
            .map(|level| (format!("V{level}"), format!("$V{0}$V{0}", level + 1)))
            .chain([("V40".to_owned(), "laugh".to_owned())])
            .collect();
        let bomb: Vec<(&str, &str)> = bomb.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!(matches!(expand(&bomb), Err(ExpandError::TooLong(_))));
    }

    #[test]
    fn the_total_length_of_values_is_limited() {
        let long = "x".repeat(LONGEST_VALUE - 1);
        let copies = |count| {
            let names = (0..count).map(|copy| JobVariable::public(format!("V{copy}"), "$LONG"));
            let all = names.chain([JobVariable::public("LONG", long.as_str())]);
            sort_and_expand(all.collect(), Kept::FOR_RUNNER)
        };
        assert!(copies(15).is_ok());
        assert_eq!(copies(16), Err(ExpandError::AllTooLong));
    }
}
