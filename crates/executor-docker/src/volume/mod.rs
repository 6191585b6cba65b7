//! What a job's containers see besides their images' own files: directories of the host, named
//! volumes, volumes that live on from job to job, memory.
//!
//! A volume of a bare path belongs to one project, one slot of a runner, and one side of the border
//! between protected and other refs; see [`CacheKey`].

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
