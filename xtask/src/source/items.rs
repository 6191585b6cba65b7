//! Finds the functions and the modules that a source file declares.

use std::collections::BTreeSet;

use crate::source::lexer::{Kind, Token, lex};

/// A test function of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestFn {
    /// The path inside the file; the walk adds the path of the file's module in front.
    pub(crate) path: String,
    pub(crate) line: usize,
    /// Whether a plain `cargo test` on Linux runs it.
    pub(crate) runs: bool,
    /// The comments inside its body.
    pub(crate) comments: Vec<String>,
    /// The identifiers and string literals of its body.
    pub(crate) words: BTreeSet<String>,
}

/// A function that is not a test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The identifiers and string literals of its body.
    pub(crate) words: BTreeSet<String>,
}

/// A module declared here and written in a file of its own: `mod name;`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModFile {
    /// The inline modules around the declaration.
    pub(crate) inside: Vec<String>,
    pub(crate) name: String,
    /// The value of a `#[path = ".."]` attribute.
    pub(crate) file: Option<String>,
    /// Whether the module is part of a test build on Linux.
    pub(crate) runs: bool,
}

/// What a file declares.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) tests: Vec<TestFn>,
    pub(crate) functions: Vec<Function>,
    pub(crate) modules: Vec<ModFile>,
}

/// Parses the items of a source text.
pub(crate) fn items(source: &str) -> Items {
    let tokens = lex(source);
    let mut reader = Reader::default();
    let mut at = 0;
    while at < tokens.len() {
        at += reader.step(&tokens[at..]);
    }
    reader.items
}

/// A pair of braces that is still open.
#[derive(Debug)]
enum Scope {
    Module { name: String, runs: bool },
    Test(usize),
    Function(usize),
    Other,
}

/// An attribute, as the tokens between its brackets.
type Attribute<'a> = &'a [Token<'a>];

#[derive(Debug, Default)]
struct Reader<'a> {
    items: Items,
    attributes: Vec<Attribute<'a>>,
    scopes: Vec<Scope>,
    /// What the next brace at this depth of parentheses opens.
    announced: Option<(Scope, usize)>,
    parentheses: usize,
}

impl<'a> Reader<'a> {
    /// Consumes the first item of the tokens and returns its number of tokens.
    fn step(&mut self, tokens: &'a [Token<'a>]) -> usize {
        let token = &tokens[0];
        if matches!(token.kind, Kind::Word | Kind::Literal) {
            self.word(token.text);
        }
        match (token.kind, token.text) {
            (Kind::Comment, text) => self.comment(text),
            (Kind::Symbol, "#") => return self.attribute(tokens),
            (Kind::Symbol, "(" | "[") => self.parentheses += 1,
            (Kind::Symbol, ")" | "]") => self.parentheses = self.parentheses.saturating_sub(1),
            (Kind::Symbol, "{") => self.open(),
            (Kind::Symbol, "}") => self.close(),
            (Kind::Symbol, ";" | ",") => {
                self.attributes.clear();
                // A trait function without a body opens no scope.
                if self
                    .announced
                    .as_ref()
                    .is_some_and(|(_, depth)| *depth == self.parentheses)
                {
                    self.announced = None;
                }
            }
            (Kind::Word, "mod") => return self.module(tokens),
            (Kind::Word, "fn") => return self.function(tokens),
            _ => {}
        }
        1
    }

    /// Adds a word to the innermost enclosing function.
    fn word(&mut self, text: &str) {
        let mut scopes = self.scopes.iter().rev();
        let function = scopes.find(|it| matches!(it, Scope::Test(_) | Scope::Function(_)));
        let words = match function {
            Some(Scope::Test(index)) => &mut self.items.tests[*index].words,
            Some(Scope::Function(index)) => &mut self.items.functions[*index].words,
            _ => return,
        };
        words.insert(text.to_owned());
    }

    fn comment(&mut self, text: &str) {
        let owner = self.scopes.iter().rev().find_map(|scope| match scope {
            Scope::Test(index) => Some(*index),
            Scope::Module { .. } | Scope::Function(_) | Scope::Other => None,
        });
        if let Some(index) = owner {
            self.items.tests[index].comments.push(text.to_owned());
        }
    }

    fn attribute(&mut self, tokens: &'a [Token<'a>]) -> usize {
        let inner = tokens.get(1).is_some_and(|token| token.is("!"));
        let opened = if inner { 2 } else { 1 };
        if !tokens.get(opened).is_some_and(|token| token.is("[")) {
            return 1;
        }
        let mut depth = 0_usize;
        for (at, token) in tokens.iter().enumerate().skip(opened) {
            if token.is("[") {
                depth += 1;
            } else if token.is("]") {
                depth -= 1;
            }
            if depth == 0 {
                if !inner {
                    self.attributes.push(&tokens[opened + 1..at]);
                }
                return at + 1;
            }
        }
        tokens.len()
    }

    fn module(&mut self, tokens: &'a [Token<'a>]) -> usize {
        let [_, name, next, ..] = tokens else {
            return 1;
        };
        if name.kind != Kind::Word {
            return 1;
        }
        let runs = self.runs();
        if next.is(";") {
            let module = ModFile {
                inside: self.modules().map(str::to_owned).collect(),
                name: name.text.to_owned(),
                file: self
                    .attributes
                    .iter()
                    .find_map(|attribute| path_of(attribute)),
                runs,
            };
            self.items.modules.push(module);
        } else if next.is("{") {
            let scope = Scope::Module {
                name: name.text.to_owned(),
                runs,
            };
            self.announced = Some((scope, self.parentheses));
        }
        2
    }

    fn function(&mut self, tokens: &'a [Token<'a>]) -> usize {
        let is_test = self.attributes.iter().any(|attribute| is_test(attribute));
        match tokens.get(1) {
            Some(name) if is_test && name.kind == Kind::Word => {
                let path: Vec<_> = self.modules().chain([name.text]).collect();
                let test = TestFn {
                    path: path.join("::"),
                    line: name.line,
                    runs: self.runs(),
                    comments: Vec::new(),
                    words: BTreeSet::new(),
                };
                self.announced = Some((Scope::Test(self.items.tests.len()), self.parentheses));
                self.items.tests.push(test);
                2
            }
            Some(name) if name.kind == Kind::Word => {
                let scope = Scope::Function(self.items.functions.len());
                self.announced = Some((scope, self.parentheses));
                self.items.functions.push(Function {
                    name: name.text.to_owned(),
                    words: BTreeSet::new(),
                });
                2
            }
            _ => 1,
        }
    }

    fn open(&mut self) {
        // A brace inside parentheses belongs to an argument rather than to the announced item.
        let scope = match self.announced.take() {
            Some((scope, depth)) if depth == self.parentheses => scope,
            other => {
                self.announced = other;
                Scope::Other
            }
        };
        self.scopes.push(scope);
        self.attributes.clear();
    }

    fn close(&mut self) {
        self.scopes.pop();
        self.attributes.clear();
    }

    fn modules(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().filter_map(|scope| match scope {
            Scope::Module { name, .. } => Some(name.as_str()),
            Scope::Test(_) | Scope::Function(_) | Scope::Other => None,
        })
    }

    /// Whether an item is part of a test run, according to its attributes and enclosing modules.
    fn runs(&self) -> bool {
        let modules_run = self
            .scopes
            .iter()
            .all(|scope| !matches!(scope, Scope::Module { runs: false, .. }));
        modules_run && !self.attributes.iter().any(|attribute| takes_out(attribute))
    }
}

/// Whether the attribute makes a test: `test`, `tokio::test`, `tokio::test(..)`.
fn is_test(attribute: Attribute<'_>) -> bool {
    let path = attribute
        .split(|token| token.is("("))
        .next()
        .unwrap_or_default();
    path.last().is_some_and(|token| token.is("test"))
}

/// Whether the attribute excludes its item from a plain `cargo test` on Linux.
fn takes_out(attribute: Attribute<'_>) -> bool {
    let has = |word: &str| attribute.iter().any(|token| token.is(word));
    let names_windows = has("windows") || attribute.iter().any(|token| token.text == "\"windows\"");
    has("ignore") || ((has("cfg") || has("cfg_attr")) && names_windows && !has("not"))
}

/// Returns the value of `path = ".."`.
fn path_of(attribute: Attribute<'_>) -> Option<String> {
    match attribute {
        [key, equals, value] if key.is("path") && equals.is("=") => {
            Some(value.text.trim_matches('"').to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a source and returns the path and comments of each test that runs.
    fn running(source: &str) -> Vec<(String, Vec<String>)> {
        let tests = items(source).tests.into_iter();
        tests
            .filter(|test| test.runs)
            .map(|test| (test.path, test.comments))
            .collect()
    }

    fn check(source: &str, expected: &[(&str, &[&str])]) {
        let expected: Vec<(String, Vec<String>)> = expected
            .iter()
            .map(|(path, comments)| {
                (
                    (*path).to_owned(),
                    comments.iter().map(ToString::to_string).collect(),
                )
            })
            .collect();
        assert_eq!(running(source), expected, "{source}");
    }

    #[test]
    fn comments_inside_a_test_belong_to_it() {
        check(
            "// before\n#[test]\nfn a() {\n // one\n if x { // two\n } }\n// after\nfn b() { // none\n }",
            &[("a", &["// one", "// two"])],
        );
    }

    #[test]
    fn async_tests_and_their_options_are_tests() {
        check(
            "#[tokio::test(flavor = \"multi_thread\", worker_threads = 2)]\nasync fn a() { /* x */ }\n#[tokio::test] pub async fn b() {}",
            &[("a", &["/* x */"]), ("b", &[])],
        );
    }

    #[test]
    fn property_tests_are_tests_and_braces_in_their_arguments_are_not_the_body() {
        check(
            "proptest! { #![proptest_config(Config::default())]\n#[test] fn a(x in s().prop_map(|x| { x })) { // one\n } }",
            &[("a", &["// one"])],
        );
    }

    #[test]
    fn enclosing_modules_are_in_the_path() {
        check(
            "#[cfg(test)]\nmod tests { use super::*;\n mod inner { #[test] fn a() {} }\n #[test] fn b() {} }",
            &[("tests::inner::a", &[]), ("tests::b", &[])],
        );
    }

    #[test]
    fn items_excluded_from_cargo_test_do_not_run() {
        check("#[test] #[ignore] fn a() {}", &[]);
        check("#[test] #[ignore = \"slow\"] fn a() {}", &[]);
        check("#[test] #[cfg_attr(unix, ignore)] fn a() {}", &[]);
        check("#[cfg(windows)] #[test] fn a() {}", &[]);
        check(
            "#[cfg(target_os = \"windows\")] mod m { #[test] fn a() {} }",
            &[],
        );
        check("#[cfg(not(windows))] #[test] fn a() {}", &[("a", &[])]);
    }

    #[test]
    fn attribute_applies_to_its_own_item_only() {
        check("#[test]\nfn a() {}\nfn b() {}", &[("a", &[])]);
        check("#[ignore] use x;\n#[test] fn a() {}", &[("a", &[])]);
        check("#[cfg(test)]\nfn helper() { // R-EXEC-01\n }", &[]);
    }

    #[test]
    fn strings_are_neither_tests_nor_comments() {
        check(
            "#[test] fn a() { let x = \"// no\"; let y = \"#[test] fn b() {}\"; }",
            &[("a", &[])],
        );
    }

    #[test]
    fn files_of_modules_are_found() {
        let found = items(
            "mod a;\nmod b { mod c; }\n#[path = \"d_unix.rs\"] mod d;\n#[cfg(windows)] mod e;",
        )
        .modules;
        let shown: Vec<_> = found
            .iter()
            .map(|module| {
                (
                    module.inside.join("/"),
                    module.name.as_str(),
                    module.file.as_deref(),
                    module.runs,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (String::new(), "a", None, true),
                ("b".to_owned(), "c", None, true),
                (String::new(), "d", Some("d_unix.rs"), true),
                (String::new(), "e", None, false),
            ]
        );
    }
}
