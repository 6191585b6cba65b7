//! Compares the requirements with the tests that name them.
//!
//! A test names the requirement it proves in a comment inside its body (`// R-EXEC-26`): at most three per test and
//! no ranges, so that every claim is deliberate. A claim counts only where the test shows what the requirement's
//! check asks for ([`Evidence`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use crate::evidence::Evidence;
use crate::requirements::{self, Id, LIST, Mention, Requirement, mentions};
use crate::source::{TestFn, tests_of};
use crate::workspace::Workspace;

/// A test with more ids has more than one subject.
const IDS_PER_TEST: usize = 3;

/// The number of proven requirements at the last count. Raise it with each new proof; lower it only in a commit that
/// states which claim is withdrawn and why.
const LEAST_PROVEN: usize = 251;

/// What to print.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Print `{"proven":[ids],"missing":[ids]}`.
    #[arg(long, conflicts_with = "list")]
    json: bool,
    /// Print each proven id with the tests that prove it.
    #[arg(long)]
    list: bool,
    /// Look only at ids that begin so, such as R-EXEC, and name what is missing of them.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
}

/// Compares requirements and tests, and prints the parts that the options select.
///
/// # Errors
///
/// Fails when the list or a source cannot be read, or a test breaks the naming rules.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let acceptance = compare(workspace)?;
    refuse_fewer(acceptance.proven.len())?;
    let proven = acceptance
        .proven
        .iter()
        .filter(|(id, _)| id.as_str().starts_with(&options.prefix));
    let missing = acceptance
        .missing
        .iter()
        .filter(|id| id.as_str().starts_with(&options.prefix));
    if options.json {
        let report = Report {
            proven: proven.map(|(id, _)| id.as_str()).collect(),
            missing: missing.map(Id::as_str).collect(),
        };
        println!("{}", serde_json::to_string(&report)?);
    } else if options.list {
        for (id, tests) in proven {
            println!(
                "{id} -> {}",
                tests.iter().cloned().collect::<Vec<_>>().join(", ")
            );
        }
    } else {
        let missing: Vec<_> = missing.map(Id::as_str).collect();
        println!(
            "acceptance: {} proven, {} missing",
            proven.count(),
            missing.len()
        );
        if !options.prefix.is_empty() {
            println!("missing: {}", missing.join(" "));
        }
    }
    Ok(())
}

/// Fails when tests prove fewer requirements than before.
fn refuse_fewer(proven: usize) -> anyhow::Result<()> {
    if proven < LEAST_PROVEN {
        bail!("tests prove {proven} requirements, and proved {LEAST_PROVEN} before");
    }
    Ok(())
}

/// The machine-readable view: both lists in natural order of the ids.
#[derive(Debug, Serialize)]
struct Report<'a> {
    proven: Vec<&'a str>,
    missing: Vec<&'a str>,
}

/// Which requirements are proven, by which tests, and which are not.
#[derive(Debug, Default)]
pub(crate) struct Acceptance {
    proven: BTreeMap<Id, BTreeSet<String>>,
    missing: BTreeSet<Id>,
}

/// Compares the list of the workspace with all its tests.
///
/// # Errors
///
/// Fails when the list or a source cannot be read, or a test breaks the naming rules; the error names all such tests.
pub(crate) fn compare(workspace: &Workspace) -> anyhow::Result<Acceptance> {
    let known = requirements::load(workspace)?;
    let mut claims = Claims::default();
    for package in &workspace.packages {
        for target in tests_of(package)? {
            for (file, test) in &target.tests {
                let evidence = Evidence::of(package, &target, test);
                claims.add(workspace.relative(file), test, &known, |check| {
                    evidence.satisfies(check)
                });
            }
        }
    }
    claims.settle(&known)
}

/// The claims of the tests.
#[derive(Debug, Default)]
struct Claims {
    proven: BTreeMap<Id, BTreeSet<String>>,
    /// Claims of tests that do not show what the check asks for.
    unshown: BTreeMap<Id, BTreeSet<String>>,
    problems: Vec<String>,
}

impl Claims {
    /// Adds the ids that a test names; `shows` returns whether the test satisfies a check.
    fn add(
        &mut self,
        file: &Path,
        test: &TestFn,
        known: &BTreeMap<Id, Requirement>,
        shows: impl Fn(&str) -> bool,
    ) {
        let mentions: Vec<Mention> = test
            .comments
            .iter()
            .flat_map(|comment| mentions(comment))
            .collect();
        let ids: BTreeSet<&Id> = mentions.iter().map(|mention| &mention.id).collect();
        let mut problem = |text: String| {
            self.problems.push(format!(
                "{}:{}: {} {text}",
                file.display(),
                test.line,
                test.path
            ));
        };
        if ids.len() > IDS_PER_TEST {
            problem(format!(
                "names {} ids; {IDS_PER_TEST} are allowed",
                ids.len()
            ));
        }
        for mention in mentions.iter().filter(|mention| mention.opens_range) {
            problem(format!(
                "names a range that begins with {}; name each id",
                mention.id
            ));
        }
        for id in ids.iter().filter(|id| !known.contains_key(id)) {
            problem(format!("names {id}, which {LIST} does not state"));
        }
        if !test.runs {
            return;
        }
        for id in ids {
            let is_shown = known.get(id).is_some_and(|it| shows(&it.check));
            let claims = if is_shown {
                &mut self.proven
            } else {
                &mut self.unshown
            };
            claims
                .entry(id.clone())
                .or_default()
                .insert(test.path.clone());
        }
    }

    fn settle(mut self, known: &BTreeMap<Id, Requirement>) -> anyhow::Result<Acceptance> {
        for (id, tests) in &self.unshown {
            if !self.proven.contains_key(id) {
                let check = known.get(id).map_or("", |it| &it.check);
                let tests: Vec<_> = tests.iter().map(String::as_str).collect();
                let tests = tests.join(", ");
                self.problems
                    .push(format!("{id} (check: {check}) is not shown by {tests}"));
            }
        }
        if !self.problems.is_empty() {
            bail!(
                "claims of requirements that do not hold:\n  {}",
                self.problems.join("\n  ")
            );
        }
        let mut proven = self.proven;
        proven.retain(|id, _| id.is_counted());
        let missing = known
            .keys()
            .filter(|id| id.is_counted() && !proven.contains_key(id));
        Ok(Acceptance {
            missing: missing.cloned().collect(),
            proven,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<Id, Requirement> {
        let ids = [
            "R-EXEC-01",
            "R-EXEC-02",
            "R-EXEC-03",
            "R-EXEC-70",
            "R-EXEC-100",
        ];
        let requirement = Requirement {
            line: 1,
            check: "D: inspect.".to_owned(),
        };
        ids.iter()
            .map(|id| (id.parse().unwrap(), requirement.clone()))
            .collect()
    }

    fn test(runs: bool, comments: &[&str]) -> TestFn {
        TestFn {
            path: "some_crate::works".to_owned(),
            line: 7,
            runs,
            comments: comments.iter().map(ToString::to_string).collect(),
            words: BTreeSet::new(),
        }
    }

    fn settle(tests: &[TestFn]) -> anyhow::Result<Acceptance> {
        let mut claims = Claims::default();
        for test in tests {
            claims.add(Path::new("src/lib.rs"), test, &known(), |_| true);
        }
        claims.settle(&known())
    }

    fn missing(acceptance: &Acceptance) -> Vec<&str> {
        acceptance.missing.iter().map(Id::as_str).collect()
    }

    /// Checks that the comment is refused with this message.
    fn check_refused(comment: &str, message: &str) {
        let error = settle(&[test(true, &[comment])]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.contains("src/lib.rs:7: some_crate::works"), "{error}");
    }

    #[test]
    fn named_ids_are_proven_and_the_others_missing() {
        let acceptance = settle(&[test(true, &["// R-EXEC-01, R-EXEC-03: both."])]).unwrap();
        assert_eq!(
            acceptance.proven.keys().map(Id::as_str).collect::<Vec<_>>(),
            ["R-EXEC-01", "R-EXEC-03"]
        );
        assert_eq!(missing(&acceptance), ["R-EXEC-02", "R-EXEC-100"]);
    }

    #[test]
    fn claims_without_evidence_are_refused() {
        let mut claims = Claims::default();
        let test = test(true, &["// R-EXEC-01"]);
        claims.add(Path::new("src/lib.rs"), &test, &known(), |_| false);
        let error = claims.settle(&known()).unwrap_err().to_string();
        assert!(
            error.ends_with("R-EXEC-01 (check: D: inspect.) is not shown by some_crate::works"),
            "{error}"
        );
    }

    #[test]
    fn fewer_proofs_than_before_are_refused() {
        refuse_fewer(LEAST_PROVEN).unwrap();
        refuse_fewer(LEAST_PROVEN - 1).unwrap_err();
    }

    #[test]
    fn skipped_tests_prove_nothing() {
        let acceptance = settle(&[test(false, &["// R-EXEC-01"])]).unwrap();
        assert!(acceptance.proven.is_empty());
    }

    #[test]
    fn unprovable_requirement_is_in_neither_list() {
        let acceptance = settle(&[test(true, &["// R-EXEC-70"])]).unwrap();
        assert!(acceptance.proven.is_empty());
        assert!(!missing(&acceptance).contains(&"R-EXEC-70"));
    }

    #[test]
    fn more_than_three_ids_are_refused() {
        check_refused(
            "// R-EXEC-01 R-EXEC-02 R-EXEC-03 R-EXEC-100",
            "names 4 ids; 3 are allowed",
        );
        settle(&[test(
            true,
            &["// R-EXEC-01 R-EXEC-02", "// R-EXEC-03, again R-EXEC-01"],
        )])
        .unwrap();
    }

    #[test]
    fn ranges_are_refused() {
        check_refused(
            "// R-EXEC-01 to 03",
            "names a range that begins with R-EXEC-01",
        );
    }

    #[test]
    fn unknown_ids_are_refused() {
        check_refused(
            "// R-EXEC-1",
            "names R-EXEC-1, which docs/requirements.md does not state",
        );
    }
}
