//! The files of a job: mounted from this host, or in a volume of the engine.

pub(crate) mod chown;
mod job_files;
pub(crate) mod tree;

pub(crate) use job_files::JobFiles;
