//! The order of calls that the contract of `Executor` requires.

use executor_core::BuildStage;

/// The phase of an executor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Created,
    PrepareFailed,
    Prepared,
    Finished,
    CleanedUp,
}

/// Tracks the calls of one executor and reports those in a wrong order.
#[derive(Debug, Default)]
pub(crate) struct CallOrder {
    phase: Phase,
    used: bool,
}

impl CallOrder {
    pub(crate) fn prepare(&mut self) -> Result<(), String> {
        self.used = true;
        let phase = self.phase;
        // Until `prepare` has succeeded, only cleanup may follow.
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

    /// Returns an error if the executor is dropped without a cleanup.
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
    fn accepts_the_order_of_the_contract() {
        let mut calls = CallOrder::default();
        assert_eq!(calls.prepare(), Ok(()));
        calls.prepared();
        assert_eq!(calls.run(&BuildStage::GetSources), Ok(()));
        assert_eq!(calls.run(&BuildStage::script()), Ok(()));
        assert_eq!(calls.finish(), Ok(()));
        calls.cleanup();
        calls.cleanup();
        assert_eq!(calls.dropped(), Ok(()));
    }

    #[test]
    fn unused_executor_needs_no_cleanup() {
        assert_eq!(CallOrder::default().dropped(), Ok(()));
    }

    #[test]
    fn names_calls_out_of_order() {
        let check = |calls: fn(&mut CallOrder) -> Result<(), String>, expect: &str| {
            assert_eq!(calls(&mut CallOrder::default()), Err(expect.to_owned()));
        };
        check(
            |calls| calls.run(&BuildStage::script()),
            "run(step_script) before prepare",
        );
        check(CallOrder::finish, "finish before prepare");
        check(
            |calls| {
                calls.prepare()?;
                calls.run(&BuildStage::script())
            },
            "run(step_script) after a failed prepare",
        );
        check(
            |calls| {
                calls.prepare()?;
                calls.prepared();
                calls.finish()?;
                calls.run(&BuildStage::AfterScript)
            },
            "run(after_script) after finish",
        );
        check(
            |calls| {
                calls.cleanup();
                calls.prepare()
            },
            "prepare after cleanup",
        );
        check(
            |calls| {
                calls.prepare()?;
                calls.dropped()
            },
            "dropped without cleanup",
        );
    }
}
