//! Packs files into archives on all processors, and unpacks untrusted archives safely.
//!
//! ```
//! use archive::{Limits, Packing, pack, unpack};
//! use executor_core::Cancellation;
//! use std::{fs, path::PathBuf};
//!
//! # let scratch = tempfile::tempdir()?;
//! # let (project, elsewhere) = (scratch.path().join("a"), scratch.path().join("b"));
//! # let file = scratch.path().join("cache.zip");
//! # fs::create_dir(&project)?;
//! fs::write(project.join("greeting"), "hello")?;
//! let (never, paths) = (Cancellation::new(), [PathBuf::from("greeting")]);
//! let packed = pack(&project, &paths, &file, &Packing::default(), &never)?;
//! assert_eq!(packed.entries, 1);
//!
//! unpack(&file, &elsewhere, &Limits::default(), &never)?;
//! assert_eq!(fs::read(elsewhere.join("greeting"))?, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both block the thread, and both treat their input as hostile: a job may change its files while they are
//! packed, and an archive may come from anywhere. So no link below the root is followed, no pipe or device
//! can block a read, and every claim of an archive about itself is checked.
//!
//! This crate writes and reads the records of zip itself instead of using a library. Members are compressed
//! in pieces on all processors, so that neither many small files nor one large file is limited by one
//! processor or fills the memory. And two entries with the same name or the same bytes are detected.

mod error;
mod format;
mod limits;
mod members;
mod names;
mod pack;
mod tar;
mod target;
mod unpack;
mod zip;

pub use error::ArchiveError;
pub use format::{Format, Level};
pub use limits::{Limits, LinkTargets, Unpacked};
pub use members::Skipped;
pub use pack::{Packed, Packing, pack};
pub use unpack::{unpack, unpack_tar};
