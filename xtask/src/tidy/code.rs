//! Code that must not be committed, even if it compiles.

use crate::source::{Kind, Token, lex};
use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// The files that need a value of any type, with the reason.
const ANY: &[(&str, &str)] = &[
    (
        "crates/executor-core/src/typed_bag.rs",
        "the bag of typed values that travels between layers, and holds the settings of executors",
    ),
    (
        "crates/executor-core/src/panics.rs",
        "what a panic carries, which is how std hands over its message",
    ),
    (
        "crates/driver-toolkit/src/failure.rs",
        "the same; drivers import nothing of the executors",
    ),
];

/// Checks one Rust file for unfinished code, ignored tests, silenced lints and casts of traits.
pub(crate) fn check(file: &TextFile) -> Vec<Problem> {
    let tokens: Vec<Token<'_>> = lex(&file.text)
        .into_iter()
        .filter(|token| token.kind != Kind::Comment)
        .collect();
    let problem = |at: usize| {
        let window = &tokens[at..];
        let message = forbidden(window)
            .or_else(|| cast(&file.path, &window[0]))
            .or_else(|| unchecked(&file.path, &window[0]))?;
        Some(Problem::at(&file.path, window[0].line, message))
    };
    (0..tokens.len()).filter_map(problem).collect()
}

/// Returns the problem when the token allows downcasting a trait object.
///
/// Executors are used through their traits alone, so that a wrapper is equivalent to what it wraps.
fn cast(path: &str, token: &Token<'_>) -> Option<&'static str> {
    let casts = token.is("Any") || token.is("as_any");
    let excused = ANY.iter().any(|(file, _)| *file == path);
    (casts && !excused).then_some(
        "prepares a downcast: add a method to the trait instead, or list the file with a reason",
    )
}

/// Returns the problem when code bypasses the compiler's checks.
fn unchecked(path: &str, token: &Token<'_>) -> Option<&'static str> {
    (token.is("unsafe") && !path.starts_with("crates/process/"))
        .then_some("is unsafe: only `process` may be, move it there or find a safe way")
}

/// Returns the problem with the code at the start of the tokens.
fn forbidden(tokens: &[Token<'_>]) -> Option<&'static str> {
    let starts = |words: &[&str]| {
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.is(word))
    };
    if starts(&["todo", "!"]) || starts(&["unimplemented", "!"]) {
        return Some("is unfinished: write it, or leave it out and say so");
    }
    if starts(&["#", "[", "allow"]) || starts(&["#", "!", "[", "allow"]) {
        return Some(
            "silences a lint for ever: use #[expect(lint, reason = \"..\")], which says when it is needed no more",
        );
    }
    if starts(&["#", "[", "ignore"]) || is_conditional_ignore(tokens) {
        return Some("ignores a test: let it run, or delete it");
    }
    None
}

/// Whether the tokens begin with `#[cfg_attr(.., ignore)]`.
fn is_conditional_ignore(tokens: &[Token<'_>]) -> bool {
    let opens =
        tokens.len() > 2 && tokens[0].is("#") && tokens[1].is("[") && tokens[2].is("cfg_attr");
    opens
        && tokens
            .iter()
            .take_while(|token| !token.is("]"))
            .any(|token| token.is("ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Vec<String> {
        let file = TextFile {
            path: "a.rs".to_owned(),
            text: text.to_owned(),
        };
        check(&file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(
            check_text("fn a() {\n    todo!()\n}"),
            ["a.rs:2: is unfinished: write it, or leave it out and say so"]
        );
        assert_eq!(check_text("fn a() { unimplemented!(\"later\") }").len(), 1);
    }

    #[test]
    fn unsafe_code_is_found_outside_of_its_crate() {
        let text = "fn a() { unsafe { b() } }\n// unsafe in a comment is a word";
        assert_eq!(check_text(text).len(), 1);
        let file = TextFile {
            path: "crates/process/src/sys/clone.rs".to_owned(),
            text: text.to_owned(),
        };
        assert!(check(&file).is_empty());
    }

    #[test]
    fn silenced_lints_are_found() {
        assert_eq!(check_text("#[allow(dead_code)]\nfn a() {}").len(), 1);
        assert_eq!(check_text("#![allow(missing_docs)]").len(), 1);
    }

    #[test]
    fn ignored_tests_are_found() {
        assert_eq!(check_text("#[test]\n#[ignore]\nfn a() {}").len(), 1);
        assert_eq!(
            check_text("#[test]\n#[ignore = \"slow\"]\nfn a() {}").len(),
            1
        );
        assert_eq!(
            check_text("#[test]\n#[cfg_attr(unix, ignore)]\nfn a() {}").len(),
            1
        );
    }

    #[test]
    fn casts_of_traits_are_found() {
        assert_eq!(check_text("trait Executor: Any {}").len(), 1);
        assert_eq!(check_text("fn f(e: &dyn Executor) { e.as_any() }").len(), 1);
        let bag = TextFile {
            path: ANY[0].0.to_owned(),
            text: "x: Arc<dyn Any>".to_owned(),
        };
        assert_eq!(check(&bag), []);
    }

    #[test]
    fn the_same_words_elsewhere_are_fine() {
        let text = "// todo!() and #[ignore]\n#[expect(dead_code, reason = \"x\")]\nfn ignore() { let allow = \"#[allow(x)] todo!()\"; }\n#[serde(rename = \"a\")]\nstruct Todo;";
        assert_eq!(check_text(text), [""; 0]);
    }
}
