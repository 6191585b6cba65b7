//! Signals to the processes of one stage in a container.

use shells::SIGNAL_TREE;

/// The strength of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// TERM: the process may clean up.
    Terminate,
    /// KILL.
    Kill,
}

/// Returns the command that signals the tree of `process`.
pub(crate) fn command(shell: &str, signal: Signal, process: &str) -> Vec<String> {
    let signal = match signal {
        Signal::Terminate => "TERM",
        Signal::Kill => "KILL",
    };
    [shell, "-c", SIGNAL_TREE, "sh", signal, process]
        .map(str::to_owned)
        .to_vec()
}
