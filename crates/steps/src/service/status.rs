//! Builds the `Status` message of a request.

use std::time::SystemTime;

use prost_types::Timestamp;

use super::request::Request;
use crate::wire::upstream;
use crate::wire::v1::{self, result};

/// Returns a timestamp; earlier times become the start of 1970.
fn timestamp(time: SystemTime) -> Timestamp {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(since.subsec_nanos()).unwrap_or_default(),
    }
}

/// Returns everything that is known of a request.
pub(crate) fn status(request: &Request) -> v1::Status {
    let written = request.log_reader.available();
    let state = request.state();
    let mut summary = state.summary().clone();
    if state.ended.is_none() {
        summary.log_bytes = written;
    }
    v1::Status {
        id: request.id.clone(),
        finished: state.ended.is_some(),
        exit_code: state.exit_code(),
        start_time: Some(timestamp(request.started)),
        end_time: state.ended.map(timestamp),
        result: Some(summary),
    }
}

/// Returns the part that GitLab Runner's client understands.
pub(crate) fn upstream_status(request: &Request) -> upstream::Status {
    use upstream::step_result::Status;

    let ours = status(request);
    let result = ours.result.unwrap_or_default();
    let state = match result.state() {
        result::State::Unspecified => Status::Unspecified,
        result::State::Running => Status::Running,
        result::State::Success => Status::Success,
        result::State::Failure => Status::Failure,
        result::State::Cancelled => Status::Cancelled,
    };
    upstream::Status {
        id: ours.id,
        message: result.message,
        status: state.into(),
        start_time: ours.start_time,
        end_time: ours.end_time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_are_converted() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(5, 7);
        assert_eq!(
            timestamp(time),
            Timestamp {
                seconds: 5,
                nanos: 7
            }
        );
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(
            timestamp(before),
            Timestamp {
                seconds: 0,
                nanos: 0
            }
        );
    }
}
