//! A minimal reader of Rust source: enough to find comments, attributes and test functions.

mod items;
mod lexer;
mod walk;

pub(crate) use items::TestFn;
pub(crate) use lexer::{Kind, Token, lex};
pub(crate) use walk::{PackageTests, tests_of};
