//! How fast machines are created.

use std::time::Duration;

/// How fast machines are created: `scale_throttle`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// How many each second, on average.
    pub per_second: f64,
    /// How many at once, after a pause that was long enough.
    pub burst: u32,
}

/// When creations are allowed, by a throttle.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When as many as `burst` are allowed again.
    full_at: Duration,
}

impl Pace {
    /// Takes this many creations at most, and returns how many begin now and when the next one may.
    pub(crate) fn take(
        &mut self,
        throttle: Option<&Throttle>,
        wanted: u32,
        now: Duration,
    ) -> (u32, Option<Duration>) {
        let Some(throttle) = throttle else {
            return (wanted, None);
        };
        let each =
            Duration::try_from_secs_f64(throttle.per_second.recip()).unwrap_or(Duration::MAX);
        let whole = each.saturating_mul(throttle.burst.max(1));
        let mut taken = 0;
        while taken < wanted {
            let full_at = self.full_at.max(now).saturating_add(each);
            if full_at > now.saturating_add(whole) {
                return (taken, Some(full_at.saturating_sub(whole)));
            }
            self.full_at = full_at;
            taken += 1;
        }
        (taken, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creations_keep_their_pace() {
        let throttle = Throttle {
            per_second: 2.0,
            burst: 3,
        };
        let at = Duration::from_millis;
        let mut pace = Pace::default();
        assert_eq!(pace.take(None, 9, at(0)), (9, None));
        let next = at(10_500);
        assert_eq!(pace.take(Some(&throttle), 5, at(10_000)), (3, Some(next)));
        assert_eq!(pace.take(Some(&throttle), 2, at(10_400)), (0, Some(next)));
        assert_eq!(pace.take(Some(&throttle), 2, next), (1, Some(at(11_000))));
        assert_eq!(pace.take(Some(&throttle), 3, at(60_000)), (3, None));
    }
}
