use crate::address::{group_id, project_id};
use crate::{ApiError, Client, TokenMatter};
use executor_core::job::SecretString;
use serde::Deserialize;

/// A CI/CD variable stored in GitLab.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are GitLab's own")]
pub struct Variable {
    /// Its name.
    pub key: String,
    /// The value; GitLab does not return that of a hidden variable.
    #[serde(default)]
    pub value: Option<SecretString>,
    /// `env_var`, or `file`.
    #[serde(default)]
    pub variable_type: String,
    /// Whether only jobs of protected branches and tags get it.
    #[serde(default)]
    pub protected: bool,
    /// Whether the value is masked in logs.
    #[serde(default)]
    pub masked: bool,
    /// Whether only jobs can read the value.
    #[serde(default)]
    pub hidden: bool,
    /// Whether the value is used without expansion.
    #[serde(default)]
    pub raw: bool,
    /// The environments that it applies to, `*` or `review/*`; variables of an instance have none.
    #[serde(default)]
    pub environment_scope: Option<String>,
    /// The description.
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
    /// Returns the error for reading a project's variables without a token, without sending a request.
    pub fn needs_token_for_variables(&self, project: &str) -> ApiError {
        ApiError::Unauthorized {
            context: Box::new(self.context(format!("the variables of the project `{project}`"))),
            matter: TokenMatter::Unsaid,
        }
    }

    /// Returns the variables of a project.
    ///
    /// # Errors
    ///
    /// When there is no valid response: variables require the role Maintainer.
    pub async fn project_variables(&self, project: &str) -> Result<Vec<Variable>, ApiError> {
        let context = self
            .context(format!("the variables of the project `{project}`"))
            .needs("the role Maintainer in the project");
        let url = self.address(&["projects", &project_id(project)?, "variables"], &[])?;
        self.pages(&context, url).await
    }

    /// Returns the variables of a group itself, without those of its parent groups.
    ///
    /// # Errors
    ///
    /// When there is no valid response: variables require the role Owner.
    pub async fn group_variables(&self, group: &str) -> Result<Vec<Variable>, ApiError> {
        let context = self
            .context(format!("the variables of the group `{group}`"))
            .needs("the role Owner in the group");
        let url = self.address(&["groups", &group_id(group)?, "variables"], &[])?;
        self.pages(&context, url).await
    }

    /// Returns the variables of the GitLab instance.
    ///
    /// # Errors
    ///
    /// When there is no valid response: only administrators may read them.
    pub async fn instance_variables(&self) -> Result<Vec<Variable>, ApiError> {
        let context = self
            .context("the variables of the instance".to_owned())
            .needs("to be an administrator");
        let url = self.address(&["admin", "ci", "variables"], &[])?;
        self.pages(&context, url).await
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
    fn variables_require_a_name() {
        assert!(serde_json::from_value::<Variable>(json!({"value": "a"})).is_err());
    }
}
