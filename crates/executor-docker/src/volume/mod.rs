//! The volumes of a job: directories of the host, named volumes, and caches that outlive the job.
//!
//! A cache belongs to one project, one slot of a runner, and either protected or unprotected refs; see [`CacheKey`].

mod cache;
mod job_volumes;
mod plan;
mod spec;
#[cfg(test)]
mod tests;

pub use cache::CacheKey;
pub use job_volumes::JobVolumes;
pub use plan::{PlannedVolume, VolumeContext, VolumePlan, sockets};
pub use spec::{Source, VolumeError, VolumeSpec};
