use executor_core::job::SecretString;

/// A header that authenticates the sender to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The header's name, such as `private-token`.
    pub header: &'static str,
    /// The header's value.
    pub value: SecretString,
}
