//! Requests that nobody ends: those that have ended and are not asked for, and those that run away.

use std::time::Duration;

use executor_core::{CancelCause, StopLevel};

use super::options::ServiceOptions;
use super::request::Request;

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// It has ended, and nobody asks for it.
    Forget,
    /// It ran, or was silent, for too long.
    Stop,
}

/// What is known of a request when the service looks at it.
#[derive(Debug, Clone, Copy)]
struct Look {
    ended: bool,
    /// Whether it has a time limit of its own, which its task sees to.
    limited: bool,
    age: Duration,
    silent: Duration,
    unasked: Duration,
}

fn judge(look: Look, options: &ServiceOptions) -> Verdict {
    if look.ended {
        return if look.unasked > options.keep_finished {
            Verdict::Forget
        } else {
            Verdict::Keep
        };
    }
    let too_silent = options
        .longest_silence
        .is_some_and(|longest| look.silent > longest);
    let too_long = !look.limited && look.age > options.longest_run;
    if too_silent || too_long {
        return Verdict::Stop;
    }
    Verdict::Keep
}

/// Looks at a request and does what has to be done with it.
pub(crate) fn prune(request: &Request, options: &ServiceOptions) {
    let times = request.times();
    let look = Look {
        ended: request.has_ended(),
        limited: request.limited,
        age: request.age(),
        silent: times.output.elapsed(),
        unasked: times.asked.elapsed(),
    };
    match judge(look, options) {
        Verdict::Keep => {}
        Verdict::Forget => {
            tracing::info!(
                id = request.id,
                "The request is forgotten: it has ended and nobody asks for it."
            );
            request.dismiss(CancelCause::Timeout);
        }
        Verdict::Stop => {
            tracing::warn!(
                id = request.id,
                "The request is stopped: it runs, or is silent, for too long."
            );
            request.stop(StopLevel::Cancel, CancelCause::Timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pruned() {
        let options = ServiceOptions {
            keep_finished: Duration::from_secs(10),
            longest_run: Duration::from_secs(100),
            longest_silence: Some(Duration::from_secs(20)),
            ..ServiceOptions::new("/")
        };
        let check_with = |limited, ended, [age, silent, unasked]: [u64; 3], expect| {
            let look = Look {
                ended,
                limited,
                age: Duration::from_secs(age),
                silent: Duration::from_secs(silent),
                unasked: Duration::from_secs(unasked),
            };
            assert_eq!(judge(look, &options), expect, "{look:?}");
        };
        let check = |ended, times, expect| check_with(false, ended, times, expect);
        check_with(true, false, [101, 5, 0], Verdict::Keep);
        check_with(true, false, [101, 21, 0], Verdict::Stop);
        check(true, [500, 500, 5], Verdict::Keep);
        check(true, [500, 500, 11], Verdict::Forget);
        check(false, [50, 5, 50], Verdict::Keep);
        check(false, [50, 21, 0], Verdict::Stop);
        check(false, [101, 5, 0], Verdict::Stop);
    }
}
