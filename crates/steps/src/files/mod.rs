//! Files of the environment, in and out as tar streams.

mod calls;
mod chown;
mod error;
mod name;
mod pack;
mod pipe;
mod remote_files;
mod single;
mod unpack;

pub(crate) use calls::{get, own, put};
pub(crate) use error::FilesError;
pub(crate) use name::path_of;
pub(crate) use pack::packed;
pub(crate) use remote_files::RemoteFiles;
#[cfg(test)]
pub(crate) use remote_files::unread;
pub(crate) use single::single;
