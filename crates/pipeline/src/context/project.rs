/// The project a pipeline belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: u64,
    /// The id of its namespace.
    pub namespace_id: u64,
    /// Its path including its namespace, for example `group/project`.
    pub path: String,
    /// Its title; empty means its name.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its visibility: `private`, `internal` or `public`; empty means `private`.
    pub visibility: String,
    /// Its topics.
    pub topics: Vec<String>,
    /// The languages of its files.
    pub languages: Vec<String>,
    /// Its default branch.
    pub default_branch: String,
}

impl Project {
    /// Returns the project's name, the last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path without the name.
    pub fn namespace(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// Returns the first part of the path.
    pub fn root_namespace(&self) -> &str {
        self.namespace().split('/').next().unwrap_or_default()
    }
}
