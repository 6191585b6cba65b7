//! The hosts of the settings, and who uses them.

use crate::config::{HostConfig, SshOptions};
use crate::error::SshError;
use crate::target::Target;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a host that could not be reached counts as busy; it doubles with each failure.
const FIRST_REST: Duration = Duration::from_secs(1);

/// The longest rest.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// All hosts of a provider.
#[derive(Debug)]
pub(crate) struct Hosts {
    options: Arc<SshOptions>,
    all: Vec<HostConfig>,
    uses: Mutex<Vec<Use>>,
}

#[derive(Debug, Default, Clone)]
struct Use {
    jobs: u32,
    /// Failures to connect since the last success.
    failures: u32,
    rests_until: Option<Instant>,
}

/// One of the hosts' places, for one job. Another layer may put an [`Endpoint`] beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// A host that another layer chose, for example a machine it has just started.
///
/// A layer adds it to the [`ExecutorData`](executor_core::ExecutorData); the job then runs there instead of on a host of the
/// settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(pub HostConfig);

impl Hosts {
    pub(crate) fn new(options: Arc<SshOptions>) -> Self {
        let all = options.config.all_hosts();
        let uses = vec![Use::default(); all.len()];
        Self {
            options,
            all,
            uses: Mutex::new(uses),
        }
    }

    /// Takes a place on the host with the smallest share of its capacity in use; `None` when all are full.
    ///
    /// A host that could not be reached is taken only when no other has a place.
    pub(crate) fn take(&self) -> Option<Place> {
        let mut uses = self.uses.lock();
        let now = Instant::now();
        let has_place = |index: &usize| {
            self.all[*index]
                .capacity
                .is_none_or(|most| uses[*index].jobs < most)
        };
        let load = |index: usize| {
            let jobs = u64::from(uses[index].jobs);
            let capacity = u64::from(self.all[index].capacity.unwrap_or(u32::MAX)).max(1);
            let rests = uses[index].rests_until.is_some_and(|until| until > now);
            // Equal shares go to the host with fewer jobs.
            (rests, jobs * u64::from(u32::MAX) / capacity, jobs)
        };
        let index = (0..self.all.len())
            .filter(has_place)
            .min_by_key(|index| load(*index))?;
        uses[index].jobs += 1;
        Some(Place(index))
    }

    pub(crate) fn give_back(&self, place: Place) {
        let jobs = &mut self.uses.lock()[place.0].jobs;
        *jobs = jobs.saturating_sub(1);
    }

    /// Notes whether the host of a place could be reached.
    pub(crate) fn note(&self, place: Place, reached: bool) {
        let own = &mut self.uses.lock()[place.0];
        if reached {
            own.failures = 0;
            own.rests_until = None;
        } else {
            let rest = FIRST_REST * 2_u32.saturating_pow(own.failures.min(6));
            own.failures += 1;
            own.rests_until = Some(Instant::now() + rest.min(LONGEST_REST));
        }
    }

    /// Resolves the host of a place; without one, the first host.
    ///
    /// # Errors
    ///
    /// When the settings or `~/.ssh/config` are invalid.
    pub(crate) fn target(
        &self,
        place: Option<Place>,
        endpoint: Option<&Endpoint>,
    ) -> Result<Target, SshError> {
        let host = match (endpoint, place) {
            (Some(Endpoint(host)), _) => host,
            (None, Some(Place(index))) => &self.all[index],
            (None, None) => &self.all[0],
        };
        Target::resolve(&self.options, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SshConfig;

    fn hosts(capacities: &[Option<u32>]) -> Hosts {
        let host = |capacity: &Option<u32>| HostConfig {
            capacity: *capacity,
            ..HostConfig::default()
        };
        let config = SshConfig {
            hosts: capacities.iter().map(host).collect(),
            ..SshConfig::default()
        };
        let options = SshOptions::from_environment(config, |_| None);
        Hosts::new(Arc::new(options))
    }

    #[test]
    fn least_busy_host_is_taken_until_all_are_full() {
        let hosts = hosts(&[Some(1), Some(4)]);
        let taken: Vec<_> = std::iter::from_fn(|| hosts.take())
            .map(|place| place.0)
            .collect();
        assert_eq!(taken, [0, 1, 1, 1, 1]);
        hosts.give_back(Place(0));
        assert_eq!(hosts.take(), Some(Place(0)));
        assert_eq!(hosts.take(), None);
    }

    #[test]
    fn unreachable_host_is_the_last_choice() {
        let hosts = hosts(&[None, None]);
        hosts.note(Place(0), false);
        assert_eq!(hosts.take(), Some(Place(1)));
        assert_eq!(hosts.take(), Some(Place(1)));
        hosts.note(Place(0), true);
        assert_eq!(hosts.take(), Some(Place(0)));
    }
}
