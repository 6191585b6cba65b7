//! Every step that reaches outside the program fails once, and the program is killed before and
//! after it once: nothing stays, and the next run succeeds.
//!
//! Only in a build with the feature `fail-points`; `cargo xtask test` makes one.

mod cell;
mod checks;
mod scenario;
mod stage;
mod survey;
mod walk;
