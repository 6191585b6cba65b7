//! Stops overlong requests and removes abandoned ones.

use std::time::Duration;

use executor_core::{CancelCause, StopLevel};

use super::options::ServiceOptions;
use super::request::Request;

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// It has ended and is not used any more.
    Remove,
    /// It ran, or was silent, for too long.
    Stop,
}

/// The state of a request that decides.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    ended: bool,
    /// Whether it has its own time limit, which its task enforces.
    limited: bool,
    age: Duration,
    silent: Duration,
    unused: Duration,
}

fn judge(state: Snapshot, options: &ServiceOptions) -> Verdict {
    if state.ended {
        return if state.unused > options.keep_finished {
            Verdict::Remove
        } else {
            Verdict::Keep
        };
    }
    let too_silent = options
        .longest_silence
        .is_some_and(|longest| state.silent > longest);
    let too_long = !state.limited && state.age > options.longest_run;
    if too_silent || too_long {
        return Verdict::Stop;
    }
    Verdict::Keep
}

/// Stops or removes a request if necessary.
pub(crate) fn prune(request: &Request, options: &ServiceOptions) {
    let times = request.times();
    let state = Snapshot {
        ended: request.has_ended(),
        limited: request.limited,
        age: request.age(),
        silent: times.output.elapsed(),
        unused: times.used.elapsed(),
    };
    match judge(state, options) {
        Verdict::Keep => {}
        Verdict::Remove => {
            tracing::info!(id = request.id, "Removing an abandoned request.");
            request.dismiss(CancelCause::Timeout);
        }
        Verdict::Stop => {
            tracing::warn!(
                id = request.id,
                "Stopping a request that runs, or is silent, for too long."
            );
            request.stop(StopLevel::Cancel, CancelCause::Timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruning_rules() {
        let options = ServiceOptions {
            keep_finished: Duration::from_secs(10),
            longest_run: Duration::from_secs(100),
            longest_silence: Some(Duration::from_secs(20)),
            ..ServiceOptions::new("/")
        };
        let check_with = |limited, ended, [age, silent, unused]: [u64; 3], expect| {
            let state = Snapshot {
                ended,
                limited,
                age: Duration::from_secs(age),
                silent: Duration::from_secs(silent),
                unused: Duration::from_secs(unused),
            };
            assert_eq!(judge(state, &options), expect, "{state:?}");
        };
        let check = |ended, times, expect| check_with(false, ended, times, expect);
        check_with(true, false, [101, 5, 0], Verdict::Keep);
        check_with(true, false, [101, 21, 0], Verdict::Stop);
        check(true, [500, 500, 5], Verdict::Keep);
        check(true, [500, 500, 11], Verdict::Remove);
        check(false, [50, 5, 50], Verdict::Keep);
        check(false, [50, 21, 0], Verdict::Stop);
        check(false, [101, 5, 0], Verdict::Stop);
    }
}
