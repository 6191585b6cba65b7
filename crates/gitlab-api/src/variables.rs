use crate::address::{group_id, project_id};
use crate::{ApiError, Client, TokenMatter};
use executor_core::job::SecretString;
use serde::Deserialize;

/// A variable that GitLab keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's own")]
pub struct Variable {
    /// Its name.
    pub key: String,
    /// Its value; GitLab tells nobody that of a hidden one.
    #[serde(default)]
    pub value: Option<SecretString>,
    /// `env_var`, or `file`.
    #[serde(default)]
    pub variable_type: String,
    /// Whether only jobs of protected branches and tags get it.
    #[serde(default)]
    pub protected: bool,
    /// Whether its value is no text for logs.
    #[serde(default)]
    pub masked: bool,
    /// Whether its value is told to jobs alone.
    #[serde(default)]
    pub hidden: bool,
    /// Whether its value is taken as it stands.
    #[serde(default)]
    pub raw: bool,
    /// The environments it is for, `*` or `review/*`; those of an instance have none.
    #[serde(default)]
    pub environment_scope: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
}

impl Variable {
    /// Returns whether jobs get the path of a file with the value.
    pub fn is_file(&self) -> bool {
        self.variable_type == "file"
    }
}

impl Client {
    /// Returns why somebody without a token is not told the variables of a project; no GitLab needs to
    /// be asked for that.
    pub fn needs_token_for_variables(&self, project: &str) -> ApiError {
        ApiError::Unauthorized {
            asked: Box::new(self.asked(format!("the variables of the project `{project}`"))),
            matter: TokenMatter::Unsaid,
        }
    }

    /// Returns the variables of a project.
    ///
    /// # Errors
    ///
    /// When there is no answer: variables need the role Maintainer.
    pub async fn project_variables(&self, project: &str) -> Result<Vec<Variable>, ApiError> {
        let asked = self
            .asked(format!("the variables of the project `{project}`"))
            .needs("the role Maintainer in the project");
        let url = self.address(&["projects", &project_id(project)?, "variables"], &[])?;
        self.pages(&asked, url).await
    }

    /// Returns the variables of a group itself, without those of the groups around it.
    ///
    /// # Errors
    ///
    /// When there is no answer: variables need the role Owner.
    pub async fn group_variables(&self, group: &str) -> Result<Vec<Variable>, ApiError> {
        let asked = self
            .asked(format!("the variables of the group `{group}`"))
            .needs("the role Owner in the group");
        let url = self.address(&["groups", &group_id(group)?, "variables"], &[])?;
        self.pages(&asked, url).await
    }

    /// Returns the variables of the whole GitLab.
    ///
    /// # Errors
    ///
    /// When there is no answer: they are told to administrators.
    pub async fn instance_variables(&self) -> Result<Vec<Variable>, ApiError> {
        let asked = self
            .asked("the variables of the instance".to_owned())
            .needs("to be an administrator");
        let url = self.address(&["admin", "ci", "variables"], &[])?;
        self.pages(&asked, url).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_of_all_kinds_are_read() {
        let check = |answer, value: Option<&str>, scope: Option<&str>, is_file: bool| {
            let read: Variable = serde_json::from_value(answer).expect("a variable");
            assert_eq!(read.value.as_ref().map(SecretString::expose), value);
            assert_eq!(read.environment_scope.as_deref(), scope);
            assert_eq!(read.is_file(), is_file);
            assert!(!format!("{read:?}").contains("hunter2"));
        };
        check(
            json!({
                "variable_type": "env_var", "key": "A", "value": "hunter2", "hidden": false,
                "protected": true, "masked": true, "raw": false, "environment_scope": "review/*",
                "description": null,
            }),
            Some("hunter2"),
            Some("review/*"),
            false,
        );
        check(
            json!({"variable_type": "file", "key": "A", "value": null, "hidden": true}),
            None,
            None,
            true,
        );
        check(
            json!({"key": "A", "value": "hunter2"}),
            Some("hunter2"),
            None,
            false,
        );
    }

    #[test]
    fn a_variable_has_a_name() {
        assert!(serde_json::from_value::<Variable>(json!({"value": "a"})).is_err());
    }
}
