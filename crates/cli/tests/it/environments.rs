//! Environments: deployments and how they are stopped.

use crate::project::Project;
use serde_json::Value;

const PIPELINE: &str = "
stages: [deploy, stop]
deploy:
  stage: deploy
  script: [echo PORT=81 > deploy.env]
  artifacts: {reports: {dotenv: deploy.env}}
  environment:
    name: review/$CI_COMMIT_REF_NAME
    url: https://$CI_ENVIRONMENT_SLUG.example:$PORT
    on_stop: stop it
    auto_stop_in: 1 week
stop it:
  stage: stop
  when: manual
  script: ['echo stopping $CI_ENVIRONMENT_NAME at $CI_COMMIT_REF_NAME']
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
plain:
  stage: deploy
  script: ['exit $CODE']
  environment: {name: production}
  allow_failure: true
";

fn environments(project: &Project) -> Vec<Value> {
    let done = project
        .runwright(&["environments", "--json"])
        .expect_code(0);
    serde_json::from_str(&done.stdout).unwrap()
}

fn states(project: &Project) -> Vec<String> {
    let summary = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap().to_owned();
        format!("{} {}", text("name"), text("state"))
    };
    environments(project).iter().map(summary).collect()
}

#[test]
fn environments_are_listed_and_stopped() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["environments"]).expect_code(0);
    assert_eq!(done.stderr, "nothing has been deployed yet\n");
    let run = |code: &str| {
        let code = format!("CODE={code}");
        project
            .runwright(&["run", "--variable", &code])
            .expect_code(0)
    };
    run("1");
    assert_eq!(states(&project), ["review/main available"]);
    run("0");
    let all = environments(&project);
    assert_eq!(
        states(&project),
        ["production available", "review/main available"]
    );
    assert_eq!(all[0]["deployment"]["pipeline"], 2);
    let url = all[1]["url"].as_str().unwrap();
    let slug = all[1]["slug"].as_str().unwrap();
    assert!(slug.starts_with("review-main-"), "{slug}");
    assert_eq!(url, format!("https://{slug}.example:81"));
    assert!(all[1]["auto_stop_at"].is_string());
    let table = project.runwright(&["environments"]).expect_code(0).stdout;
    assert!(
        table.contains("review/main  available  development  run 2, deploy  in "),
        "{table}"
    );

    // Another branch is checked out now.
    project.git(&["checkout", "-q", "-b", "other"]);
    let words = ["environments", "stop", "review/main", "review/main"];
    let done = project.runwright(&words).expect_code(0);
    assert_eq!(done.stdout.matches("stop it | success").count(), 1);
    assert!(
        done.stdout.contains("stopping review/main at main"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("plain"), "{}", done.stdout);
    done.expect_text("review/main is stopped");
    assert_eq!(states(&project)[1], "review/main stopped");
    project
        .runwright(&words)
        .expect_code(0)
        .expect_text("already been stopped");
    let words = ["environments", "stop", "production"];
    project.runwright(&words).expect_code(0);
    assert_eq!(states(&project)[0], "production stopped");
    let words = ["environments", "stop", "nowhere"];
    project
        .runwright(&words)
        .expect_code(2)
        .expect_text("there is no environment \"nowhere\"");
    project.runwright(&["environments", "stop"]).expect_code(2);
}

#[test]
fn expired_environment_is_reported_and_stopped() {
    let project = Project::with_pipeline(&PIPELINE.replace("1 week", "1 second"));
    // The run contains only the selected job, which deploys.
    project.runwright(&["run", "deploy"]).expect_code(0);
    crate::project::wait_until("its time", || {
        let done = project.runwright(&["history"]).expect_code(0);
        done.stderr
            .contains("environments due to stop: review/main")
    });
    let done = project.runwright(&["environments", "stop", "--due"]);
    let done = done.expect_code(0);
    assert!(!done.stderr.contains("due to stop"), "{}", done.stderr);
    assert!(
        done.stdout.contains("stopping review/main at main"),
        "{}",
        done.stdout
    );
    assert_eq!(states(&project), ["review/main stopped"]);
    project
        .runwright(&["environments", "stop", "--due"])
        .expect_code(0)
        .expect_text("no environment is due");
}

#[test]
fn damaged_list_is_reported() {
    let project = Project::with_pipeline(PIPELINE);
    project.runwright(&["run", "deploy"]).expect_code(0);
    let projects = std::fs::read_dir(project.home().join("projects")).unwrap();
    let list = projects
        .flatten()
        .next()
        .unwrap()
        .path()
        .join("environments.json");
    std::fs::write(&list, "nonsense").unwrap();
    project
        .runwright(&["environments"])
        .expect_code(3)
        .expect_text("correct the file, or remove it");
    project.runwright(&["history"]).expect_code(0);
    // A damaged list does not fail the job.
    project.runwright(&["run", "deploy"]).expect_code(0);
}
