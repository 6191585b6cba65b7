/// The directions in which a cache is transferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// It is restored before the script, and saved after it.
    #[default]
    PullPush,
    /// It is only restored.
    Pull,
    /// It is only saved.
    Push,
}

impl Policy {
    /// Reads a policy whose variables are expanded, with a warning if it is invalid.
    pub(super) fn read(text: &str) -> (Self, Option<String>) {
        match text {
            "" | "pull-push" => (Self::PullPush, None),
            "pull" => (Self::Pull, None),
            "push" => (Self::Push, None),
            other => {
                let warning = format!(
                    "{other:?} is not a cache policy (pull-push, pull or push); pull-push is used"
                );
                (Self::default(), Some(warning))
            }
        }
    }

    /// Returns whether the cache is restored.
    pub(super) fn pulls(self) -> bool {
        self != Self::Push
    }

    /// Returns whether the cache is saved.
    pub(super) fn pushes(self) -> bool {
        self != Self::Pull
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read() {
        let check = |text, pulls, pushes, is_known| {
            let (policy, warning) = Policy::read(text);
            let found = (policy.pulls(), policy.pushes(), warning.is_none());
            assert_eq!(found, (pulls, pushes, is_known), "{text:?}");
        };
        check("", true, true, true);
        check("pull-push", true, true, true);
        check("pull", true, false, true);
        check("push", false, true, true);
        check("push-pull", true, true, false);
        check("$POLICY", true, true, false);
    }
}
