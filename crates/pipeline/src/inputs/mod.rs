//! Inputs of a pipeline file: the `spec` of its header, the passed values, and `$[[ ]]`.
//!
//! `apply` does everything for one file: it validates the header, converts and validates the passed
//! values, and returns the content with every block replaced. An `Interpolation` has what comes from
//! outside: the passed values, the fields of a component, and the variables for `expand_vars`. The
//! caller provides the files named in `spec:include`, because finding files is the task of `include`.
//!
//! A file without a header is returned unchanged, including `$[[ ]]`, as in GitLab. Replaced nodes
//! keep the span of the text with the block, so that later diagnostics point there. Diagnostics are
//! collected in a list and reported at the end, because the sources are borrowed meanwhile.
//!
//! Inputs of a job have the same definition and are read by `read_job_input`.

mod access;
mod apply;
mod block;
mod definition;
mod function;
mod header;
mod input;
mod interpolate;
mod passed_inputs;
mod resolve;
mod rule;
mod text;
mod user_inputs;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use apply::apply;
pub(crate) use definition::read_job_input;
pub(crate) use passed_inputs::Interpolation;
pub use passed_inputs::{PassedInput, PassedInputs};
pub(crate) use user_inputs::UserInputs;
