//! The language of steps: what a step takes and gives, what it runs, and the expressions in it.
//!
//! A step is described by two YAML documents in a file `func.yml` (once `step.yml`): its specification, and
//! what it does. [`Function::parse`] reads it, [`Function::of_job`] the `run` of a job. All is pure: nothing here
//! reads a file or runs a process.

mod bind;
mod error;
pub mod expression;
mod fields;
mod function;
mod given;
mod place_parts;
mod read;
#[cfg(test)]
mod read_tests;
mod reference;
mod value;
pub(crate) mod yaml;

pub use bind::{bind_inputs, bind_outputs, exported, written};
pub use error::LanguageError;
pub use function::{Action, Argument, Call, Declared, Exec, Function, Outputs, Sequence, Target};
pub use given::given_inputs;
pub use place_parts::{PlaceParts, SourceParts};
pub(crate) use read::MOST_STEPS;
pub(crate) use reference::shown_url;
pub use reference::{FILES, File, Place, Reference};
pub use value::{Kind, Value, ValueType};
