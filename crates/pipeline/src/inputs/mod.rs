//! Inputs of a pipeline file: the `spec` of its header, the values it is given, and `$[[ ]]`.
//!
//! One call does all of it for one file, [`apply`]: it checks the header, types and checks the
//! given values, and returns the content with every block replaced. What comes from outside is in
//! an [`Interpolation`]: the values given, what a component knows of itself, and the variables
//! that `expand_vars` may see. Files named in `spec:include` are asked of [`HeaderFiles`], because
//! finding files is the business of `include`; the same machinery serves both.
//!
//! A file without a header is returned as it is, `$[[ ]]` included, as GitLab does it. Replaced
//! nodes keep the span of the text the block stood in, so that whatever a later step says of them
//! points there.

mod apply;
mod given;

pub(crate) use apply::{HeaderFiles, Interpolation, apply, no_header_files};
pub use given::{GivenInput, GivenInputs, InputArgument, InputVariable};
