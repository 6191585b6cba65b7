//! The jobs of a pipeline, and the effects of its rules.

use super::{created, given, push};
use crate::plans::{resolve, try_plan};
use executor_core::job::{JobDefinition, When};
use executor_core::variable::JobVariable;
use pipeline::context::{Commit, ExternalVariable, PipelineContext};
use pipeline::create::RefusalReason;
use pipeline::repository::{KnownRepository, RepositoryError};
use pipeline::{Selection, create};

#[test]
fn a_rule_changes_when_allow_failure_variables_and_needs() {
    // R-PIPE-20
    let text = "
a: {script: x}
b: {script: x}
c:
  script: x
  needs: [a]
  allow_failure: {exit_codes: 3}
  variables: {V: own}
  rules:
    - if: $CI_COMMIT_BRANCH == 'main'
      when: delayed
      start_in: 5 minutes
      allow_failure: true
      variables: {V: ruled, W: new}
      needs: [b]
";
    let creation = created(text, &push());
    let job = creation.job("c").unwrap();
    let is = &job.definition;
    assert_eq!(is.when, When::Delayed);
    assert_eq!(is.start_in.as_deref(), Some("5 minutes"));
    assert_eq!(
        (is.allow_failure, &is.allow_failure_exit_codes),
        (true, &None)
    );
    assert_eq!(is.needs.as_ref().unwrap()[0].job, "b");
    let variables = creation.complete(job).variables;
    assert_eq!((&*variables["V"], &*variables["W"]), ("ruled", "new"));
}

#[test]
fn tags_are_expanded_when_the_pipeline_is_created() {
    let text = "
variables: {ARCH: arm}
a:
  script: x
  tags: [$ARCH, $SIZE, $NO, $SECRET]
  environment: review/$CI_COMMIT_REF_NAME/$NESTED
  rules: [{if: $CI_COMMIT_BRANCH, variables: {SIZE: big}}]
";
    let context = given(vec![
        ExternalVariable::of_pipeline(JobVariable::masked("SECRET", "s3cret")),
        ExternalVariable::of_pipeline(JobVariable::public("NESTED", "in-$SECRET")),
    ]);
    let creation = created(text, &context);
    let job = creation.job("a").unwrap();
    let tags = |definition: &JobDefinition| definition.tags.clone().unwrap().join(" ");
    assert_eq!(tags(&creation.complete(job)), "arm big $NO s3cret");
    let shown = creation.shown(job);
    assert_eq!(tags(&shown), "arm big $NO [MASKED]");
    assert_eq!(shown.environment.unwrap().name, "review/main/[MASKED]");
}

#[test]
fn rules_are_evaluated_after_expansion_and_before_planning() {
    // R-PIPE-18 R-PIPE-19
    let text = "
build:
  script: x
  parallel: {matrix: [{OS: [linux, mac]}]}
  rules: [{if: $OS == 'mac', exists: [Makefile]}]
";
    let repository = KnownRepository {
        files: ["Makefile".to_owned()].into(),
        ..KnownRepository::default()
    };
    // The rules use values of the matrix, the situation's variables and the project's files.
    let creation = create(&resolve(text), &push(), &repository);
    let names: Vec<&str> = creation.included().iter().map(|job| job.name()).collect();
    assert_eq!(names, ["build: [mac]"]);
    // Jobs that they exclude are not planned.
    let plan = pipeline::Plan::new(&creation, push(), &Selection::default()).unwrap();
    assert_eq!(plan.jobs().len(), 1);
}

#[test]
fn all_problems_of_a_pipeline_are_reported() {
    let text = "
a: {script: x, rules: [{if: $NO}]}
b: {script: x, needs: [a]}
c: {script: x, needs: [a, {job: a, optional: true}]}
d: {script: x, variables: {X: $Y, Y: $X}}
e: {script: x, rules: [{changes: {paths: [x], compare_to: gone}}]}
";
    let text = text.replace(", {job: a, optional: true}", "");
    let creation = created(&text, &push());
    let refusal = creation.refusal.unwrap();
    assert_eq!(refusal.reason, RefusalReason::SeedError);
    // At the ref, at the entries of `needs`, and at the variable.
    let places = refusal.problems.iter().map(|problem| {
        let span = problem.span.expect("every problem has a location");
        (span.line, span.column)
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        [(6, 59), (3, 24), (4, 24), (5, 28)]
    );
    assert!(refusal.problems[0].message.contains("gone"));
    assert!(
        refusal.problems[1]
            .help
            .as_deref()
            .unwrap()
            .contains("optional")
    );
}

#[test]
fn the_repository_is_not_used_without_need() {
    #[derive(Debug)]
    struct Untouched;
    impl pipeline::repository::Repository for Untouched {
        fn changed_files(&self) -> Result<Option<pipeline::repository::Paths>, RepositoryError> {
            panic!("changes were requested")
        }
        fn changed_since(
            &self,
            _reference: &str,
        ) -> Result<pipeline::repository::Paths, RepositoryError> {
            panic!("changes were requested")
        }
        fn files(&self) -> Result<pipeline::repository::Paths, RepositoryError> {
            panic!("files were requested")
        }
        fn files_of(
            &self,
            _project: &str,
            _reference: Option<&str>,
        ) -> Result<pipeline::repository::Paths, RepositoryError> {
            panic!("files were requested")
        }
        fn blob_id(&self, _path: &str) -> Result<Option<String>, RepositoryError> {
            panic!("a file was requested")
        }
        fn last_commit_of(&self, _path: &str) -> Result<Option<String>, RepositoryError> {
            panic!("a file was requested")
        }
    }
    let text = "a: {script: x, rules: [{if: $NO, changes: [x], exists: [y]}, {when: always}]}\n";
    let creation = create(&resolve(text), &push(), &Untouched);
    assert_eq!(creation.included().len(), 1);
}

#[test]
fn a_commit_can_skip_its_pipeline_unless_jobs_are_selected() {
    let skips = |source: &str| {
        let context = PipelineContext {
            source: source.to_owned(),
            commit: Commit {
                message: "wip [skip ci]".to_owned(),
                ..push().commit
            },
            ..push()
        };
        created("a: {script: x}\n", &context).is_skipped
    };
    assert!(skips("push"));
    assert!(!skips("web"));
    assert!(!skips("merge_request_event"));
}

#[test]
fn a_selected_job_that_rules_exclude_is_refused_with_the_reason() {
    let text = "
a: {script: x}
b: {script: x, rules: [{if: $NO}]}
c: {script: x, rules: [{when: never}]}
d: {script: x, except: [main]}
";
    let refused = |job: &str| {
        let selection = Selection {
            jobs: vec![job.to_owned()],
            ..Selection::default()
        };
        let plan = try_plan(&resolve(text), push(), &selection);
        plan.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("b"), @"the pipeline does not have the job `b`: none of its rules matches; see `runwright explain`");
    insta::assert_snapshot!(refused("c"), @"the pipeline does not have the job `c`: its rule 1 matches with `when: never`; see `runwright explain`");
    insta::assert_snapshot!(refused("d"), @"the pipeline does not have the job `d`: its `only` or `except` excludes it; see `runwright explain`");
}

#[test]
fn selected_jobs_that_cannot_run_here_are_refused() {
    let text = "t: {needs: {pipeline: group/other}}\na: {script: x}\n";
    let check = |jobs: &[&str]| {
        let selection = Selection {
            jobs: jobs.iter().map(|&job| job.to_owned()).collect(),
            ..Selection::default()
        };
        let plan = try_plan(&resolve(text), push(), &selection).unwrap();
        plan.check_local().map_err(|error| error.to_string())
    };
    assert_eq!(check(&["a"]), Ok(()));
    let refused = check(&[]).unwrap_err();
    assert!(
        refused.starts_with("`t` cannot run here: `needs:pipeline`:"),
        "{refused}"
    );
}

#[test]
fn a_job_with_an_invalid_variable_name_cannot_run_here() {
    let text = "
variables: {'G=': 1}
a: {script: x, variables: {'A=B': 1}}
b: {script: x, inherit: {variables: false}}
c: {script: x}
";
    let check = |job: &str| {
        let selection = Selection {
            jobs: vec![job.to_owned()],
            ..Selection::default()
        };
        let plan = try_plan(&resolve(text), push(), &selection).unwrap();
        plan.check_local().map_err(|error| error.to_string())
    };
    assert_eq!(check("b"), Ok(()));
    let refused = check("a").unwrap_err();
    assert!(refused.contains("\"A=B\" contains `=`"), "{refused}");
    assert!(check("c").unwrap_err().contains("\"G=\""));
}

#[test]
fn the_workflow_rule_sets_auto_cancel_and_variables() {
    // R-GLCI-158
    let text = "
variables: {V: root}
workflow:
  name: '  $V of $CI_COMMIT_BRANCH $NO '
  auto_cancel: {on_new_commit: conservative, on_job_failure: all}
  rules:
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH
      variables: {V: flow}
      auto_cancel: {on_new_commit: none}
a: {script: x}
";
    let creation = created(text, &push());
    assert_eq!(creation.workflow_rule, Some(1));
    assert_eq!(creation.name.as_deref(), Some("flow of main"));
    let cancelled = serde_json::to_value(creation.auto_cancel).unwrap();
    let expect = serde_json::json!({"on_new_commit": "none", "on_job_failure": "all"});
    assert_eq!(cancelled, expect);
}
