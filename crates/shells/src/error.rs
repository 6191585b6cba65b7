/// Why a script could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A NUL byte, which no shell can carry.
    #[error("a script must not hold a NUL byte")]
    Nul,
    /// A variable whose name no shell accepts; its position in the list.
    #[error("variable {position} has a name that is not letters, digits and underscores")]
    VariableName {
        /// The position, counted from 1. The name itself may be a misplaced secret.
        position: usize,
    },
    /// A shell that nothing is known of to say to somebody at a terminal.
    #[error("PowerShell has no interactive session here")]
    NotInteractive,
}
