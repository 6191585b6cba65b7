//! Files of the environment, in and out as tar streams.

mod error;
mod folder;
mod name;
mod owner;
mod pack;
mod pipe;
mod remote_files;
mod server;
mod single;
mod tree;
mod unpack;

pub(crate) use error::FilesError;
pub(crate) use folder::{Folder, parts};
pub(crate) use name::path_of;
pub(crate) use remote_files::RemoteFiles;
#[cfg(test)]
pub(crate) use remote_files::unread;
pub(crate) use server::{get, own, put};
pub(crate) use single::single;
pub(crate) use tree::packed;
