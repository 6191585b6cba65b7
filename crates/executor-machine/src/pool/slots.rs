//! Slots of machines for jobs.

use super::owner::Owner;
use super::{Acquired, Lease, Promise};
use std::time::Duration;

impl Owner {
    pub(super) fn acquire(&mut self, now: Duration) -> Acquired {
        if !self.closing.is_empty() {
            return Acquired::Full;
        }
        if let Some(error) = &self.list_error {
            return Acquired::Unlisted(error.clone());
        }
        if self.rule().preemptive {
            // Those that wait already come first.
            let lease = if self.waiting.is_empty() {
                self.reserve(now)
            } else {
                None
            };
            if let Some(lease) = lease {
                self.full_noted = false;
                return Acquired::Reserved(lease);
            }
            // A job that continues needs no machine of its own.
            if self.promised >= self.orphans() {
                if !std::mem::replace(&mut self.full_noted, true) {
                    tracing::info!("No free machines that can process builds.");
                }
                return Acquired::Full;
            }
            return self.promise();
        }
        if !std::mem::replace(&mut self.on_demand_noted, true) {
            tracing::info!(
                "IdleCount is set to 0, so the machine will be created on demand in the context of the job."
            );
        }
        let limits = &self.options.limits;
        // A job that continues needs no machine of its own.
        if limits.machines > 0 && self.promised >= self.orphans() {
            let mut room = limits.machines.saturating_mul(limits.slots);
            for entry in self.machines.values() {
                let is_retired = entry.machine.retired().is_some();
                let taken = if is_retired {
                    limits.slots
                } else {
                    entry.machine.in_use()
                };
                room = room.saturating_sub(taken);
            }
            let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
            if room <= self.promised.saturating_add(waiting) {
                return Acquired::Full;
            }
        }
        self.promise()
    }

    fn promise(&mut self) -> Acquired {
        self.promised += 1;
        Acquired::OnDemand(Promise {
            owner: self.sender.clone(),
        })
    }

    /// Reserves a slot: of the machine with the most jobs, then of the one that became idle last.
    pub(super) fn reserve(&mut self, now: Duration) -> Option<Lease> {
        let limits = &self.options.limits;
        let machines = self.machines.iter_mut();
        let free = machines.filter(|(_, entry)| entry.machine.free(limits) > 0);
        let (name, entry) =
            free.max_by_key(|(_, entry)| (entry.machine.in_use(), entry.machine.since()))?;
        let endpoint = entry.endpoint.clone()?;
        entry.machine.reserve(now);
        if let Some(journal) = &mut self.journal {
            // Before its job can begin.
            entry.note(name, journal);
        }
        Some(Lease::new(name, endpoint, false, &self.sender))
    }
}
