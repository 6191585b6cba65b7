use super::release::OneOrMany;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The identity tokens a job gets, by the names of their variables (`id_tokens`).
pub type IdTokens = IndexMap<String, IdTokenDefinition>;

/// An identity token: a signed statement of what the job is, for another service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdTokenDefinition {
    /// Whom it is for; may hold variables.
    pub aud: OneOrMany,
}
