//! The context of jobs in a situation.

use crate::project::Project;
use pipeline::context::PipelineContext;
use workstation::{LocalError, PipelineOptions, SituationOptions};

fn context(project: &Project, situation: SituationOptions) -> (PipelineContext, Vec<String>) {
    let pipeline = project.situated(situation);
    let notes = pipeline.notes().unwrap();
    let notes = notes.into_iter().map(str::to_owned).collect();
    (pipeline.context().unwrap().clone(), notes)
}

fn value(context: &PipelineContext, name: &str) -> Option<String> {
    context.pipeline_variables().get(name).map(str::to_owned)
}

#[test]
fn tag_pipelines_have_the_tag_message() {
    let project = Project::new();
    project.git(&["tag", "-a", "v1", "-m", "One\n\nwith a body"]);
    project.git(&["tag", "light"]);
    let of_tag = |tag: &str| SituationOptions {
        tag: Some(tag.to_owned()),
        ..SituationOptions::default()
    };
    let (known, notes) = context(&project, of_tag("v1"));
    assert_eq!(value(&known, "CI_COMMIT_TAG").as_deref(), Some("v1"));
    assert_eq!(
        value(&known, "CI_COMMIT_TAG_MESSAGE").as_deref(),
        Some("One\n\nwith a body")
    );
    assert_eq!(value(&known, "CI_COMMIT_BRANCH"), None);
    assert_eq!(notes, [""; 0]);
    let (known, _) = context(&project, of_tag("light"));
    assert_eq!(value(&known, "CI_COMMIT_TAG_MESSAGE").as_deref(), Some(""));
    let (known, notes) = context(&project, of_tag("v2"));
    assert_eq!(value(&known, "CI_COMMIT_TAG").as_deref(), Some("v2"));
    assert_eq!(
        notes,
        ["there is no tag `v2`; it is simulated with the current commit"]
    );
    project.git(&["checkout", "-q", "--detach"]);
    let (known, _) = context(&project, SituationOptions::default());
    assert!(
        value(&known, "CI_COMMIT_TAG").is_some(),
        "a tag is checked out"
    );
}

#[test]
fn branches_are_simulated_with_the_current_commit() {
    let project = Project::new();
    let head = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "-q", "-b", "other"]);
    let other = project.commit("elsewhere");
    project.git(&["checkout", "-q", "main"]);
    let of_branch = |branch: &str| SituationOptions {
        branch: Some(branch.to_owned()),
        ..SituationOptions::default()
    };
    let (known, notes) = context(&project, of_branch("other"));
    assert_eq!(value(&known, "CI_COMMIT_BRANCH").as_deref(), Some("other"));
    assert_eq!(known.commit.sha, head);
    let expect = format!(
        "the branch `other` is at {}; it is simulated with the current commit",
        &other[..8]
    );
    assert_eq!(notes, [expect]);
    let (known, notes) = context(&project, of_branch("main"));
    assert_eq!(known.commit.ref_name, "main");
    assert_eq!(notes, [""; 0]);
}

#[test]
fn detached_commit_counts_for_the_default_branch() {
    let project = Project::new();
    project.commit("second");
    project.git(&["checkout", "-q", "--detach"]);
    let (known, notes) = context(&project, SituationOptions::default());
    assert_eq!(value(&known, "CI_COMMIT_BRANCH").as_deref(), Some("main"));
    assert_eq!(
        notes,
        [
            "no branch or tag is checked out; the pipeline is for `main` (--branch and --tag set \
             another)"
        ]
    );
}

#[test]
fn merge_requests_have_their_variables() {
    let project = Project::new();
    let base = project.git(&["rev-parse", "HEAD"]);
    project.git(&[
        "remote",
        "add",
        "origin",
        "https://gitlab.example/grp/app.git",
    ]);
    project.git(&["checkout", "-q", "-b", "feature"]);
    let head = project.commit("What it does\n\nand why");
    let situation = SituationOptions {
        merge_request: true,
        ..SituationOptions::default()
    };
    let (known, notes) = context(&project, situation);
    assert_eq!(notes, [""; 0]);
    let check = |name: &str, expect: Option<&str>| {
        assert_eq!(value(&known, name).as_deref(), expect, "of {name}");
    };
    check("CI_PIPELINE_SOURCE", Some("merge_request_event"));
    check("CI_COMMIT_BRANCH", None);
    check("CI_COMMIT_REF_NAME", Some("feature"));
    check("CI_COMMIT_SHA", Some(&head));
    check("CI_COMMIT_BEFORE_SHA", Some(&"0".repeat(40)));
    check("CI_MERGE_REQUEST_TITLE", Some("What it does"));
    check("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", Some("feature"));
    check("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", Some("main"));
    check("CI_MERGE_REQUEST_DIFF_BASE_SHA", Some(&base));
    check("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", Some("grp/app"));
    check("CI_MERGE_REQUEST_PROJECT_PATH", Some("grp/app"));
}

#[test]
fn options_set_source_and_default_branch() {
    let project = Project::new();
    let situation = SituationOptions {
        source: Some("schedule".to_owned()),
        default_branch: Some("trunk".to_owned()),
        ..SituationOptions::default()
    };
    let (known, _) = context(&project, situation);
    assert_eq!(
        value(&known, "CI_PIPELINE_SOURCE").as_deref(),
        Some("schedule")
    );
    assert_eq!(value(&known, "CI_DEFAULT_BRANCH").as_deref(), Some("trunk"));
    assert_eq!(value(&known, "CI_COMMIT_BRANCH").as_deref(), Some("main"));
    let situation = SituationOptions {
        source: Some("trigger".to_owned()),
        ..SituationOptions::default()
    };
    let (known, _) = context(&project, situation);
    assert_eq!(
        value(&known, "CI_PIPELINE_TRIGGERED").as_deref(),
        Some("true")
    );
}

#[test]
fn contradicting_options_are_refused_before_any_file_is_read() {
    let project = Project::new();
    let options = PipelineOptions {
        situation: SituationOptions {
            branch: Some("a".to_owned()),
            tag: Some("b".to_owned()),
            ..SituationOptions::default()
        },
        ..project.options()
    };
    let error = project.find().read(&options).expect_err("a contradiction");
    assert!(matches!(error, LocalError::Situation(_)), "{error}");
}
