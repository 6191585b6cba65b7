//! Jobs that start child and downstream pipelines.

use crate::project::{Project, files_below};
use serde_json::Value;
use std::fs;

/// Returns the events of a run as JSON.
fn events(project: &Project, arguments: &[&str]) -> Vec<Value> {
    let all = [&["run", "--progress", "json"], arguments].concat();
    let done = project.runwright(&all);
    let events = done.stdout.lines();
    events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn children_run_nested_two_deep_and_no_deeper() {
    // R-GLCI-45
    let project = Project::with_pipeline(
        "variables: {TOP: top}
deploy:
  variables: {WHAT: \"$TOP of $CI_JOB_NAME\", UP: $CI_PIPELINE_ID}
  trigger: {include: ci/child.yml, strategy: depend}
",
    );
    project.write(
        "ci/child.yml",
        "build:\n  script:\n    - echo \"got $WHAT from $CI_PIPELINE_SOURCE below $CI_UPSTREAM_PIPELINE_ID=$UP\"
again:\n  trigger: {include: ci/grandchild.yml, strategy: depend}\n",
    );
    project.write(
        "ci/grandchild.yml",
        "build:\n  script: [echo at the bottom]\ndeeper:\n  allow_failure: true\n  trigger: {include: ci/child.yml}\n",
    );
    project.commit();
    let done = project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("deploy > build")
        .expect_text("got top of deploy from parent_pipeline below 1=1")
        .expect_text("deploy > again > build")
        .expect_text("reached_max_descendant_pipelines_depth")
        .expect_text("child pipelines are nested more than 2 levels deep")
        .expect_text("ci/grandchild.yml:5:");
    assert!(
        done.stdout.contains("below deploy: pipeline 2: success"),
        "{done:?}"
    );
    assert!(
        done.stdout
            .contains("below deploy > again: pipeline 3: success"),
        "{done:?}"
    );
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn failed_child_fails_the_parent_job_that_depends_on_it() {
    let child = "unit:\n  script: [echo broken, exit 3]\n";
    let run = |strategy: &str, code: i32| {
        let project = Project::with_pipeline(&format!(
            "deploy:\n  trigger: {{include: child.yml{strategy}}}\nafter:\n  stage: deploy\n  script: [echo went on]\n"
        ));
        project.write("child.yml", child);
        project.runwright(&["run"]).expect_code(code)
    };
    let followed = run(", strategy: depend", 1);
    let text = followed.all();
    assert!(
        text.contains("deploy > unit failed in stage test with exit code 3"),
        "{text}"
    );
    assert!(
        text.contains("deploy failed in stage test: downstream_pipeline_failed"),
        "{text}"
    );
    assert!(!text.contains("went on"), "{text}");
    let left = run("", 0);
    let text = left.all();
    assert!(
        text.contains("deploy > unit failed in stage test with exit code 3"),
        "{text}"
    );
    assert!(
        text.contains("below deploy: pipeline 2: failed (1 failed)"),
        "{text}"
    );
    assert!(text.contains("went on"), "{text}");
}

#[test]
fn child_is_generated_from_artifacts_and_receives_those_of_its_ancestors() {
    let project = Project::with_pipeline(
        r#"make:
  stage: build
  script:
    - 'printf "one:\n  script: [cat data.txt]\n  needs: [{pipeline: \$UP, job: make}]\n" > gen.yml'
    - echo from above > data.txt
    - echo VERSION=1.2 > out.env
  artifacts: {paths: [gen.yml, data.txt], reports: {dotenv: out.env}}
child:
  stage: test
  variables: {UP: $CI_PIPELINE_ID, RELEASE: "v$VERSION"}
  trigger:
    include:
      - {artifact: gen.yml, job: make}
      - local: more.yml
    strategy: mirror
"#,
    );
    project.write("more.yml", "two:\n  script: ['echo release $RELEASE']\n");
    project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("from above")
        .expect_text("release v1.2");
}

#[test]
fn mistakes_in_a_child_file_are_shown_in_the_log_of_the_parent_job() {
    let project = Project::with_pipeline(
        "bad:\n  trigger: {include: bad.yml}\nnone:\n  trigger: {include: missing.yml}\nempty:\n  trigger: {include: empty.yml}\n",
    );
    project.write("bad.yml", "unit:\n  script: [x]\n  scrip: [y]\n");
    project.write(
        "empty.yml",
        "unit:\n  script: [x]\n  rules: [{if: $NEVER}]\n",
    );
    let done = project.runwright(&["run"]).expect_code(1);
    let text = done.all();
    assert!(text.contains("bad.yml:3:3"), "{text}");
    assert!(text.contains("missing.yml"), "{text}");
    assert_eq!(
        text.matches("failed in stage test: downstream_pipeline_creation_failed")
            .count(),
        3,
        "{text}"
    );
}

#[test]
fn children_are_separate_runs_with_their_own_events() {
    let project = Project::with_pipeline(
        "bridge:\n  parallel: {matrix: [{OF: [a, b]}]}\n  trigger: {include: child.yml, strategy: depend}\n",
    );
    project.write("child.yml", "unit:\n  script: ['echo of $OF']\n");
    let events = events(&project, &[]);
    let begun: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "pipeline_started")
        .map(|event| (event["pipeline"].clone(), event["parent"]["job"].clone()))
        .collect();
    assert_eq!(begun.len(), 3, "{begun:?}");
    assert_eq!(begun[0].1, Value::Null);
    let mut parents: Vec<_> = begun[1..].iter().map(|(_, job)| job.to_string()).collect();
    parents.sort();
    assert_eq!(parents, ["\"bridge: [a]\"", "\"bridge: [b]\""]);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["pipeline"]),
        (&"pipeline_done".into(), &begun[0].0)
    );
    let records = files_below(&project.home());
    let records = records.iter().filter(|path| path.ends_with("run.json"));
    let with_parent = records.filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.contains("\"parent\"")
    });
    assert_eq!(with_parent.count(), 2);
}

#[test]
fn downstream_pipeline_runs_in_the_checkout_of_its_project() {
    let other = Project::with_pipeline(
        "spec:\n  inputs: {env: {default: none}}\n---\nship:\n  script:\n    - 'echo $[[ inputs.env ]] $CI_PIPELINE_SOURCE of $CI_PROJECT_PATH by $WHO; cat own.txt'\n",
    );
    other.write("own.txt", "its own file\n");
    other.commit();
    let pipeline = |branch: &str| {
        format!(
            "ship:\n  variables: {{WHO: me}}\n  trigger: {{project: group/other, strategy: depend{branch}, inputs: {{env: prod}}}}\n"
        )
    };
    let project = Project::with_pipeline(&pipeline(""));
    project
        .runwright(&["run"])
        .expect_code(1)
        .expect_text("downstream_bridge_project_not_found")
        .expect_text("config.toml: `\"group/other\" = ");
    let warning = "warning[not-local]: `trigger:project`: the job fails: the settings do not say";
    let lint = project.runwright(&["lint", "--strict"]).expect_code(0);
    let lint = lint
        .expect_text(warning)
        .expect_text(".gitlab-ci.yml:3:22\n");
    lint.expect_text("config.toml: `\"group/other\" = ");

    fs::create_dir_all(project.home()).unwrap();
    let checkout = other.dir();
    let settings = format!("[projects]\n\"group/other\" = \"{}\"\n", checkout.display());
    fs::write(project.home().join("config.toml"), settings).unwrap();
    let lint = project.runwright(&["lint"]).expect_code(0);
    assert!(!lint.all().contains(warning), "{lint:?}");
    let done = project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("prod pipeline of group/other by me")
        .expect_text("its own file")
        .expect_text("below ship, in group/other: pipeline ");
    assert_eq!(
        project.leftovers(),
        Vec::<std::path::PathBuf>::new(),
        "{done:?}"
    );

    project.write(".gitlab-ci.yml", &pipeline(", branch: elsewhere"));
    project
        .runwright(&["run"])
        .expect_code(1)
        .expect_text("expected the branch `elsewhere` of `group/other`")
        .expect_text("switch elsewhere");
}

#[test]
fn what_other_projects_give_can_be_left_out_with_a_warning() {
    let project = Project::with_pipeline(
        "build:\n  script: [echo built]\n  needs: [{project: group/lib, job: lib, ref: main, artifacts: true}]\n\
         ship: {trigger: {project: group/other}}\n\
         after: {script: [echo done], needs: [ship]}\n\
         child: {trigger: {include: ci/child.yml, strategy: depend}}\n",
    );
    project.write(
        "ci/child.yml",
        "job: {script: [echo in child]}\nfar: {trigger: {project: group/far}}\n",
    );
    project.commit();
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text("`build` cannot run here: `needs:project`")
        .expect_text("--ignore-other-projects runs without");
    let dry = project.runwright(&["run", "--ignore-other-projects", "--dry-run"]);
    dry.expect_code(0)
        .expect_text("warning: `ship` is left out");
    project
        .runwright(&["run", "--ignore-other-projects"])
        .expect_code(0)
        .expect_text("warning: `build` runs without the artifacts of `group/lib` that it needs")
        .expect_text("warning: `ship` is left out: the settings do not say where `group/other`")
        .expect_text("`far` is left out")
        .expect_text("built")
        .expect_text("done")
        .expect_text("in child");
}
