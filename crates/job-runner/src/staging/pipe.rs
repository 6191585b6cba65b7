//! Streams between blocking and asynchronous code.

use std::fs::File;
use std::io;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Returns a stream and what a thread writes into it. A thread whose stream is dropped gets an error.
pub(super) fn to_async() -> io::Result<(Receiver, File)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Receiver::from_owned_fd(read)?, File::from(write)))
}

/// Returns what a thread reads and what is written for it. It reads to the end once that is dropped.
pub(super) fn from_async() -> io::Result<(File, Sender)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((File::from(read), Sender::from_owned_fd(write)?))
}
