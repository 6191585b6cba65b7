//! Every example in the documentation compiles.

use crate::source::{Kind, lex};
use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// Checks one Rust file for examples that the compiler never compiles.
pub(crate) fn check(file: &TextFile) -> Vec<Problem> {
    let comments = lex(&file.text)
        .into_iter()
        .filter(|token| token.kind == Kind::Comment);
    let mut problems = Vec::new();
    for comment in comments {
        let lines = comment.text.lines().enumerate();
        for (offset, _) in lines.filter(|(_, line)| opens_ignored_example(line)) {
            let message = "an ignored example: make it compile (no_run where it needs the world), or mark it `text`";
            problems.push(Problem::at(&file.path, comment.line + offset, message));
        }
    }
    problems
}

/// Whether a comment line opens a code block that rustdoc ignores.
fn opens_ignored_example(line: &str) -> bool {
    let line = line.trim_start_matches(['/', '!', '*', ' ']);
    let Some(words) = line
        .strip_prefix("```")
        .or_else(|| line.strip_prefix("~~~"))
    else {
        return false;
    };
    words
        .split([',', ' '])
        .any(|word| word.trim() == "ignore" || word.trim().starts_with("ignore-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = TextFile {
            path: "a.rs".to_owned(),
            text: text.to_owned(),
        };
        check(&file)
            .into_iter()
            .filter_map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn ignored_examples_are_found_in_every_form() {
        assert_eq!(lines("/// Text.\n/// ```ignore\n/// x\n/// ```"), [2]);
        assert_eq!(lines("//! ```rust,ignore\n//! ```"), [1]);
        assert_eq!(lines("/** Text.\n```ignore\n``` */"), [2]);
        assert_eq!(lines("/// ```ignore-windows\n/// ```"), [1]);
    }

    #[test]
    fn other_examples_are_fine() {
        assert_eq!(
            lines("/// ```\n/// ```\n/// ```no_run\n/// ```\n/// ```text\n/// ignore\n/// ```"),
            [0; 0]
        );
        assert_eq!(lines("fn a() { let x = \"```ignore\"; }"), [0; 0]);
    }
}
