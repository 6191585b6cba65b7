//! The selection of jobs, and the payloads that executors receive.

use crate::create::push;
use crate::plans::{plan, plan_of, resolve, try_plan};
use executor_core::job::{JobId, StepWhen};
use executor_core::variable::JobVariable;
use pipeline::context::{ExternalVariable, PipelineContext};
use pipeline::plan::NeedsMode;
use pipeline::{PlannedJob, Selection};

const FILE: &str = "
stages: [build, test, deploy]
compile: {stage: build, script: x, artifacts: {paths: [app]}}
assets: {stage: build, script: x, artifacts: {paths: [css]}}
approve: {stage: build, script: x, when: manual}
unit: {stage: test, script: x, needs: [compile], parallel: 2}
site: {stage: test, script: x, needs: [{job: assets, artifacts: false}, compile]}
style: {stage: test, script: x, dependencies: [assets]}
ship: {stage: deploy, script: x}
";

fn check(jobs: &[&str], stages: &[&str], needs: NeedsMode, expect: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let selection = Selection {
        jobs: owned(jobs),
        stages: owned(stages),
        needs,
        ..Selection::default()
    };
    let plan = plan_of(FILE, &selection);
    let names: Vec<&str> = plan.jobs().iter().map(PlannedJob::name).collect();
    assert_eq!(names, expect, "choosing {selection:?}");
}

#[test]
fn a_selection_includes_needed_jobs() {
    // R-PIPE-17
    use NeedsMode::{With, Without};
    check(&["unit"], &[], With, &["compile", "unit 1/2", "unit 2/2"]);
    check(&["unit 2/2"], &[], Without, &["unit 2/2"]);
    check(&["site"], &[], With, &["compile", "assets", "site"]);
    check(&["style"], &[], With, &["assets", "style"]);
    check(&[], &["deploy"], Without, &["ship"]);
    let all = [
        "compile", "assets", "unit 1/2", "unit 2/2", "site", "style", "ship",
    ];
    check(&[], &["deploy"], With, &all);
    check(
        &["approve", "ship"],
        &["build"],
        Without,
        &["compile", "assets", "approve", "ship"],
    );
}

#[test]
fn skipped_jobs_are_removed_from_needs() {
    let check = |jobs: &[&str], skip: &[&str], expect: &[&str], told: &[(&str, &[&str])]| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let selection = Selection {
            jobs: owned(jobs),
            skip: owned(skip),
            ..Selection::default()
        };
        let plan = plan_of(FILE, &selection);
        let names: Vec<&str> = plan.jobs().iter().map(PlannedJob::name).collect();
        assert_eq!(names, expect, "choosing {selection:?}");
        let skipped: Vec<_> = plan.skipped().iter().collect();
        let skipped = skipped
            .iter()
            .map(|it| (it.name.as_str(), it.needed_by.clone()));
        let told = told.iter().map(|&(name, by)| (name, owned(by)));
        assert_eq!(
            skipped.collect::<Vec<(_, Vec<String>)>>(),
            told.collect::<Vec<_>>(),
            "choosing {selection:?}"
        );
        let missing = plan
            .jobs()
            .iter()
            .flat_map(|job| job.needs.iter().flatten());
        assert!(missing.into_iter().all(|&at| at < names.len()));
    };
    let all_but_tests = ["compile", "assets", "approve", "ship"];
    check(
        &[],
        &["unit", "s[it][ty]*e"],
        &all_but_tests,
        &[
            ("unit 1/2", &[]),
            ("unit 2/2", &[]),
            ("site", &[]),
            ("style", &[]),
        ],
    );
    check(
        &["unit"],
        &["compile"],
        &["unit 1/2", "unit 2/2"],
        &[("compile", &["unit 1/2", "unit 2/2"])],
    );
    // Jobs that only a skipped job needs are not included.
    check(
        &["style"],
        &["assets"],
        &["style"],
        &[("assets", &["style"])],
    );
    check(
        &["unit"],
        &["unit 1/2"],
        &["compile", "unit 2/2"],
        &[("unit 1/2", &[])],
    );
    check(&["style"], &["ship"], &["assets", "style"], &[]);
    check(&["style"], &["style"], &[], &[("style", &[])]);
}

#[test]
fn a_glob_does_not_start_manual_jobs() {
    let played = |jobs: &[&str], manual: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let selection = Selection {
            jobs: owned(jobs),
            manual: owned(manual),
            ..Selection::default()
        };
        let plan = plan_of(FILE, &selection);
        plan.jobs()[plan.position("approve").unwrap()].is_played
    };
    assert!(!played(&["a*"], &[]));
    assert!(played(&["a*"], &["app*"]));
    assert!(played(&["approve"], &[]));
}

#[test]
fn selectors_without_matches_are_refused() {
    let check = |selection: Selection, expect: &str| {
        let refused = try_plan(&resolve(FILE), push(), &selection).unwrap_err();
        assert_eq!(refused.to_string(), expect);
        let unknown = selection.check(&resolve(FILE)).unwrap_err();
        assert_eq!(unknown.to_string(), expect);
    };
    let names = |text: &str| vec![text.to_owned()];
    let expect = "there is no job `stile`; did you mean `style`?";
    check(
        Selection {
            jobs: names("stile"),
            ..Selection::default()
        },
        expect,
    );
    let expect = "there is no job `shop`; did you mean `ship`?";
    check(
        Selection {
            skip: names("shop"),
            ..Selection::default()
        },
        expect,
    );
    let expect = "no job matches `x?*`";
    check(
        Selection {
            manual: names("x?*"),
            ..Selection::default()
        },
        expect,
    );
}

#[test]
fn instances_are_selected_one_by_one_or_together() {
    // R-PIPE-17
    const MATRIX: &str = "
build: {script: x, parallel: {matrix: [{OS: [linux, mac], ARCH: arm}]}}
test: {stage: deploy, script: x, parallel: 2, needs: ['build: [mac, arm]']}
";
    let check = |jobs: &[&str], stages: &[&str], expect: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let selection = Selection {
            jobs: owned(jobs),
            stages: owned(stages),
            ..Selection::default()
        };
        let plan = plan_of(MATRIX, &selection);
        let names: Vec<&str> = plan.jobs().iter().map(PlannedJob::name).collect();
        assert_eq!(names, expect, "choosing {selection:?}");
    };
    check(&["build: [linux, arm]"], &[], &["build: [linux, arm]"]);
    check(
        &["build"],
        &[],
        &["build: [linux, arm]", "build: [mac, arm]"],
    );
    check(&["test 2/2"], &[], &["build: [mac, arm]", "test 2/2"]);
    let brought = ["build: [mac, arm]", "test 1/2", "test 2/2"];
    check(&[], &["deploy"], &brought);
    check(&["build: [mac, arm]"], &["deploy"], &brought);
}

#[test]
fn a_named_manual_job_runs() {
    let plays = |selection: &Selection| {
        let plan = plan_of(FILE, selection);
        plan.jobs()[plan.position("approve").unwrap()].is_played
    };
    let by_name = Selection {
        jobs: vec!["approve".to_owned()],
        ..Selection::default()
    };
    let as_manual = Selection {
        manual: vec!["approve".to_owned()],
        ..Selection::default()
    };
    assert!(!plays(&Selection::default()));
    assert!(plays(&by_name));
    assert!(plays(&as_manual));
}

#[test]
fn manual_jobs_run_beside_the_selected_ones() {
    let check = |jobs: &[&str], needs: NeedsMode, expect: &[&str]| {
        let selection = Selection {
            jobs: jobs.iter().map(|&name| name.to_owned()).collect(),
            manual: vec!["approve".to_owned()],
            needs,
            ..Selection::default()
        };
        let plan = plan_of(FILE, &selection);
        let names: Vec<&str> = plan.jobs().iter().map(PlannedJob::name).collect();
        assert_eq!(names, expect, "choosing {selection:?}");
        assert!(plan.jobs()[plan.position("approve").unwrap()].is_played);
    };
    check(&["style"], NeedsMode::With, &["assets", "approve", "style"]);
    check(&["style"], NeedsMode::Without, &["approve", "style"]);
    check(&["style"], NeedsMode::Only, &["assets", "approve"]);
    let all = [
        "compile", "assets", "approve", "unit 1/2", "unit 2/2", "site", "style", "ship",
    ];
    check(&[], NeedsMode::With, &all);
}

#[test]
fn unknown_names_are_refused_with_a_suggestion() {
    let error = |selection: &Selection| {
        let plan = try_plan(&resolve(FILE), PipelineContext::default(), selection);
        plan.unwrap_err().to_string()
    };
    let job = Selection {
        jobs: vec!["complie".to_owned()],
        ..Selection::default()
    };
    assert_eq!(
        error(&job),
        "there is no job `complie`; did you mean `compile`?"
    );
    let stage = Selection {
        stages: vec!["nowhere".to_owned()],
        ..Selection::default()
    };
    assert_eq!(error(&stage), "there is no stage `nowhere`");
    let manual = Selection {
        manual: vec!["Approve".to_owned()],
        ..Selection::default()
    };
    assert_eq!(
        error(&manual),
        "there is no job `Approve`; did you mean `approve`?"
    );
}

#[test]
fn artifacts_come_from_needs_or_dependencies_or_earlier_stages() {
    let plan = plan(FILE);
    let check = |job: &str, expect: &[&str]| {
        let payload = plan.payload(plan.position(job).unwrap());
        let names: Vec<&str> = payload
            .dependencies
            .iter()
            .map(|d| d.name.as_str())
            .collect();
        assert_eq!(names, expect, "of {job}");
    };
    check("compile", &[]);
    check("unit 1/2", &["compile"]);
    check("site", &["compile"]);
    check("style", &["assets"]);
    check("ship", &["compile", "assets"]);
}

#[test]
fn a_pipeline_with_only_pre_and_post_is_not_created() {
    let plan = plan("a: {stage: .pre, script: x}\nb: {stage: .post, script: x}\n");
    assert!(plan.is_empty());
}

#[test]
fn the_payload_is_like_that_of_a_gitlab() {
    let text = "
variables: {WHO: world, RAW: {value: $WHO, expand: false}}
test:
  image: {name: alpine, docker: {user: '1'}}
  before_script: [prepare]
  script: [run, 'echo $GREETING']
  after_script: [tidy]
  timeout: 10 minutes
  variables: {GREETING: 'hello $WHO$UNKNOWN'}
  artifacts: {paths: [out], expire_in: 1 day, reports: {junit: r.xml}}
";
    let context = PipelineContext {
        first_job_id: 100,
        external: vec![
            ExternalVariable::of_pipeline(JobVariable::public("WHO", "you")),
            ExternalVariable::of_secret(JobVariable::masked("TOKEN", "s3cret$WHO")),
        ],
        ..PipelineContext::default()
    };
    let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
    let job = plan.payload(0);
    assert_eq!(job.id, JobId(100));
    assert_eq!(job.runner_info.timeout, 600);
    assert_eq!(job.steps[0].script, ["prepare", "run", "echo $GREETING"]);
    assert_eq!(
        (job.steps[1].when, job.steps[1].allow_failure),
        (StepWhen::Always, true)
    );
    assert_eq!(job.image.executor_opts.docker.unwrap()["user"], "1");
    let kinds: Vec<&str> = job
        .artifacts
        .iter()
        .map(|a| a.artifact_type.as_str())
        .collect();
    assert_eq!(kinds, ["archive", "junit"]);
    let value = |name: &str| {
        let mut variables = job.variables.iter();
        variables.find(|variable| variable.key == name).unwrap()
    };
    assert_eq!(value("GREETING").value, "hello you$UNKNOWN");
    assert_eq!(value("RAW").value, "$WHO");
    assert!(value("RAW").raw);
    assert_eq!(value("TOKEN").value, "s3cret$WHO");
    assert!(value("TOKEN").masked);
    assert_eq!(value("CI_JOB_NAME").value, "test");
    assert_eq!(job.definition.unwrap().name, "test");
}

#[test]
fn variables_that_refer_to_each_other_are_refused_when_planning() {
    let text = "a: {script: x, variables: {A: $B, B: $A}}\n";
    let context = PipelineContext::default();
    let error = try_plan(&resolve(text), context, &Selection::default()).unwrap_err();
    let expect = "`a`: the variables refer to each other in a cycle: A -> B -> A";
    assert_eq!(error.to_string(), expect);
}

#[test]
fn directories_of_jobs_have_safe_unique_names() {
    let plan = plan("x/../../x: {script: x}\nx: {script: x}\n\"🦀\": {script: x}\n");
    let slugs: Vec<&str> = plan.jobs().iter().map(|job| job.slug.as_str()).collect();
    assert!(
        slugs
            .iter()
            .all(|slug| !slug.contains(['.', '/']) && slug.is_ascii())
    );
    assert_eq!(slugs[1], "x");
    assert_ne!(slugs[0], "x");
}

#[test]
fn a_set_of_jobs_limits_the_selection_but_not_its_needs() {
    const SET: &str = "
build: {stage: build, script: x}
other: {stage: build, script: x}
unit: {stage: test, script: x, needs: [build]}
lint: {stage: test, script: x, needs: []}
ship: {stage: deploy, script: x, when: manual, needs: [unit]}
";
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let check =
        |jobs: &[&str], stages: &[&str], needs: NeedsMode, among: &[&str], expect: &[&str]| {
            let selection = Selection {
                jobs: owned(jobs),
                stages: owned(stages),
                needs,
                among: Some(among.iter().map(|&name| name.to_owned()).collect()),
                ..Selection::default()
            };
            let plan = plan_of(SET, &selection);
            let names: Vec<&str> = plan.jobs().iter().map(PlannedJob::name).collect();
            assert_eq!(names, expect, "choosing {selection:?}");
        };
    let (with, without) = (NeedsMode::With, NeedsMode::Without);
    check(&[], &[], with, &[], &[]);
    check(
        &[],
        &[],
        with,
        &["unit", "lint"],
        &["build", "unit", "lint"],
    );
    check(&[], &[], without, &["unit", "lint"], &["unit", "lint"]);
    check(&["unit"], &[], with, &["lint"], &[]);
    check(&["unit"], &["test"], with, &["unit"], &["build", "unit"]);
    check(&["ship"], &[], without, &["ship"], &["ship"]);
    let ship = Selection {
        jobs: owned(&["ship"]),
        among: Some([].into()),
        ..Selection::default()
    };
    assert!(plan_of(SET, &ship).is_empty());
}

#[test]
fn steps_are_unchanged_and_inherit_no_script() {
    let text = "
default: {before_script: [prepare], after_script: [tidy], image: app}
job: {run: [{name: a, script: 'echo ${{ vars.WHO }} $WHO'}]}
";
    let context = PipelineContext::default();
    let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
    let job = plan.payload(0);
    assert_eq!(
        job.run,
        r#"[{"name":"a","script":"echo ${{ vars.WHO }} $WHO"}]"#
    );
    assert!(
        job.steps.iter().all(|step| step.script.is_empty()),
        "{job:?}"
    );
    assert_eq!(job.image.name, "app");
}
