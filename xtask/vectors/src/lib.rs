//! Test vectors: inputs whose right results are known, in the form of `yaml_vectors.json`.
//!
//! A vector names a `kind` (what is asked) and what to `expect`. Checking one never fails: whatever
//! goes wrong is its result. The tests of `pipeline` and the command `cargo xtask vectors` share this
//! code, so that other vectors can be checked too.
//!
//! What was found has the shape of what is expected, but says all there is to say: `expect` may name
//! a few jobs and a few of their fields.
//!
//! # Examples
//!
//! ```
//! let file = r#"{"vectors": [
//!     {"id": "a", "kind": "duration", "text": "1h 30m", "expect": {"valid": true, "seconds": 5400}}
//! ]}"#;
//! let vectors = vectors::parse(file)?;
//! assert!(vectors::check(&vectors[0]).pass);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod compare;
mod config;
mod creation;
mod duration;
mod expand;
mod expression;
mod files;
mod rules;
mod scheduling;
mod variables;
mod vector;

pub use vector::{Outcome, Vector, check, diagnose, parse};
