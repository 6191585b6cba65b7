use executor_core::job::SecretString;

/// What tells a server who asks: one header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The header's name, `private-token` for instance.
    pub header: &'static str,
    /// Its value.
    pub value: SecretString,
}
