use std::fmt;

/// Names one request of the service; whoever knows it can follow, stop and finish the request.
///
/// Two requests of one id are one: the second starts nothing. So an id is made of what is unique where the service
/// runs and known again after a crash, such as the job, its attempt and the number of the stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Returns the id of this text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
