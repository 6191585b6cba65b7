/// An error in writing a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It would contain a NUL byte, which no shell supports.
    #[error("a script must not contain a NUL byte")]
    Nul,
    /// The name of a variable is not a shell identifier.
    #[error("the name of variable {position} must consist of letters, digits and underscores")]
    VariableName {
        /// The position in the list, counted from 1. The name itself may be a misplaced secret.
        position: usize,
    },
    /// The shell does not support interactive sessions.
    #[error("PowerShell does not support interactive sessions")]
    NotInteractive,
}
