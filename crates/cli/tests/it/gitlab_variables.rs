//! Variables stored on a GitLab: which are fetched, their precedence, and that values are neither shown nor stored.

use crate::project::{Done, Project, files_below, wait_until};
use gitlab_testkit::{Fault, GitLab, Role, Variable};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

const PIPELINE: &str = "\
variables: {URL: of-file, FROM: of-file}
test: {script: [\"true\"]}
deploy:
  environment: production
  script:
    - printf '%s\\n' \"key=$KEY\" \"mix=$MIX\" \"url=$URL\" \"raw=$RAW\" \"from=$FROM\" \"protected=$CI_COMMIT_REF_PROTECTED\"
    - echo \"file=$(cat \"$CERT\")\"
    - echo \"$CERT\" > where.txt
    - '[ \"${#KEY}\" = 16 ] && [ \"${#SAFE}\" = 17 ]'
  artifacts: {paths: [where.txt]}
";

/// The path of the project on its GitLab.
const PATH: &str = "group/sub/app";

/// The values that must not be shown or stored.
const SECRETS: [&str; 6] = [
    "m4sked-k3y-v4lue",
    "pr0tected-v4lue-1",
    "f1le-c0ntent-here",
    "of-server-v4lue",
    "h1dden-v4lue",
    "glpat-t0ken-of-user",
];

fn gitlab() -> GitLab {
    let gitlab = GitLab::start();
    gitlab.token("glpat-t0ken-of-user", &["read_api"]);
    let project = gitlab.project(PATH).private();
    project.commit(&[("README", "x")]);
    project
        .variable(Variable::new("KEY", "m4sked-k3y-v4lue").masked())
        .variable(Variable::new("CERT", "f1le-c0ntent-here").file().masked())
        .variable(Variable::new("MIX", "m1x-$KEY-with-more").masked())
        .variable(Variable::new("RAW", "$URL$$").raw())
        .variable(Variable::new("URL", "of-project"))
        .variable(Variable::new("URL", "of-production").scope("prod*"))
        .variable(Variable::new("URL", "of-review").scope("review/*"))
        .variable(
            Variable::new("SAFE", "pr0tected-v4lue-1")
                .protected()
                .masked(),
        )
        .variable(Variable::new("HIDDEN", "h1dden-v4lue").hidden());
    gitlab
        .group("group")
        .variable(Variable::new("FROM", "of-group"))
        .variable(Variable::new("OUTER", "of-server-v4lue"));
    let nearer = gitlab.group("group/sub");
    nearer.variable(Variable::new("FROM", "of-subgroup"));
    gitlab.variable(Variable::new("EVERYBODY", "of-server-v4lue"));
    gitlab
}

/// Returns a checkout of the project for a user with a separate home.
fn checkout(gitlab: &GitLab) -> Project {
    let project = Project::with_pipeline(PIPELINE);
    let url = format!("{}/{PATH}.git", gitlab.url());
    project.git(&["remote", "add", "origin", &url]);
    project
}

/// Runs a command with a token in the environment.
fn run(project: &Project, arguments: &[&str]) -> Done {
    run_with(project, arguments, Some("glpat-t0ken-of-user"))
}

fn run_with(project: &Project, arguments: &[&str], token: Option<&str>) -> Done {
    let mut command = project.command(arguments);
    command
        .arg("--gitlab-variables")
        .env("HOME", project.home())
        .env("RUNWRIGHT_LOG", "trace");
    for name in [
        "GITLAB_TOKEN",
        "GITLAB_HOST",
        "XDG_CONFIG_HOME",
        "CI_JOB_ID",
    ] {
        command.env_remove(name);
    }
    if let Some(token) = token {
        command.env("RUNWRIGHT_GITLAB_TOKEN", token);
    }
    let done = Done::from(command.output().unwrap());
    for secret in SECRETS {
        assert!(!done.all().contains(secret), "{secret}: {}", done.all());
    }
    done
}

/// Returns the origins of a variable, the effective one first.
fn origins(json: &Value, name: &str) -> Vec<String> {
    let variables = json[0]["variables"].as_array().unwrap().iter();
    let found = variables.clone().find(|it| it["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {json}"));
    let shadows = found["shadows"].as_array().unwrap().iter();
    let all = [&found["source"]].into_iter().chain(shadows);
    let origin = |it: &Value| match it["kind"].as_str() {
        Some("given") => {
            let server = &it["source"]["server"];
            let path = server["path"].as_str().unwrap_or("-");
            let option = it["source"]["option"].as_str().unwrap_or(path);
            format!(
                "{} {option} {}",
                it["level"].as_str().unwrap(),
                it["scope"].as_str().unwrap()
            )
        }
        kind => kind.unwrap().to_owned(),
    };
    all.map(origin).collect()
}

#[test]
fn variables_come_from_all_levels_and_the_nearest_wins() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let done = run(
        &project,
        &["variables", "deploy", "--json", "--secret", "PATH"],
    )
    .expect_code(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    let check = |name: &str, expect: &[&str]| assert_eq!(origins(&json, name), expect, "{name}");
    check(
        "URL",
        &[
            "project group/sub/app prod*",
            "project group/sub/app *",
            "global",
        ],
    );
    check("FROM", &["group group/sub *", "group group *", "global"]);
    check("OUTER", &["group group *"]);
    check("PATH", &["project --secret *"]);
    assert_eq!(json[0]["variables"][0]["value"], "[MASKED]");
    let left_out = json[0]["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert_eq!(left_out[0]["reason"], "scope");
    // Instance variables are for administrators, so their absence is not reported.
    assert!(!done.stderr.contains("instance"), "{}", done.stderr);
    done.expect_text("hidden variables: HIDDEN (--secret sets them)");
    let api = gitlab.project(PATH);
    for path in ["", "/variables", "/repository/branches/main"] {
        assert_eq!(gitlab.count("GET", &api.api(path)), 1, "{path}");
    }
    assert_eq!(gitlab.count("GET", "/api/v4/groups/*"), 2);
    assert_eq!(gitlab.total(), 6);
}

#[test]
fn origins_are_shown_as_text() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let arguments = ["variables", "test", "--explain", "--branch", "feature"];
    let text = run(&project, &arguments).expect_code(0).stdout;
    let text = text.replace(&gitlab.name(), "git.example");
    let shown: String = text
        .lines()
        .filter(|line| !line.contains("predefined"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    let shown = shown.replace(char::is_whitespace, " ");
    for part in [
        "CERT = [MASKED] project, group/sub/app on git.example is the path of a file",
        "URL = [MASKED] project, group/sub/app on git.example wins over global, .gitlab-ci.yml:1",
        "FROM = [MASKED] group, group/sub on git.example wins over group, group on git.example;",
        "SAFE project, group/sub/app on git.example is for protected branches and tags",
        "URL project, group/sub/app on git.example for prod* is for other environments",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn run_uses_variables_and_neither_shows_nor_stores_their_values() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    for format in [&["--progress", "plain"][..], &["--progress", "json"]] {
        let events = project.scratch().join("events");
        let events = events.to_str().unwrap();
        let arguments = [&["run", "deploy", "--events", events], format].concat();
        gitlab.reset_count();
        let done = run(&project, &arguments).expect_code(0);
        assert_eq!(gitlab.total(), 6, "everything is asked for once");
        let printed = done.stdout;
        for line in [
            "key=[MASKED]",
            "mix=[MASKED]",
            "file=[MASKED]",
            "url=of-production",
            "raw=$URL$$",
            "from=of-subgroup",
            "protected=true",
        ] {
            assert!(printed.contains(line), "{line} in {printed}");
        }
        let events = fs::read_to_string(events).unwrap();
        assert!(events.contains("key=[MASKED]"), "{events}");
        let home = files_below(&project.home());
        let kept = home.iter().filter(|path| path.is_file());
        for path in kept.chain([&project.scratch().join("events")]) {
            let bytes = fs::read(path).unwrap();
            for secret in SECRETS {
                let has = bytes
                    .windows(secret.len())
                    .any(|it| it == secret.as_bytes());
                assert!(!has, "{secret} in {}", path.display());
            }
        }
    }
    // The file existed for the job and is gone now.
    let out = project.scratch().join("out");
    let words = ["artifacts", "deploy", "--output", out.to_str().unwrap()];
    project.runwright(&words).expect_code(0);
    let path = fs::read_to_string(out.join("where.txt")).unwrap();
    let path = std::path::Path::new(path.trim());
    assert!(path.is_absolute() && !path.exists(), "{}", path.display());
}

#[test]
fn no_command_shows_their_values() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    project.write(
        "uses.yml",
        "workflow: {name: of $KEY}\njob:\n  image: $KEY\n  variables: {A: $KEY-$CERT}\n  environment: e/$OUTER\n  rules: [{if: $KEY == $SAFE}, {if: $KEY}]\n  script: [\"true\"]\n",
    );
    for line in [
        "lint --notes -f uses.yml",
        "lint --json -f uses.yml",
        "show -f uses.yml",
        "plan -f uses.yml",
        "plan --json -f uses.yml",
        "list --json -f uses.yml",
        "explain job --predefined -f uses.yml",
        "explain job --predefined --json -f uses.yml",
        "variables job --explain -f uses.yml",
        "variables --json -f uses.yml",
        "run --dry-run -f uses.yml",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        run(&project, &arguments).expect_code(0);
    }
}

#[test]
fn protected_variables_are_for_refs_the_server_protects() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let on_server = gitlab.project(PATH).protect("release/*").protect("v*");
    project.write("own.yml", "OWN: {value: x, protected: true}\n");
    on_server.branch("feature");
    on_server.branch("release/1");
    on_server.tag("v1");
    let check = |options: &str, expect: bool| {
        let mut arguments = vec!["variables", "test", "--json"];
        arguments.extend(["--variables-file", "own.yml"]);
        arguments.extend(options.split(' ').filter(|word| !word.is_empty()));
        let done = run(&project, &arguments).expect_code(0);
        let json: Value = serde_json::from_str(&done.stdout).unwrap();
        let variables = json[0]["variables"].as_array().unwrap();
        let value = |name: &str| {
            let mut found = variables.iter();
            let found = found.find(|it| it["name"] == name)?;
            Some(found["value"].as_str()?.to_owned())
        };
        assert_eq!(value("SAFE").is_some(), expect, "{options}");
        assert_eq!(value("OWN").is_some(), expect, "{options}");
        let of_pipeline = value("CI_COMMIT_REF_PROTECTED");
        assert_eq!(
            of_pipeline.as_deref(),
            Some(if expect { "true" } else { "false" })
        );
        let is_noted = done.stderr.contains("for none: SAFE");
        assert_eq!(is_noted, !expect, "{options}: {}", done.stderr);
        value("CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED")
    };
    check("", true);
    check("--branch feature", false);
    check("--branch release/1", true);
    // The branch is not on the server, so its name decides.
    check("--branch release/2", true);
    check("--branch other", false);
    check("--tag v1", true);
    check("--tag v2", true);
    check("--tag other", false);
    let source = check("--mr --branch release/1 --target main", true);
    assert_eq!(source.as_deref(), Some("true"));
    let source = check("--mr --branch feature --target main", false);
    assert_eq!(source.as_deref(), Some("false"));
}

#[test]
fn unknown_branch_protection_leaves_protected_variables_out() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let branch = gitlab.project(PATH).api("/repository/branches/main");
    gitlab.always(&branch, Fault::Status(403));
    let done = run(&project, &["variables", "--json"]).expect_code(0);
    assert!(
        !done.stdout.contains("\"SAFE\",\n        \"value\""),
        "{}",
        done.stdout
    );
    let done = done.expect_text("it is unknown whether this pipeline is for a protected branch");
    done.expect_text("): SAFE");
}

#[test]
fn groups_that_refuse_access_are_reported_and_user_namespaces_are_skipped() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    gitlab.always(&gitlab.group("group").api("/variables"), Fault::Status(403));
    let done = run(&project, &["variables"]).expect_code(0);
    assert!(!done.stdout.contains("OUTER = "), "{}", done.stdout);
    done.expect_text("the variables of the group `group`")
        .expect_text("Owner");

    gitlab
        .project("somebody/app")
        .variable(Variable::new("OWN", "x"));
    let user = r#"{"id": 2, "path_with_namespace": "somebody/app", "namespace": {"kind": "user", "full_path": "somebody"}}"#;
    let page = gitlab_testkit::Page::new(user).header("content-type", "application/json");
    gitlab.page("/api/v4/projects/somebody%2Fapp", page);
    gitlab.always(
        &gitlab.group("somebody").api("/variables"),
        Fault::Status(404),
    );
    let url = format!("{}/somebody/app.git", gitlab.url());
    project.git(&["remote", "set-url", "origin", &url]);
    let done = run(&project, &["variables"]).expect_code(0);
    assert!(!done.stderr.contains("somebody"), "{}", done.stderr);
    done.expect_text("OWN = ");
}

#[test]
fn administrators_get_instance_variables_too() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    gitlab.token("glpat-admin", &["api"]).admin();
    let arguments = ["variables", "--json"];
    let done = run_with(&project, &arguments, Some("glpat-admin")).expect_code(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(origins(&json, "EVERYBODY"), ["instance - *"]);
}

#[test]
fn refusals_name_the_missing_permission() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    gitlab.token("glpat-poor", &["read_user"]);
    gitlab.token("glpat-old", &["read_api"]).expire();
    gitlab
        .token("glpat-developer", &["read_api"])
        .role(Role::Developer);
    gitlab
        .token("glpat-elsewhere", &["read_api"])
        .only(&["other"]);
    let check = |token: Option<&str>, code: i32, words: &[&str]| {
        let done = run_with(&project, &["variables"], token).expect_code(code);
        assert_eq!(done.stdout, "", "{token:?}");
        for word in words {
            assert!(done.stderr.contains(word), "{word} in {}", done.stderr);
        }
    };
    gitlab.reset_count();
    check(
        None,
        2,
        &["only with a token", "read_api", "RUNWRIGHT_GITLAB_TOKEN"],
    );
    assert_eq!(gitlab.total(), 0, "nobody is asked without a token");
    check(
        Some("glpat-unknown"),
        2,
        &["refuses the token from RUNWRIGHT_GITLAB_TOKEN"],
    );
    check(Some("glpat-old"), 2, &["it has expired"]);
    check(Some("glpat-poor"), 2, &["lacks the scope `read_api`"]);
    check(
        Some("glpat-developer"),
        2,
        &["help: it takes the role Maintainer in the project"],
    );
    check(Some("glpat-elsewhere"), 2, &["no such project", PATH]);
    gitlab.always("/api/v4/*", Fault::Status(500));
    check(Some("glpat-t0ken-of-user"), 3, &["status 500"]);
    gitlab.repair();
    let page = gitlab_testkit::Page::new("<html>").header("content-type", "text/html");
    let variables = gitlab.project(PATH).api("/variables");
    gitlab.always(&variables, Fault::Page(page));
    check(Some("glpat-t0ken-of-user"), 2, &["answers with a page"]);
    gitlab.stop();
    check(Some("glpat-t0ken-of-user"), 3, &["cannot be reached"]);
}

#[test]
fn no_server_means_no_variables() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let done = run(&project, &["list", "--offline"]).expect_code(2);
    done.expect_text("--offline");
    project.git(&["remote", "remove", "origin"]);
    let done = run(&project, &["list"]).expect_code(2);
    done.expect_text("no GitLab is known for this project")
        .expect_text("help: name it with --gitlab URL");
    let done = run(&project, &["list", "--gitlab", &gitlab.url()]).expect_code(2);
    done.expect_text("so its project there is unknown");
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn no_request_is_sent_unless_enabled() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let mut command = project.command(&["variables"]);
    command.env("RUNWRIGHT_GITLAB_TOKEN", "glpat-t0ken-of-user");
    let done = Done::from(command.output().unwrap()).expect_code(0);
    assert!(done.stdout.contains("URL = of-file"), "{}", done.stdout);
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn all_pages_are_read_with_the_right_values() {
    let gitlab = gitlab();
    let mut on_server = gitlab.project(PATH);
    for number in 0..250 {
        on_server = on_server.variable(Variable::new(&format!("MANY_{number}"), "x"));
    }
    let project = checkout(&gitlab);
    let done = run(&project, &["variables"]).expect_code(0);
    assert_eq!(done.stdout.matches("\nMANY_").count(), 250);
    assert_eq!(gitlab.count("GET", &on_server.api("/variables")), 3);
}

#[test]
fn requests_are_sent_concurrently() {
    let gitlab = gitlab();
    let project = checkout(&gitlab);
    let held = gitlab.hold("/api/v4/*");
    let child = project
        .command(&[
            "variables",
            "--gitlab-variables",
            "--mr",
            "--branch",
            "feature",
        ])
        .env("HOME", project.home())
        .env("RUNWRIGHT_GITLAB_TOKEN", "glpat-t0ken-of-user")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The server answers only after the last request has arrived, including those for both branches of the merge
    // request.
    wait_until("all requests", || gitlab.total() >= 7);
    held.release();
    Done::from(child.wait_with_output().unwrap()).expect_code(0);
}

#[test]
fn includes_use_variables_from_gitlab() {
    let gitlab = gitlab();
    let on_server = gitlab.project(PATH);
    on_server
        .variable(Variable::new("FILE", "ci/one.yml"))
        .variable(Variable::new("SCOPED", "x").scope("production"));
    let project = checkout(&gitlab);
    project.write("ci/one.yml", "of-file: {script: make}\n");
    project.write("ci/two.yml", "of-rule: {script: make}\n");
    project.write(
        ".gitlab-ci.yml",
        "include:\n  - local: $FILE\n  - {local: ci/two.yml, rules: [{if: $SAFE && $SCOPED == null}]}\n",
    );
    let done = run(&project, &["list"]).expect_code(0);
    assert_eq!(done.stdout, "of-file  test\nof-rule  test\n");
}

#[test]
fn gitlab_below_a_path_is_queried_there() {
    let gitlab = GitLab::setup().below("/git").start();
    gitlab.token("glpat-t0ken-of-user", &["read_api"]);
    let on_server = gitlab.project(PATH).private();
    on_server.commit(&[("README", "x")]);
    on_server.variable(Variable::new("OWN", "x"));
    let project = checkout(&gitlab);
    let done = run(&project, &["variables", "--gitlab", &gitlab.url()]).expect_code(0);
    done.expect_text("OWN = ");
}
