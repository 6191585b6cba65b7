//! The results of calls of libssh2 that do not wait.

use ssh2::{BlockDirections, ErrorCode, Session};
use std::io;

const EAGAIN: i32 = -37;

/// The result of a call that does not wait.
pub(super) enum Step<T> {
    Done(T),
    /// The call waits for the host.
    Waits,
    /// The call has to be repeated first.
    Blocked,
}

/// Returns the step that a call made.
pub(super) fn step<T>(
    session: &Session,
    result: Result<T, ssh2::Error>,
) -> Result<Step<T>, ssh2::Error> {
    match result {
        Ok(value) => Ok(Step::Done(value)),
        Err(error) if would_block(&error) => Ok(match session.block_directions() {
            BlockDirections::Outbound | BlockDirections::Both => Step::Blocked,
            BlockDirections::None | BlockDirections::Inbound => Step::Waits,
        }),
        Err(error) => Err(error),
    }
}

/// Returns the step that a call for reading or writing made.
pub(super) fn step_io<T>(session: &Session, result: io::Result<T>) -> Result<Step<T>, ssh2::Error> {
    let result = result.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => ssh2::Error::new(ErrorCode::Session(EAGAIN), "would block"),
        _ => ssh2::Error::last_session_error(session)
            .unwrap_or_else(|| ssh2::Error::new(ErrorCode::Session(-43), "the socket failed")),
    });
    step(session, result)
}

fn would_block(error: &ssh2::Error) -> bool {
    error.code() == ErrorCode::Session(EAGAIN)
}

/// Returns whether the error ends the whole connection: codes of libssh2 for a lost socket and invalid packets.
pub(super) fn is_of_connection(error: &ssh2::Error) -> bool {
    const CODES: [i32; 9] = [-1, -2, -7, -12, -13, -14, -39, -43, -44];
    matches!(error.code(), ErrorCode::Session(code) if CODES.contains(&code))
}
