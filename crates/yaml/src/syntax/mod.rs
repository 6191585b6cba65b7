//! The syntax of YAML 1.1 as libyaml reads it, because GitLab's loader is built on that: what it
//! refuses is refused here, and what it lets pass is let pass.
//!
//! A [`Scanner`](scanner::Scanner) turns bytes into tokens, where a `key:` is recognised when its
//! colon comes and is then put in before its text; [`Events`] turns tokens into the events that
//! build a tree. Texts are borrowed from the file wherever they can be, and places are bytes from
//! the start, so that a loader with places costs less than a parser without them. Nothing here
//! recurses: depth is bounded by whoever reads the events.

mod block_scalar;
mod cursor;
mod error;
mod event;
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
pub(super) use event::{Event, EventKind, Tag};
pub(super) use events::Events;
