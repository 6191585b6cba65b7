//! Recordings of official runners: the jobs and faults they met, and a comparison with the calls of another runner.
//!
//! ```no_run
//! use gitlab_testkit::JobServer;
//! use gitlab_testkit::wire::{Recording, Values};
//!
//! let recording = Recording::load("runner-wire/success.json");
//! let server = JobServer::start();
//! let values = Values::of(&server);
//! recording.serve(&server, &values, |signal| println!("the runner receives {signal}"));
//! // ... the runner runs ...
//! for difference in recording.compare(&server.calls()) {
//!     println!("{difference}");
//! }
//! ```

mod compare;
mod difference;
mod fields;
mod info;
mod recorded;
mod recording;
mod repository;
mod sequence;
mod template;
mod values;
mod zip;

pub use difference::Difference;
pub use recording::{CommandStep, Recording};
pub use values::Values;
