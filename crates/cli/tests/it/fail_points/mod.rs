//! Every step that reaches outside the program fails once, and the program is killed before and
//! after it once: nothing stays, and the next run succeeds.
//!
//! `RUNWRIGHT_TEST_SAMPLE` chooses a third of the cases, as continuous integration does.

mod cell;
mod checks;
mod scenario;
mod stage;
mod survey;
mod walk;
