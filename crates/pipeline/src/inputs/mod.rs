//! Inputs of a pipeline file: the `spec` of its header, the values it is given, and `$[[ ]]`.
//!
//! One call does all of it for one file, `apply`: it checks the header, types and checks the
//! given values, and returns the content with every block replaced. What comes from outside is in
//! an `Interpolation`: the values given, what a component knows of itself, and the variables
//! that `expand_vars` may see. Files named in `spec:include` are asked of the caller, because
//! finding files is the business of `include`; the same machinery serves both.
//!
//! A file without a header is returned as it is, `$[[ ]]` included, as GitLab does it. Replaced
//! nodes keep the span of the text the block stood in, so that whatever a later step says of them
//! points there. Findings are collected in a list and handed over at the end, so that the texts
//! they point into can be read meanwhile.
//!
//! Inputs of a job are defined in the same words and checked by `read_job_input`.

mod access;
mod apply;
mod block;
mod definition;
mod function;
mod given;
mod header;
mod interpolate;
mod resolve;
mod rule;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use apply::{Interpolation, apply};
pub(crate) use definition::read_job_input;
pub use given::{GivenInput, GivenInputs};
