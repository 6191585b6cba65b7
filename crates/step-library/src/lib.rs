//! Functions of the step language from git repositories and registries, and images of functions to them.
//!
//! [`StepLibrary`] implements the port [`steps::Library`] for the service of the step-runner.
//!
//! ```no_run
//! use step_library::{LibraryOptions, StepLibrary};
//! use steps::{JobCredentials, Library, Source};
//!
//! # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
//! let library = StepLibrary::new(LibraryOptions::new("/var/cache/runner/functions"))?;
//! let source = Source::Git {
//!     url: "https://gitlab.com/group/functions".to_owned(),
//!     rev: "v1.2.0".to_owned(),
//! };
//! let fetched = library.fetch(&source, &JobCredentials::default()).await?;
//! println!("{} is in {}", fetched.identity, fetched.directory.display());
//! # Ok(())
//! # }
//! ```
//!
//! The design is in `docs/design/steps.md`, "The library of functions".

mod cache;
mod error;
mod git;
mod library;
mod oci;
mod options;
mod tree;

pub use cache::{CachedFunctions, Cleaned, FunctionCache, Unused};
pub use library::StepLibrary;
pub use options::{GitOptions, LibraryOptions};
