use crate::Variable;
use crate::world::World;
use std::sync::Arc;

/// A group of projects.
#[derive(Debug, Clone)]
pub struct Group {
    pub(crate) world: Arc<World>,
    pub(crate) path: String,
}

impl Group {
    /// Adds a variable to the group.
    pub fn variable(self, variable: Variable) -> Self {
        let mut state = self.world.state();
        let variables = state.groups.entry(self.path.to_lowercase()).or_default();
        variables.push(variable);
        drop(state);
        self
    }

    /// Returns the API path of a resource of the group, encoded as it is sent.
    pub fn api(&self, rest: &str) -> String {
        let group = self.path.replace('/', "%2F");
        format!("{}/api/v4/groups/{group}{rest}", self.world.root)
    }
}
