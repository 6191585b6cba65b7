//! The order of calls the contract of `Executor` asks for.

use executor_core::BuildStage;

/// Where an executor stands in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Created,
    PrepareFailed,
    Prepared,
    Finished,
    CleanedUp,
}

/// Follows the calls of one executor and says which of them were wrong.
#[derive(Debug, Default)]
pub(crate) struct Life {
    phase: Phase,
    used: bool,
}

impl Life {
    pub(crate) fn prepare(&mut self) -> Result<(), String> {
        self.used = true;
        let phase = self.phase;
        // Until it is known to have succeeded, only cleanup may follow.
        self.phase = Phase::PrepareFailed;
        match phase {
            Phase::Created => Ok(()),
            Phase::CleanedUp => Err("prepare after cleanup".to_owned()),
            Phase::PrepareFailed | Phase::Prepared | Phase::Finished => {
                Err("prepare was called twice".to_owned())
            }
        }
    }

    pub(crate) fn prepared(&mut self) {
        self.phase = Phase::Prepared;
    }

    pub(crate) fn run(&mut self, stage: &BuildStage) -> Result<(), String> {
        self.used = true;
        match self.phase {
            Phase::Prepared => Ok(()),
            Phase::Created => Err(format!("run({stage}) before prepare")),
            Phase::PrepareFailed => Err(format!("run({stage}) after a failed prepare")),
            Phase::Finished => Err(format!("run({stage}) after finish")),
            Phase::CleanedUp => Err(format!("run({stage}) after cleanup")),
        }
    }

    pub(crate) fn finish(&mut self) -> Result<(), String> {
        match self.phase {
            Phase::Prepared => {
                self.phase = Phase::Finished;
                Ok(())
            }
            Phase::Created => Err("finish before prepare".to_owned()),
            Phase::PrepareFailed => Err("finish after a failed prepare".to_owned()),
            Phase::Finished => Err("finish was called twice".to_owned()),
            Phase::CleanedUp => Err("finish after cleanup".to_owned()),
        }
    }

    pub(crate) fn cleanup(&mut self) {
        self.phase = Phase::CleanedUp;
    }

    pub(crate) fn is_cleaned_up(&self) -> bool {
        self.phase == Phase::CleanedUp
    }

    /// Returns what was forgotten, now that the executor is gone.
    pub(crate) fn dropped(&self) -> Result<(), String> {
        if self.used && !self.is_cleaned_up() {
            return Err("dropped without cleanup".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_contract_is_accepted() {
        let mut life = Life::default();
        assert_eq!(life.prepare(), Ok(()));
        life.prepared();
        assert_eq!(life.run(&BuildStage::GetSources), Ok(()));
        assert_eq!(life.run(&BuildStage::script()), Ok(()));
        assert_eq!(life.finish(), Ok(()));
        life.cleanup();
        life.cleanup();
        assert_eq!(life.dropped(), Ok(()));
    }

    #[test]
    fn an_executor_nobody_used_needs_no_cleanup() {
        assert_eq!(Life::default().dropped(), Ok(()));
    }

    #[test]
    fn calls_out_of_order_are_named() {
        let check = |calls: fn(&mut Life) -> Result<(), String>, expect: &str| {
            assert_eq!(calls(&mut Life::default()), Err(expect.to_owned()));
        };
        check(
            |life| life.run(&BuildStage::script()),
            "run(step_script) before prepare",
        );
        check(Life::finish, "finish before prepare");
        check(
            |life| {
                life.prepare()?;
                life.run(&BuildStage::script())
            },
            "run(step_script) after a failed prepare",
        );
        check(
            |life| {
                life.prepare()?;
                life.prepared();
                life.finish()?;
                life.run(&BuildStage::AfterScript)
            },
            "run(after_script) after finish",
        );
        check(
            |life| {
                life.cleanup();
                life.prepare()
            },
            "prepare after cleanup",
        );
        check(
            |life| {
                life.prepare()?;
                life.dropped()
            },
            "dropped without cleanup",
        );
    }
}
