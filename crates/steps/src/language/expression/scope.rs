use crate::language::value::Value;
use std::fmt::Debug;

/// What the names of an expression stand for.
pub trait Scope: Debug {
    /// Returns what a name stands for; `None` if it is not known here.
    fn get(&self, name: &str) -> Option<&Value>;

    /// Returns the names that are known.
    fn names(&self) -> Vec<&str>;
}
