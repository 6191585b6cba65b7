//! The evaluation and explanation of rules, `only` and `except`.

use pipeline::context::{Commit, PipelineContext, Project};
use pipeline::expression::Variables;
use pipeline::repository::{KnownRepository, Paths, Repository, RepositoryError};
use pipeline::{ResolvedJob, ResolvedPipeline};
use pipeline_insight::explain::RuleOutcome;

use pipeline::rules::{FileConditions, RuleContext, examine, first_match};
use std::sync::atomic::{AtomicUsize, Ordering};

const VARIABLES: [(&str, &str); 4] = [
    ("DIR", "src"),
    ("NESTED", "$DIR"),
    ("BASE", "main"),
    ("TOKEN", "s3cret"),
];

/// Variables with one secret.
struct Masking;

impl Variables for Masking {
    fn get(&self, name: &str) -> Option<&str> {
        Variables::get(&VARIABLES, name)
    }

    fn is_masked(&self, name: &str) -> bool {
        name == "TOKEN"
    }
}

fn paths(paths: &[&str]) -> Paths {
    paths.iter().map(|&path| path.to_owned()).collect()
}

fn repository() -> KnownRepository {
    KnownRepository {
        changed: Some(paths(&["README.md", "src/a.rs"])),
        files: paths(&[
            "src/a.rs",
            "README.md",
            "Dockerfile",
            "s3cret",
            "src/deep/b.toml",
        ]),
        changed_since: vec![("main".to_owned(), paths(&["old.md"]))],
        projects: vec![("group/other".to_owned(), paths(&["there"]))],
        ..KnownRepository::default()
    }
}

/// Reads a job named `job` with these lines.
fn job(lines: &str) -> ResolvedJob {
    let text = format!("job:\n  script: x\n  {}\n", lines.replace('\n', "\n  "));
    let checked = ResolvedPipeline::from_text("ci.yml", &text).into_result();
    let (pipeline, _) = checked.unwrap_or_else(|diagnostics| panic!("{text}\n{diagnostics}"));
    pipeline.jobs.into_iter().next().unwrap()
}

fn rules(lines: &str) -> ResolvedJob {
    job(&format!("rules:\n{lines}"))
}

fn context<'c>(files: &'c FileConditions<'c>) -> RuleContext<'c> {
    RuleContext {
        variables: &Masking,
        expanded: &Masking,
        files,
    }
}

/// Checks which rule is the first that matches, or the error.
fn check(lines: &str, expect: Result<Option<usize>, &str>) {
    check_in(&repository(), lines, expect);
}

fn check_in(repository: &dyn Repository, lines: &str, expect: Result<Option<usize>, &str>) {
    let job = rules(lines);
    let files = FileConditions::new(repository);
    let context = context(&files);
    let found = first_match(job.rules.entries(), &context);
    assert_eq!(
        found.as_ref().map_err(|error| &*error.message),
        expect.as_ref().map_err(|it| *it),
        "{lines}"
    );
    let verdicts = examine(job.rules.entries(), &context);
    let held = verdicts
        .iter()
        .position(|verdict| verdict.outcome == RuleOutcome::Held);
    assert_eq!(held, found.unwrap_or(None), "{lines}");
}

#[test]
fn the_first_matching_rule_decides() {
    // R-GLCI-161 R-GLCI-162
    check(
        "- if: $NO\n- if: $DIR\n  changes: ['*.txt']\n- exists: [Dockerfile]\n- when: manual",
        Ok(Some(2)),
    );
    check("- if: $NO", Ok(None));
    check("- when: always", Ok(Some(0)));
    check(
        "- if: $DIR == 'src'\n  changes: ['*.md']\n  exists: ['**/*.toml']",
        Ok(Some(0)),
    );
}

#[test]
fn changes_match_globs_and_unknown_changes() {
    check("- changes: ['$DIR/*.rs']", Ok(Some(0)));
    check("- changes: ['$NO/*']", Ok(None));
    check(
        "- changes: {paths: ['*.md'], compare_to: $BASE}",
        Ok(Some(0)),
    );
    check("- changes: {paths: ['*.rs'], compare_to: main}", Ok(None));
    let unknown = KnownRepository::default();
    check_in(&unknown, "- changes: ['*.none']", Ok(Some(0)));
    let nothing = KnownRepository {
        changed: Some(paths(&[])),
        ..KnownRepository::default()
    };
    check_in(&nothing, "- changes: ['**/*']", Ok(None));
}

#[test]
fn a_missing_ref_is_an_error_if_it_is_needed() {
    let words = "rules:changes:compare_to names `none`, which is not a branch, tag or commit here";
    let line = "- changes: {paths: [a], compare_to: none}";
    check(line, Err(words));
    check(&format!("- if: $DIR\n{line}"), Ok(Some(0)));
    check(&format!("- if: $NO\n  {}", &line[2..]), Ok(None));
    check(&format!("{line}\n- when: always"), Err(words));
}

#[test]
fn exists_checks_the_commit_or_another_project() {
    check("- exists: [Dockerfile]", Ok(Some(0)));
    check("- exists: [a.rs, '*.rs']", Ok(None));
    check("- exists: [src/]", Ok(Some(0)));
    check("- exists: [src]", Ok(None));
    check("- exists: ['src/**/*.toml']", Ok(Some(0)));
    check("- exists: ['$DIR/a.rs']", Ok(Some(0)));
    check(
        "- exists: {paths: [there], project: group/other}",
        Ok(Some(0)),
    );
    check(
        "- exists: {paths: [Dockerfile], project: group/other}",
        Ok(None),
    );
    let words = "rules:exists names the project `group/none`, which cannot be reached";
    check("- exists: {paths: [a], project: group/none}", Err(words));
}

#[test]
fn too_many_comparisons_count_as_a_match() {
    let many = |count: usize| (0..count).map(|at| format!("d/{at}")).collect::<Paths>();
    let of = |count| KnownRepository {
        changed: Some(many(count)),
        files: many(count),
        ..KnownRepository::default()
    };
    check_in(&of(25_000), "- changes: [a, b]", Ok(None));
    check_in(&of(25_001), "- changes: [a, b]", Ok(Some(0)));
    check_in(&of(25_001), "- exists: ['**/a', 'b*/x']", Ok(Some(0)));
    // Plain paths and globs for the root directory are not counted.
    check_in(&of(50_001), "- exists: [d/a, d/b]", Ok(None));
    check_in(&of(50_001), "- exists: ['a*']", Ok(None));
}

/// A repository that counts the requests.
#[derive(Debug, Default)]
struct Counting {
    inner: KnownRepository,
    asked: AtomicUsize,
}

impl Repository for Counting {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.changed_files()
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.changed_since(reference)
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.files()
    }

    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError> {
        self.inner.files_of(project, reference)
    }

    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.inner.blob_id(path)
    }

    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.inner.last_commit_of(path)
    }
}

#[test]
fn equal_conditions_are_evaluated_once() {
    let counting = Counting {
        inner: repository(),
        ..Counting::default()
    };
    let asking =
        rules("- changes: ['*.none']\n  exists: [none]\n- exists: [other]\n- exists: [none]");
    let files = FileConditions::new(&counting);
    for _ in 0..1000 {
        assert_eq!(
            first_match(asking.rules.entries(), &context(&files)),
            Ok(None)
        );
    }
    assert_eq!(counting.asked.load(Ordering::Relaxed), 2);
    let quick = rules("- if: $DIR\n- changes: [a]");
    let files = FileConditions::new(&counting);
    assert_eq!(
        first_match(quick.rules.entries(), &context(&files)),
        Ok(Some(0))
    );
    assert_eq!(counting.asked.load(Ordering::Relaxed), 2);
}

/// Returns the result of `examine` as lines.
fn shown(job: &ResolvedJob) -> String {
    let repository = repository();
    let files = FileConditions::new(&repository);
    let mut lines = Vec::new();
    for verdict in examine(job.rules.entries(), &context(&files)) {
        lines.push(format!("{:?}", verdict.outcome));
        for clause in verdict.clauses {
            let (kind, text, holds) = (clause.kind, clause.text, clause.holds);
            lines.push(format!("  {kind:?} {text}: {holds:?}"));
            lines.extend(clause.steps.iter().map(|step| format!("    {step}")));
            for used in clause.values {
                lines.push(format!("    {} = {:?}", used.name, used.value));
            }
            lines.extend(clause.note.map(|note| format!("    note: {note}")));
        }
    }
    lines.join("\n")
}

#[test]
fn an_examination_explains_each_condition() {
    let examined = shown(&rules(
        "- if: $TOKEN == 'x' || $NO\n\
         - changes: ['$DIR/*', '*.c']\n  exists: [$TOKEN]\n\
         - if: $BASE =~ /^m/\n  exists: {paths: [none], project: group/none}\n\
         - when: manual",
    ));
    assert!(!examined.contains("s3cret"));
    insta::assert_snapshot!(examined, @r#"
    Failed
      If $TOKEN == 'x' || $NO: Some(false)
        $TOKEN == 'x'   ([MASKED] == "x") is false
        $NO   is null
        TOKEN = Some("[MASKED]")
        NO = None
    Held
      Changes $DIR/*, *.c: Some(true)
        DIR = Some("src")
        note: `src/a.rs` matches `src/*`
      Exists $TOKEN: Some(true)
        TOKEN = Some("[MASKED]")
        note: a file matches
    NotReached
      If $BASE =~ /^m/: Some(true)
        $BASE =~ /^m/   ("main" =~ /^m/) is true
        BASE = Some("main")
      Exists none in group/none: None
        note: rules:exists names the project `group/none`, which cannot be reached
    NotReached
    "#);
}

#[test]
fn errors_in_conditions_mean_that_no_rule_matches() {
    let examined = shown(&rules(
        "- changes: {paths: [a], compare_to: none}\n\
         - when: always",
    ));
    insta::assert_snapshot!(examined, @"
    Unknown
      Changes a compared to none: None
        note: rules:changes:compare_to names `none`, which is not a branch, tag or commit here
    NotReached
    ");
}

fn pipeline(source: &str, ref_name: &str) -> PipelineContext {
    PipelineContext {
        source: source.to_owned(),
        commit: Commit {
            ref_name: ref_name.to_owned(),
            ..Commit::default()
        },
        project: Project {
            path: "group/project".to_owned(),
            ..Project::default()
        },
        ..PipelineContext::default()
    }
}

/// Checks whether this `only` keeps a job, and whether it excludes the job as `except`.
fn check_policy(pipeline: &PipelineContext, policy: &str, keeps: bool, excludes: bool) {
    let repository = repository();
    let files = FileConditions::new(&repository);
    let context = context(&files);
    let job = job(&format!("only: {policy}"));
    let only = job.only.as_ref().unwrap();
    assert_eq!(only.keeps(pipeline, &context), Ok(keeps), "only: {policy}");
    assert_eq!(
        only.excludes(pipeline, &context),
        Ok(excludes),
        "except: {policy}"
    );
    let clauses = only.examine(pipeline, &context);
    assert_eq!(
        clauses.iter().any(|clause| clause.holds == Some(true)),
        excludes,
        "{policy}"
    );
}

#[test]
fn refs_match_pipeline_sources_and_refs() {
    let branch = pipeline("push", "feature/x");
    for matching in [
        "branches",
        "push",
        "pushes",
        "feature/x",
        "/^feature/",
        "/^FEAT/i",
    ] {
        check_policy(&branch, &format!("['{matching}']"), true, true);
        check_policy(
            &branch,
            &format!("['{matching}@group/project']"),
            true,
            true,
        );
        check_policy(
            &branch,
            &format!("['{matching}@group/other']"),
            false,
            false,
        );
    }
    for other in [
        "tags",
        "feature",
        "merge_requests",
        "web",
        "/^x$/",
        "Branches",
    ] {
        check_policy(&branch, &format!("['{other}']"), false, false);
    }
    for (source, word) in [
        ("schedule", "schedules"),
        ("api", "apis"),
        ("chat", "chats"),
        ("external_pull_request_event", "external_pull_requests"),
        ("pipeline", "pipelines"),
        (
            "security_orchestration_policy",
            "security_orchestration_policies",
        ),
    ] {
        check_policy(&pipeline(source, "main"), &format!("[{word}]"), true, true);
    }
}

#[test]
fn ref_names_do_not_match_merge_requests() {
    let merge_request = pipeline("merge_request_event", "feature");
    check_policy(&merge_request, "[merge_requests]", true, true);
    check_policy(&merge_request, "[merge_request]", true, true);
    for other in ["branches", "tags", "feature", "/feature/"] {
        check_policy(&merge_request, &format!("['{other}']"), false, false);
    }
}

#[test]
fn only_requires_all_of_its_conditions_and_except_any() {
    let branch = pipeline("push", "main");
    check_policy(
        &branch,
        "{refs: [main], variables: [$NO, $DIR]}",
        true,
        true,
    );
    check_policy(&branch, "{refs: [main], variables: [$NO]}", false, true);
    check_policy(&branch, "{refs: [tags], changes: ['$DIR/*']}", false, false);
    check_policy(
        &branch,
        "{refs: [branches], changes: ['src/*']}",
        true,
        true,
    );
    check_policy(&branch, "{refs: [main], kubernetes: active}", false, true);
    let with_cluster = PipelineContext {
        kubernetes_active: true,
        ..branch
    };
    check_policy(
        &with_cluster,
        "{refs: [main], kubernetes: active}",
        true,
        true,
    );
}
