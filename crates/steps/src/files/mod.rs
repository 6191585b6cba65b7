//! Files of the environment, in and out as tar streams.

use tonic::{Status, Streaming};

use crate::wire::v1;

/// What [`get`] answers with.
pub(crate) type Pieces = crate::service::Answers<v1::GetFilesResponse>;

/// Unpacks the archive of a `PutFiles` call.
pub(crate) async fn put(_pieces: Streaming<v1::PutFilesRequest>) -> Result<(), Status> {
    Err(not_yet())
}

/// Packs the archive of a `GetFiles` call.
pub(crate) async fn get(_request: v1::GetFilesRequest) -> Result<Pieces, Status> {
    Err(not_yet())
}

/// Gives a tree of files to another owner.
pub(crate) async fn own(_request: v1::OwnRequest) -> Result<(), Status> {
    Err(not_yet())
}

fn not_yet() -> Status {
    Status::unimplemented("this agent moves no files")
}
