//! The hosts of the settings, and who uses them.

use crate::config::{HostConfig, SshOptions};
use crate::error::SshError;
use crate::target::Target;
use executor_core::Endpoint;
use parking_lot::Mutex;
use std::collections::BTreeSet;
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
    /// The notes about `~/.ssh/config` that a job's log has.
    logged: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default, Clone)]
struct Use {
    jobs: u32,
    /// Failures to connect since the last success.
    failures: u32,
    rests_until: Option<Instant>,
}

/// One of the hosts' places, for one job. Clones share it, so it is released on the host that the job moved to. Another layer
/// may put an [`Endpoint`](executor_core::Endpoint) beside it.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Mutex<PlaceState>>);

#[derive(Debug)]
struct PlaceState {
    host: usize,
    /// The hosts on which the job could not be prepared.
    failed: Vec<usize>,
}

impl Use {
    fn rests(&self) -> bool {
        self.rests_until.is_some_and(|until| until > Instant::now())
    }
}

impl Hosts {
    pub(crate) fn new(options: Arc<SshOptions>) -> Self {
        let all = options.config.all_hosts();
        let uses = vec![Use::default(); all.len()];
        Self {
            options,
            all,
            uses: Mutex::new(uses),
            logged: Mutex::default(),
        }
    }

    /// Takes a place on the host with the smallest share of its capacity in use; `None` when all are full.
    ///
    /// A host that rests is taken only when no other has a place.
    pub(crate) fn take(&self) -> Option<Place> {
        let mut uses = self.uses.lock();
        let (_, host) = self.least_busy(&uses, &[])?;
        uses[host].jobs += 1;
        let failed = Vec::new();
        Some(Place(Arc::new(Mutex::new(PlaceState { host, failed }))))
    }

    /// Moves a place to another host if its host rests, or failed for this job, and another one is better.
    pub(crate) fn improve(&self, place: &Place) {
        let mut uses = self.uses.lock();
        let mut state = place.0.lock();
        if !uses[state.host].rests() && !state.failed.contains(&state.host) {
            return;
        }
        if let Some((false, host)) = self.least_busy(&uses, &state.failed) {
            uses[state.host].jobs -= 1;
            uses[host].jobs += 1;
            state.host = host;
        }
    }

    /// Returns whether [`improve`](Self::improve) would move a place whose host failed.
    pub(crate) fn has_better(&self, place: &Place) -> bool {
        let uses = self.uses.lock();
        let better = self.least_busy(&uses, &place.0.lock().failed);
        matches!(better, Some((false, _)))
    }

    /// Returns the best host with a place, and whether it rests or is one of those that `failed`.
    fn least_busy(&self, uses: &[Use], failed: &[usize]) -> Option<(bool, usize)> {
        let has_place = |index: &usize| {
            let capacity = self.all[*index].capacity;
            capacity.is_none_or(|most| uses[*index].jobs < most)
        };
        let load = |index: usize| {
            let jobs = u64::from(uses[index].jobs);
            let capacity = u64::from(self.all[index].capacity.unwrap_or(u32::MAX)).max(1);
            let is_last_choice = uses[index].rests() || failed.contains(&index);
            // Equal shares go to the host with fewer jobs.
            (is_last_choice, jobs * u64::from(u32::MAX) / capacity, jobs)
        };
        let with_place = (0..self.all.len()).filter(has_place);
        let (load, index) = with_place.map(|index| (load(index), index)).min()?;
        Some((load.0, index))
    }

    /// Moves a place to the host of a job that is resumed, whether it has room or not, and returns the host.
    ///
    /// # Errors
    ///
    /// When the settings are invalid, or do not name the host any more.
    pub(crate) fn move_to(&self, place: Option<&Place>, host: &str) -> Result<Target, SshError> {
        let mut invalid = None;
        for (index, config) in self.all.iter().enumerate() {
            let target = match Target::resolve(&self.options, config) {
                Ok(target) if target.route() == host => target,
                Ok(_) => continue,
                Err(error) => {
                    invalid = Some(error);
                    continue;
                }
            };
            if let Some(place) = place {
                let mut uses = self.uses.lock();
                let mut state = place.0.lock();
                uses[state.host].jobs -= 1;
                uses[index].jobs += 1;
                state.host = index;
            }
            return Ok(target);
        }
        Err(invalid.unwrap_or_else(|| {
            SshError::config(format!(
                "the job to resume is on {host}, which the settings do not name any more"
            ))
        }))
    }

    pub(crate) fn give_back(&self, place: &Place) {
        let mut uses = self.uses.lock();
        let jobs = &mut uses[place.0.lock().host].jobs;
        *jobs = jobs.saturating_sub(1);
    }

    /// Notes whether the host of a place could be reached.
    pub(crate) fn note(&self, place: &Place, reached: bool) {
        let mut uses = self.uses.lock();
        let mut state = place.0.lock();
        let own = &mut uses[state.host];
        if reached {
            own.failures = 0;
            own.rests_until = None;
        } else {
            let rest = FIRST_REST * 2_u32.saturating_pow(own.failures.min(6));
            own.failures += 1;
            own.rests_until = Some(Instant::now() + rest.min(LONGEST_REST));
            let host = state.host;
            state.failed.push(host);
        }
    }

    /// Returns the notes of a host that no job's log has yet.
    pub(crate) fn new_notes<'t>(&self, target: &'t Target) -> Vec<&'t String> {
        let mut logged = self.logged.lock();
        let notes = target.notes.iter();
        notes
            .filter(|note| logged.insert((*note).clone()))
            .collect()
    }

    /// Resolves the host of a place; without one, the first host.
    ///
    /// # Errors
    ///
    /// When the settings or `~/.ssh/config` are invalid.
    pub(crate) fn target(&self, place: Option<&Place>) -> Result<Target, SshError> {
        let index = place.map_or(0, |Place(state)| state.lock().host);
        Target::resolve(&self.options, &self.all[index])
    }
}

/// Resolves a machine from another layer, and returns the settings for it. Where it leaves something to the settings, those of
/// the first host hold.
///
/// # Errors
///
/// When it is no SSH server, or the settings are invalid.
pub(crate) fn machine(
    options: &SshOptions,
    endpoint: &Endpoint,
) -> Result<(Target, SshOptions), SshError> {
    let Endpoint::Ssh {
        host,
        port,
        user,
        identity_file,
        known_hosts_file,
    } = endpoint
    else {
        let message =
            format!("the executor ssh needs an SSH server, but its machine is {endpoint:?}");
        return Err(SshError::config(message));
    };
    let mut options = options.clone();
    if known_hosts_file.is_some() {
        options.config.known_hosts_file.clone_from(known_hosts_file);
    }
    let common = options.config.all_hosts().swap_remove(0);
    let host = HostConfig {
        host: Some(host.clone()),
        port: Some(*port),
        password: common.password.filter(|_| identity_file.is_none()),
        user: user.clone().or(common.user),
        identity_file: identity_file.clone().or(common.identity_file),
        ..common
    };
    Ok((Target::resolve(&options, &host)?, options))
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

    fn host(place: &Place) -> usize {
        place.0.lock().host
    }

    #[test]
    fn least_busy_host_is_taken_until_all_are_full() {
        let hosts = hosts(&[Some(1), Some(4)]);
        let taken: Vec<_> = std::iter::from_fn(|| hosts.take()).collect();
        let found: Vec<_> = taken.iter().map(host).collect();
        assert_eq!(found, [0, 1, 1, 1, 1]);
        hosts.give_back(&taken[0]);
        assert_eq!(host(&hosts.take().unwrap()), 0);
        assert!(hosts.take().is_none());
    }

    #[test]
    fn unreachable_host_is_the_last_choice() {
        let hosts = hosts(&[None, None]);
        let first = hosts.take().unwrap();
        hosts.note(&first, false);
        hosts.give_back(&first);
        assert_eq!(host(&hosts.take().unwrap()), 1);
        assert_eq!(host(&hosts.take().unwrap()), 1);
        hosts.note(&first, true);
        assert_eq!(host(&hosts.take().unwrap()), 0);
    }

    #[test]
    fn place_moves_from_a_host_that_failed_to_one_with_room() {
        let hosts = hosts(&[Some(2), Some(1), Some(1)]);
        let jobs = || -> Vec<_> { hosts.uses.lock().iter().map(|own| own.jobs).collect() };
        let place = hosts.take().unwrap();
        hosts.improve(&place);
        assert_eq!(host(&place), 0, "its host does not rest");
        for (next, expect) in [(1, [0, 1, 0]), (2, [0, 0, 1])] {
            hosts.note(&place, false);
            // The rest may be over when the job is tried again.
            hosts.uses.lock()[next - 1].rests_until = None;
            assert!(hosts.has_better(&place));
            hosts.improve(&place.clone());
            assert_eq!((host(&place), jobs()), (next, expect.to_vec()));
        }
        hosts.note(&place, false);
        assert!(!hosts.has_better(&place));
        hosts.improve(&place);
        assert_eq!((host(&place), jobs()), (2, vec![0, 0, 1]));
        hosts.give_back(&place);
        assert_eq!(jobs(), [0, 0, 0]);
    }

    #[test]
    fn place_moves_to_the_host_of_a_resumed_job() {
        let host = |name: &str| HostConfig {
            host: Some(name.to_owned()),
            user: Some("u".to_owned()),
            ..HostConfig::default()
        };
        let config = SshConfig {
            hosts: vec![HostConfig::default(), host("a"), host("b")],
            config_file: Some("/dev/null".into()),
            ..SshConfig::default()
        };
        let hosts = Hosts::new(Arc::new(SshOptions::from_environment(config, |_| None)));
        let place = hosts.take().unwrap();
        let target = hosts.move_to(Some(&place), "u@b:22").unwrap();
        let jobs: Vec<_> = hosts.uses.lock().iter().map(|own| own.jobs).collect();
        assert_eq!((target.host.as_str(), jobs), ("b", vec![0, 0, 1]));
        // The first host has no name.
        let error = hosts.move_to(Some(&place), "u@c:22").unwrap_err();
        assert!(error.to_string().contains("needs a host"), "{error}");
    }

    #[test]
    fn place_stays_when_the_other_hosts_are_full() {
        let hosts = hosts(&[Some(1), Some(1)]);
        let [first, second] = [(); 2].map(|()| hosts.take().unwrap());
        hosts.note(&first, false);
        assert!(!hosts.has_better(&first));
        hosts.improve(&first);
        assert_eq!(host(&first), 0);
        hosts.give_back(&second);
        hosts.improve(&first);
        assert_eq!(host(&first), 1);
    }

    #[test]
    fn keyword_without_effect_is_noted_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "ProxyCommand nc\n").unwrap();
        let config = SshConfig {
            host: Some("h".to_owned()),
            config_file: Some(file.path().to_owned()),
            ..SshConfig::default()
        };
        let hosts = Hosts::new(Arc::new(SshOptions::from_environment(config, |_| None)));
        for expect in [1, 0] {
            let target = hosts.target(None).unwrap();
            assert_eq!(hosts.new_notes(&target).len(), expect);
        }
    }
}
