use serde::Deserialize;

/// How scripts run in a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// By the agent where it can run, else as `exec`.
    #[default]
    Auto,
    /// By the agent, or not at all.
    Agent,
    /// By a command of the pod for each stage.
    Exec,
}
