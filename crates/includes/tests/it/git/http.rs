use super::asker::{Asker, http_route, words};
use executor_core::job::SecretString;
use gitlab_testkit::{Fault, GitLab};
use includes::GitRoute;

/// Returns a GitLab over TLS with a private project of one file, and the commit.
fn gitlab() -> (GitLab, String) {
    let gitlab = GitLab::setup().tls().below("/gitlab").start();
    let project = gitlab.project("g/p").private();
    let sha = project.commit(&[("a.yml", "a")]);
    gitlab.token("glpat-secret", &["read_repository"]);
    (gitlab, sha)
}

#[tokio::test]
async fn private_project_is_read_with_netrc() {
    // R-GLCI-150
    let (gitlab, sha) = gitlab();
    let user = Asker::over_http(&gitlab);
    user.write(
        ".netrc",
        0o600,
        "machine 127.0.0.1 login me password glpat-secret\n",
    );
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
    assert_eq!(user.tree("g/p", &sha).await.as_deref(), Ok("a.yml\n"));
    assert_eq!(gitlab.count("GET", "/gitlab/api/*"), 0);
}

#[tokio::test]
async fn private_project_is_read_with_a_credential_helper() {
    let (gitlab, sha) = gitlab();
    let user = Asker::over_http(&gitlab);
    let settings = "[credential]\n\thelper = \"!f() { echo username=me; echo \
                    password=glpat-secret; }; f\"\n";
    user.write(".gitconfig", 0o600, settings);
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
}

#[tokio::test]
async fn job_token_opens_projects_its_project_may_see() {
    let (gitlab, sha) = gitlab();
    gitlab.job_token("job-secret");
    let GitRoute::Http {
        instance,
        authority,
        ..
    } = http_route(&gitlab)
    else {
        unreachable!("it is one over HTTP");
    };
    let login = Some((
        "gitlab-ci-token".to_owned(),
        SecretString::new("job-secret"),
    ));
    let route = GitRoute::Http {
        instance,
        authority,
        login,
    };
    let user = Asker::on(Some(route), &[]);
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
}

#[tokio::test]
async fn missing_password_does_not_prompt() {
    let (gitlab, _) = gitlab();
    let port = gitlab.address().port();
    let user = Asker::over_http(&gitlab);
    let (settings, note) = user.write_asking();
    user.write(".gitconfig", 0o600, &settings);
    let program = user.home.path().join("ask").display().to_string();
    let answer = user.commit("g/p", "main").await;
    assert_eq!(
        words(answer, port),
        "Denied: https://127.0.0.1:PORT asks Git for a name and a password, and Git has none that are right (a credential helper of Git or a line in `~/.netrc` can provide them: the password is a token with the scope `read_repository`)"
    );
    let other = Asker::on(
        Some(http_route(&gitlab)),
        &[
            ("GIT_ASKPASS", &program),
            ("SSH_ASKPASS", &program),
            ("GIT_TERMINAL_PROMPT", "1"),
        ],
    );
    other.commit("g/p", "main").await.expect_err("refused");
    assert!(!note.exists(), "Git does not prompt");
}

#[tokio::test]
async fn rejected_password_differs_from_an_absent_project() {
    let (gitlab, _) = gitlab();
    let port = gitlab.address().port();
    let user = Asker::over_http(&gitlab);
    user.write(
        ".netrc",
        0o600,
        "machine 127.0.0.1 login me password wrong\n",
    );
    let said = words(user.commit("g/p", "main").await, port);
    assert!(said.contains("Git has none that are right"), "{said}");
    assert!(said.contains("read_repository"), "{said}");
    assert!(!said.contains("wrong"), "{said}");
    user.write(
        ".netrc",
        0o600,
        "machine 127.0.0.1 login me password glpat-secret\n",
    );
    let said = words(user.commit("g/none", "main").await, port);
    assert!(said.starts_with("NoProject"), "{said}");
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let (gitlab, _) = gitlab();
    let elsewhere = GitLab::start_tls();
    gitlab.always("/gitlab/g/p.git/*", Fault::Redirect(elsewhere.url()));
    let user = Asker::over_http(&gitlab);
    user.write(
        ".netrc",
        0o600,
        "machine 127.0.0.1 login me password glpat-secret\n",
    );
    user.commit("g/p", "main").await.expect_err("refused");
    assert_eq!(elsewhere.total(), 0);
}

#[tokio::test]
async fn untrusted_certificate_is_refused() {
    let (gitlab, _) = gitlab();
    let GitRoute::Http { instance, .. } = http_route(&gitlab) else {
        unreachable!("it is one over HTTP");
    };
    let route = GitRoute::Http {
        instance,
        authority: None,
        login: None,
    };
    let user = Asker::on(Some(route), &[]);
    let said = words(user.commit("g/p", "main").await, gitlab.address().port());
    assert!(
        said.starts_with("Unavailable: https://127.0.0.1:PORT did not answer Git"),
        "{said}"
    );
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(gitlab.total(), 0);
}

#[tokio::test]
async fn plain_http_needs_a_gitlab_over_http() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let user = Asker::over_http(&gitlab);
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    // The user's own settings lead from https to http, which is weaker.
    let settings = format!(
        "[url \"{}/\"]\n\tinsteadOf = https://gitlab.example.com/\n",
        gitlab.url()
    );
    let route = GitRoute::Http {
        instance: gitlab_api::Instance::parse("gitlab.example.com").expect("an address"),
        authority: None,
        login: None,
    };
    let down = Asker::on(Some(route), &[]);
    down.write(".gitconfig", 0o600, &settings);
    gitlab.reset_count();
    down.commit("g/p", "main").await.expect_err("refused");
    assert_eq!(gitlab.total(), 0);
}
