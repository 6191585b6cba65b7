/// Who serves, and what the environment has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInfo {
    /// The version of the agent.
    pub version: String,
    /// Its process, as the environment numbers it.
    pub pid: u32,
    /// The user it runs as.
    pub uid: u32,
    /// The group it runs as.
    pub gid: u32,
    /// That user's home directory.
    pub home: String,
    /// The paths of the shells that are there, the better first.
    pub shells: Vec<String>,
    /// Made up when the agent starts: another one means that the requests of the earlier are gone.
    pub instance: String,
}
