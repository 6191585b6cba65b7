//! The endpoint of a build without the feature `helper`: it never starts.

use super::Slots;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// No value of it exists.
#[derive(Debug)]
pub(super) enum Endpoint {}

#[expect(
    clippy::unused_async,
    reason = "the functions of the endpoint of the feature wait"
)]
impl Endpoint {
    pub(super) async fn start(
        _address: IpAddr,
        _token: String,
        _spool: PathBuf,
        _largest: u64,
    ) -> io::Result<Self> {
        Err(io::Error::other(
            "this program was built without the feature `helper` of runwright-job-runner",
        ))
    }

    pub(super) fn url(&self, _path: &str) -> String {
        match *self {}
    }

    pub(super) fn token(&self) -> &str {
        match *self {}
    }

    pub(super) fn set(&self, _slots: Slots) -> Slots {
        match *self {}
    }

    pub(super) async fn close(self) {
        match self {}
    }
}
