//! Packs files into archives on all processors, and unpacks archives of strangers without harm.
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
//! Both block the thread, and both trust nobody: a job may change its files while they are packed,
//! and anybody may have written an archive. So nothing below the root is reached through a link,
//! nothing is waited for that is no file, and all that an archive says of itself is checked.
//!
//! The records of zip are written and read here, not by a library: members are compressed in pieces
//! on all processors, so that neither many small files nor one large one wait for one processor or
//! fill the memory; and two entries of one name, or over the same bytes, are seen.

mod below;
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
pub use limits::{Limits, LinkTargets};
pub use members::Skipped;
pub use pack::{Packed, Packing, pack};
pub use unpack::{Unpacked, unpack, unpack_tar};
