//! Every step that reaches outside the program fails once, and the program is killed once before and once after it.
//! Nothing remains, and the next run succeeds.
//!
//! `RUNWRIGHT_TEST_SAMPLE` selects a third of the cases, as continuous integration does.

mod cgroup;
mod checks;
mod scenario;
mod scenario_project;
mod survey;
mod walk;
