use crate::address::project_id;
use crate::{ApiError, Client, LintJob};
use serde::{Deserialize, Deserializer, Serialize};

/// A file for GitLab's CI lint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintRequest {
    /// The text of `.gitlab-ci.yml`.
    pub content: String,
    /// Whether to simulate a pipeline, rules included; the response then lists no needs.
    pub dry_run: bool,
    /// Whether the response lists the jobs.
    pub include_jobs: bool,
    /// The branch or tag of a dry run; `None` means the default branch, as without a dry run.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// The result of the CI lint.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct LintAnswer {
    /// Whether the file yields a valid pipeline.
    pub valid: bool,
    /// The errors.
    #[serde(default, deserialize_with = "or_default")]
    pub errors: Vec<String>,
    /// The warnings.
    #[serde(default, deserialize_with = "or_default")]
    pub warnings: Vec<String>,
    /// The file with everything that it includes, extends and references; `None` when it is invalid.
    #[serde(default)]
    pub merged_yaml: Option<String>,
    /// The files that were included.
    #[serde(default, deserialize_with = "or_default")]
    pub includes: Vec<LintInclude>,
    /// All jobs, whatever their rules say.
    #[serde(default, deserialize_with = "or_default")]
    pub jobs: Vec<LintJob>,
}

/// A file that GitLab included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LintInclude {
    /// The kind: `local`, `file` (of a project), `remote`, `template`, `component`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The location as the file gives it.
    pub location: Option<String>,
    /// The address of the page that shows it.
    pub blob: Option<String>,
    /// The address of its text.
    pub raw: Option<String>,
    /// The project of the file that includes it.
    pub context_project: Option<String>,
    /// The commit of the file that includes it.
    pub context_sha: Option<String>,
}

impl LintRequest {
    /// Returns a request for the static check, with all jobs and their needs.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            dry_run: false,
            include_jobs: true,
            reference: None,
        }
    }
}

impl Client {
    /// Checks a file as if it were the project's `.gitlab-ci.yml`.
    ///
    /// # Errors
    ///
    /// When there is no valid response. An invalid file is not an error.
    pub async fn ci_lint(
        &self,
        project: &str,
        request: &LintRequest,
    ) -> Result<LintAnswer, ApiError> {
        let context = self
            .context(format!("the CI lint of `{project}`"))
            .needs("the role Developer in the project")
            .scope("api");
        let url = self.address(&["projects", &project_id(project)?, "ci", "lint"], &[])?;
        self.post(&context, url, request).await
    }
}

/// Reads `null` as the default value.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn request_has_the_form_that_gitlab_expects() {
        let mut request = LintRequest::new("a: {script: b}");
        let sent = serde_json::to_value(&request).expect("JSON");
        let expect = json!({"content": "a: {script: b}", "dry_run": false, "include_jobs": true});
        assert_eq!(sent, expect);
        request.reference = Some("main".to_owned());
        let sent = serde_json::to_value(&request).expect("JSON");
        assert_eq!(sent["ref"], "main");
    }

    #[test]
    fn response_may_leave_out_fields() {
        let check = |answer: serde_json::Value, expect: LintAnswer| {
            let read: LintAnswer = serde_json::from_value(answer).expect("an answer");
            assert_eq!(read, expect);
        };
        let wrong = LintAnswer {
            errors: vec!["jobs config should contain at least one visible job".to_owned()],
            ..LintAnswer::default()
        };
        let errors = json!(wrong.errors);
        check(json!({"valid": false, "errors": errors}), wrong.clone());
        check(
            json!({
                "valid": false, "errors": errors, "warnings": null, "includes": null,
                "jobs": null, "merged_yaml": null, "status": "invalid",
            }),
            wrong,
        );
    }

    #[test]
    fn includes_are_read() {
        let answer = json!({"valid": true, "includes": [{
            "type": "file", "location": "ci/a.yml", "blob": "https://h/g/p/-/blob/1/ci/a.yml",
            "raw": null, "extra": {"project": "g/p", "ref": null},
            "context_project": "g/own", "context_sha": "1",
        }]});
        let read: LintAnswer = serde_json::from_value(answer).expect("an answer");
        let include = &read.includes[0];
        assert_eq!(include.kind.as_deref(), Some("file"));
        assert_eq!(include.location.as_deref(), Some("ci/a.yml"));
        assert_eq!(include.raw, None);
    }
}
