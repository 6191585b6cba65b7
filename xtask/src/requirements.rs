//! Requirement ids: `docs/requirements.md` and the ids in comments.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};

use crate::workspace::Workspace;

/// The path of the list, relative to the root.
pub(crate) const LIST: &str = "docs/requirements.md";

/// Listed to keep its number, but no test can prove it.
const NOT_COUNTED: &str = "R-EXEC-70";

/// The id of a requirement, such as `R-EXEC-26`.
///
/// Ids sort naturally: `R-EXEC-9` before `R-EXEC-10`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    family: String,
    number: u32,
    written: String,
}

impl Id {
    /// Whether the id takes part in the count.
    pub(crate) fn is_counted(&self) -> bool {
        self.written != NOT_COUNTED
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

impl FromStr for Id {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match mentions(text).as_slice() {
            [mention] if mention.id.written == text => Ok(mention.id.clone()),
            _ => Err(anyhow!("not a requirement id: {text}")),
        }
    }
}

/// An id found in running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) id: Id,
    /// The id opens a range, such as `R-EXEC-03 to 42`.
    pub(crate) opens_range: bool,
}

/// Returns the ids in a text, in order.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(start) = rest.find("R-") {
        before = rest[..start].chars().next_back().or(before);
        let candidate = &rest[start..];
        let length = id_length(candidate);
        let stands_alone = !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
        if length > 0 && stands_alone {
            found.push(Mention {
                id: id(&candidate[..length]),
                opens_range: opens_range(&candidate[length..]),
            });
        }
        let step = length.max("R-".len());
        before = candidate[..step].chars().next_back();
        rest = &candidate[step..];
    }
    found
}

/// Returns the length in bytes of an id at the start of the text, or zero.
fn id_length(text: &str) -> usize {
    let family = text["R-".len()..]
        .chars()
        .take_while(char::is_ascii_uppercase)
        .count();
    let digits_at = "R-".len() + family + "-".len();
    if family == 0 || text.as_bytes().get(digits_at - 1) != Some(&b'-') {
        return 0;
    }
    match text[digits_at..]
        .chars()
        .take_while(char::is_ascii_digit)
        .count()
    {
        0 => 0,
        digits => digits_at + digits,
    }
}

fn id(written: &str) -> Id {
    let (family, number) = written.rsplit_once('-').unwrap_or((written, ""));
    Id {
        family: family.to_owned(),
        // A number too large for its type belongs to no requirement and is reported as unknown.
        number: number.parse().unwrap_or(u32::MAX),
        written: written.to_owned(),
    }
}

/// Whether the text after an id makes it the first of a range.
fn opens_range(after: &str) -> bool {
    const LINKS: [&str; 7] = ["...", "..", "-", "–", "—", "to ", "through "];
    let after = after.trim_start();
    let Some(end) = LINKS.iter().find_map(|link| after.strip_prefix(link)) else {
        return false;
    };
    let end = end.trim_start_matches(['=', ' ']);
    end.starts_with(|c: char| c.is_ascii_digit()) || end.starts_with("R-")
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) line: usize,
    /// How to check it: the text after the last arrow, such as `D: inspect the container`.
    pub(crate) check: String,
}

/// Reads the list of the workspace.
///
/// # Errors
///
/// Fails when the file cannot be read, holds no id, or holds an id twice.
pub(crate) fn load(workspace: &Workspace) -> anyhow::Result<BTreeMap<Id, Requirement>> {
    let path: PathBuf = workspace.root.join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("read {LIST}"))?;
    parse(&text).with_context(|| format!("read {LIST}"))
}

/// Reads a list: a line `- R-EXEC-26 ...` states a requirement, other mentions only refer to one.
///
/// # Errors
///
/// Fails when the text states no requirement, or one twice.
pub(crate) fn parse(text: &str) -> anyhow::Result<BTreeMap<Id, Requirement>> {
    let mut requirements: BTreeMap<Id, Requirement> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let Some(statement) = line.strip_prefix("- R-").map(|_| &line["- ".len()..]) else {
            continue;
        };
        let first = statement.split_whitespace().next().unwrap_or_default();
        let id: Id = first
            .parse()
            .with_context(|| format!("line {}", index + 1))?;
        let requirement = Requirement {
            line: index + 1,
            check: match statement.rsplit_once('→') {
                Some((_, check)) => check.trim().to_owned(),
                None => String::new(),
            },
        };
        if let Some(earlier) = requirements.insert(id, requirement) {
            bail!(
                "line {}: {first} was stated in line {} already",
                index + 1,
                earlier.line
            );
        }
    }
    if requirements.is_empty() {
        bail!("no line states a requirement");
    }
    Ok(requirements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        mentions(text)
            .into_iter()
            .map(|mention| mention.id.to_string())
            .collect()
    }

    #[test]
    fn ids_are_found_in_running_text() {
        assert_eq!(
            names("// R-EXEC-26, R-GLCI-101 (see R-PIPE-03)."),
            ["R-EXEC-26", "R-GLCI-101", "R-PIPE-03"]
        );
    }

    #[test]
    fn text_that_resembles_an_id_is_ignored() {
        assert_eq!(
            names("R-, R-EXEC, R-exec-1, R-EXEC-, FOR-EXEC-2, X-R-EXEC-3 and R-EXEC -4"),
            [""; 0]
        );
    }

    #[test]
    fn ranges_are_noticed() {
        for text in [
            "R-EXEC-03 to 42",
            "R-EXEC-03..R-EXEC-09",
            "R-EXEC-03-09",
            "R-EXEC-03 – 09",
            "R-EXEC-3 ..= 9",
        ] {
            assert!(mentions(text)[0].opens_range, "{text}");
        }
        for text in [
            "R-EXEC-03 to be sure",
            "R-EXEC-03 - the order",
            "R-EXEC-03, 04",
            "R-EXEC-03.",
        ] {
            assert!(!mentions(text)[0].opens_range, "{text}");
        }
    }

    #[test]
    fn ids_sort_naturally() {
        let mut ids: Vec<Id> = ["R-EXEC-100", "R-PIPE-01", "R-EXEC-99"]
            .map(|id| id.parse().unwrap())
            .into();
        ids.sort();
        assert_eq!(
            ids.iter().map(Id::as_str).collect::<Vec<_>>(),
            ["R-EXEC-99", "R-EXEC-100", "R-PIPE-01"]
        );
    }

    #[test]
    fn list_is_parsed_line_by_line() {
        let list =
            parse("# Title\nR-EXEC-9 is only referred to.\n- R-EXEC-01 a → U\n- R-EXEC-02 b → U\n")
                .unwrap();
        let lines: Vec<_> = list.values().map(|it| (it.line, &*it.check)).collect();
        assert_eq!(lines, [(3, "U"), (4, "U")]);
    }

    #[test]
    fn list_of_this_project_is_valid() {
        let workspace = Workspace::load().unwrap();
        assert_eq!(load(&workspace).unwrap().len(), 427);
    }

    #[test]
    fn duplicate_id_is_an_error() {
        let error = parse("- R-EXEC-01 a\n- R-EXEC-01 b\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: R-EXEC-01 was stated in line 1 already"
        );
    }

    #[test]
    fn list_without_requirements_is_an_error() {
        parse("# Nothing here\n").unwrap_err();
        parse("- R-EXEC-x broken\n").unwrap_err();
    }

    #[test]
    fn unprovable_requirement_is_not_counted() {
        assert!(!"R-EXEC-70".parse::<Id>().unwrap().is_counted());
        assert!("R-EXEC-71".parse::<Id>().unwrap().is_counted());
    }
}
