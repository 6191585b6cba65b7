//! The step language: functions with inputs and outputs, steps, and expressions.
//!
//! A function is described by two YAML documents in a file `func.yml` (formerly `step.yml`): its specification and its
//! definition. [`Function::parse`] reads such a file, [`Function::of_job`] the `run` of a job. This module is pure: it
//! reads no file and runs no process.

mod bind;
mod error;
pub mod expression;
mod fields;
mod function;
mod inputs_file;
mod place;
mod read;
#[cfg(test)]
mod read_tests;
mod reference;
mod value;
pub(crate) mod yaml;

pub use bind::{bind_inputs, bind_outputs, exported, written};
pub use error::LanguageError;
pub use function::{Action, Argument, Call, Declared, Exec, Function, Outputs, Sequence, Target};
pub use inputs_file::parse_inputs;
pub(crate) use place::shown_url;
pub use place::{FILES, File, Place};
pub(crate) use read::MOST_STEPS;
pub use reference::{PlaceParts, Reference, SourceParts};
pub use value::{Kind, Value, ValueType};
