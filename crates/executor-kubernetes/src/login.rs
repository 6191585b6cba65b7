//! The logins of registries that a job brings: a pure function.

use executor_core::job::Job;
use executor_core::variable::JobVariables;
use serde_json::{Map, Value, json};

/// The variable with the text of a docker `config.json`.
const AUTH: &str = "DOCKER_AUTH_CONFIG";

/// Returns the text of a docker `config.json` with the logins of the server's payload and of `DOCKER_AUTH_CONFIG`, which win; `None`
/// without any. The second is a warning about a variable that cannot be read.
pub(crate) fn login(job: &Job, variables: &JobVariables) -> (Option<String>, Option<String>) {
    let payload = job.credentials.iter().filter(|it| it.kind == "registry");
    let mut auths: Map<String, Value> = payload
        .map(|it| {
            let login = json!({ "username": it.username, "password": it.password.expose() });
            (it.url.clone(), login)
        })
        .collect();
    let mut warning = None;
    let expanded = variables.expanded();
    if let Some(text) = expanded.get(AUTH).filter(|text| !text.trim().is_empty()) {
        let read = serde_json::from_str::<Map<String, Value>>(text);
        match read.ok().and_then(|mut it| it.remove("auths")) {
            Some(Value::Object(own)) => auths.extend(own),
            _ => {
                warning = Some(format!(
                    "invalid ${AUTH}: expected a JSON object with \"auths\""
                ));
            }
        }
    }
    let text = (!auths.is_empty()).then(|| json!({ "auths": auths }).to_string());
    (text, warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{Credentials, SecretString};
    use executor_core::variable::JobVariable;
    use executor_testkit::JobBuilder;

    #[test]
    fn logins_of_the_job_win() {
        let mut job = JobBuilder::new(1).build();
        let of = |text: &str| JobVariables::from_iter([JobVariable::public(AUTH, text)]);
        assert_eq!(login(&job, &of(" ")), (None, None));
        let (none, warning) = login(&job, &of("{"));
        assert!(none.is_none() && warning.is_some());
        job.credentials = ["a", "b"]
            .map(|url| Credentials {
                kind: "registry".to_owned(),
                url: url.to_owned(),
                username: "u".to_owned(),
                password: SecretString::new("p"),
            })
            .into();
        let (text, _) = login(&job, &of("{\"auths\": {\"b\": {\"auth\": \"eA==\"}}}"));
        let expected = json!({ "auths": {
            "a": { "username": "u", "password": "p" },
            "b": { "auth": "eA==" },
        } });
        assert_eq!(text, Some(expected.to_string()));
    }
}
