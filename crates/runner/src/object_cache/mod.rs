//! Caches of jobs in a bucket: S3, Google Cloud Storage, Azure Blob Storage.
//!
//! [`ObjectCaches`] packs and unpacks on this host and sends the archives itself, so that no job ever has the
//! credentials of a bucket, nor an address that is signed with them. The names of objects and the archives are those of
//! GitLab Runner; both kinds of runners can share a bucket.
//!
//! An environment that only scripts reach, such as one of the custom executor, packs its own archives, by its helper command. It keeps them in the cache
//! directory of the environment, and the bucket is not used.
//!
//! Requests go through the crate `web`: `transport` is all that the client of the buckets knows of HTTP.

mod bucket;
mod caches;
mod download;
mod failure;
mod name;
mod parts;
mod scratch;
mod transport;
mod upload;

pub use caches::{ObjectBucket, ObjectBucketError, ObjectCaches};
