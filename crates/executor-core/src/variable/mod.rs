//! Job variables: their attributes, look-up by name, and expansion of references.
//!
//! Values are expanded twice in their life, as with GitLab, and by two grammars. Whoever makes the
//! job from a pipeline file (GitLab's server, or the `pipeline` crate) resolves variables among each
//! other: it also knows `%NAME%`, follows references however deep, and leaves `$$` and unknown names
//! alone, because the runner knows more variables. The runner then does what is here, in one pass:
//! an unknown name is empty now, and `$$` becomes the dollar sign it stands for. One grammar for both
//! would either lose what only the runner knows or undo a `$$` too early. What a name is, both get
//! from [`name_length`].

mod expand;
mod job_variable;
mod job_variables;

pub use expand::{LONGEST_VALUE, TooLong, expand_with, expand_within, name_length};
pub use job_variable::JobVariable;
pub use job_variables::JobVariables;
