//! Access control: which callers can see which resources.

use crate::client::{get, get_as, try_ask};
use gitlab_testkit::{GitLab, Request, Role, Variable};
use serde_json::{Value, json};

#[test]
fn private_project_is_invisible_to_strangers() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project").private();
    project.commit(&[("a.yml", "a: 1")]);
    gitlab.token("glpat-good", &["read_api"]);
    gitlab.token("glpat-old", &["read_api"]).expire();
    gitlab.token("glpat-back", &["read_api"]).revoke();
    gitlab.token("glpat-user", &["read_user"]);
    gitlab.token("glpat-files", &["read_repository"]);
    gitlab.token("glpat-other", &["api"]).only(&["other"]);
    gitlab.token("glpat-guest", &["api"]).role(Role::Guest);
    let commit = project.api("/repository/commits/main");
    let check = |token: &str, status: u16, expect: Value| {
        let said = get_as(&gitlab, token, &commit);
        assert_eq!((said.status, said.json()), (status, expect), "{token}");
    };
    let none = json!({"message": "404 Project Not Found"});
    assert_eq!(get(&gitlab, &commit).json(), none);
    check("glpat-other", 404, none);
    check("glpat-wrong", 401, json!({"message": "401 Unauthorized"}));
    check("glpat-guest", 403, json!({"message": "403 Forbidden"}));
    let invalid = |text: &str| json!({"error": "invalid_token", "error_description": text});
    let expired = "Token is expired. You can either do re-authorization or token refresh.";
    check("glpat-old", 401, invalid(expired));
    let revoked = "Token was revoked. You have to re-authorize from the user.";
    check("glpat-back", 401, invalid(revoked));
    let description = "The request requires higher privileges than provided by the access token.";
    let little = json!({
        "error": "insufficient_scope", "error_description": description, "scope": "api read_api",
    });
    check("glpat-user", 403, little.clone());
    check("glpat-files", 403, little);
    assert_eq!(get_as(&gitlab, "glpat-good", &commit).status, 200);
    let file = project.api("/repository/files/a.yml/raw");
    assert_eq!(get_as(&gitlab, "glpat-files", &file).body, "a: 1");
}

#[test]
fn each_token_kind_has_its_header() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project").private();
    project.commit(&[("a.yml", "a: 1")]);
    gitlab.token("personal", &["api"]);
    gitlab.oauth_token("oauth", &["api"]);
    gitlab.job_token("job");
    let check = |rest: &str, header: (&str, &str), expect: u16| {
        let said = try_ask(&gitlab, "GET", &project.api(rest), &[header], "").unwrap();
        assert_eq!(said.status, expect, "{rest} {header:?}");
    };
    check("", ("PRIVATE-TOKEN", "personal"), 200);
    check("", ("Authorization", "Bearer personal"), 200);
    check("", ("Authorization", "Bearer oauth"), 200);
    check("", ("PRIVATE-TOKEN", "oauth"), 401);
    check("", ("JOB-TOKEN", "personal"), 401);
    check("/repository/tags", ("JOB-TOKEN", "job"), 200);
    // The same result as without a token.
    check("/repository/files/a.yml/raw", ("JOB-TOKEN", "job"), 404);
    let tokens: Vec<_> = gitlab
        .requests()
        .iter()
        .filter_map(Request::token)
        .collect();
    assert_eq!(
        tokens,
        [
            "personal", "personal", "oauth", "oauth", "personal", "job", "job"
        ]
    );
}

#[test]
fn variables_require_a_maintainer() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project");
    let project = project
        .variable(Variable::new("A", "1").masked().scope("review/*"))
        .variable(Variable::new("B", "2").hidden().protected().file().raw());
    let group = gitlab.group("group").variable(Variable::new("C", "3"));
    gitlab.variable(Variable::new("D", "4"));
    gitlab.token("maintainer", &["read_api"]);
    gitlab.token("developer", &["api"]).role(Role::Developer);
    gitlab.token("admin", &["read_api"]).admin();

    let of_project = project.api("/variables");
    assert_eq!(get(&gitlab, &of_project).status, 401);
    assert_eq!(get_as(&gitlab, "developer", &of_project).status, 403);
    let said = get_as(&gitlab, "maintainer", &of_project);
    assert_eq!(said.header("x-total"), "2");
    let said = said.json();
    assert_eq!(said[0]["environment_scope"], "review/*");
    assert_eq!(said[0]["masked"], true);
    assert_eq!(said[1]["value"], Value::Null);
    assert_eq!(said[1]["variable_type"], "file");
    let said = get_as(&gitlab, "maintainer", &group.api("/variables"));
    assert_eq!(said.json()[0]["key"], "C");
    let none = gitlab.group("none").api("/variables");
    assert_eq!(get_as(&gitlab, "maintainer", &none).status, 404);
    assert_eq!(
        get_as(&gitlab, "maintainer", "/api/v4/admin/ci/variables").status,
        403
    );
    let said = get_as(&gitlab, "admin", "/api/v4/admin/ci/variables");
    assert_eq!(said.json()[0]["value"], "4");
}

#[test]
fn lint_requires_more_than_read_access() {
    let gitlab = GitLab::start();
    let answer = json!({"valid": true, "merged_yaml": "a: 1", "jobs": []});
    let project = gitlab.project("group/project").lint(answer.clone());
    gitlab.token("reads", &["read_api"]);
    gitlab.token("writes", &["api"]);
    let lint = project.api("/ci/lint");
    let post = |token: &str, body: &str| {
        let headers = [
            ("private-token", token),
            ("content-type", "application/json"),
        ];
        try_ask(&gitlab, "POST", &lint, &headers, body).unwrap()
    };
    let said = post("reads", r#"{"content":"a: 1"}"#);
    assert_eq!(
        (said.status, said.json()["scope"].clone()),
        (403, json!("api"))
    );
    assert_eq!(
        post("writes", "{}").json(),
        json!({"error": "content is missing"})
    );
    assert_eq!(post("writes", r#"{"content":"a: 1"}"#).json(), answer);
    assert_eq!(gitlab.requests()[2].json()["content"], "a: 1");
}

#[test]
fn token_user_and_version_are_served() {
    let gitlab = GitLab::start();
    gitlab.token("token", &["read_api"]);
    let said = get_as(&gitlab, "token", "/api/v4/personal_access_tokens/self");
    assert_eq!(said.json()["scopes"], json!(["read_api"]));
    assert_eq!(
        get_as(&gitlab, "token", "/api/v4/user").json()["username"],
        "tester"
    );
    assert_eq!(get(&gitlab, "/api/v4/version").status, 401);
    assert!(get_as(&gitlab, "token", "/api/v4/version").json()["version"].is_string());
}

#[test]
fn anonymous_browser_is_redirected_to_sign_in() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project").private();
    project.commit(&[("a.yml", "a: 1")]);
    gitlab.token("token", &["read_api"]);
    let raw = "/group/project/-/raw/main/a.yml";
    let said = get(&gitlab, raw);
    assert_eq!(said.status, 302);
    assert_eq!(
        said.header("location"),
        format!("{}/users/sign_in", gitlab.url())
    );
    assert_eq!(get(&gitlab, "/users/sign_in").status, 200);
    assert_eq!(get_as(&gitlab, "token", raw).body, "a: 1");
}
