//! The syntax of YAML 1.1 as implemented by libyaml, which GitLab's loader uses: the same texts are
//! accepted and refused.
//!
//! A [`Scanner`](scanner::Scanner) turns bytes into tokens; it recognizes a `key:` at its colon and
//! then inserts the key token before the text. [`Events`] turns tokens into the events that build a
//! tree. Texts are borrowed from the file where possible, and positions are byte offsets, so
//! tracking them is cheap. Nothing here recurses; the consumer of the events limits the depth.

mod block_scalar;
mod cursor;
mod error;
mod events;
mod fold;
mod plain;
mod property;
mod quoted;
mod scanner;
mod simple_key;
mod token;

pub(super) use cursor::Mark;
pub(super) use error::SyntaxError;
pub(super) use events::{Event, EventKind, Events, Tag};
