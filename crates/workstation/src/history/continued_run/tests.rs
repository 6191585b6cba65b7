use super::super::journal_line::Begun;
use super::*;
use executor_core::PipelineId;
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{ResolvedPipeline, create};
use serde_json::json;

const FILE: &str = "
stages: [build, test, deploy]
make: {stage: build, script: [make]}
unit: {stage: test, script: [test]}
lint: {stage: test, script: [lint]}
ship: {stage: deploy, script: [ship], when: manual}
done: {stage: deploy, script: [done]}
";

fn creation_of(file: &str, context: &PipelineContext) -> Creation {
    let (resolved, _) = ResolvedPipeline::from_text("ci.yml", file)
        .into_result()
        .unwrap();
    create(&resolved, context, &NoRepository)
}

fn plan_of(file: &str) -> Plan {
    let context = PipelineContext {
        id: PipelineId(3),
        first_job_id: 300,
        ..PipelineContext::default()
    };
    let creation = creation_of(file, &context);
    Plan::new(&creation, context, &Selection::default()).unwrap()
}

/// Returns the journal of a run whose jobs got these statuses one after the other. A dot after the status
/// means that the journal has the job's end, too.
fn journal(file: &str, jobs: &str) -> Vec<u8> {
    let mut text = serde_json::to_vec(&Begun::new(&plan_of(file), None)).unwrap();
    text.push(b'\n');
    for entry in jobs.split_whitespace() {
        let (job, status) = entry.split_once('=').unwrap();
        let (status, has_end) = match status.strip_suffix('.') {
            Some(status) => (status, true),
            None => (status, false),
        };
        let line =
            json!({"type": "job_status", "job": job, "stage": "s", "status": status, "attempt": 1});
        let end = json!({"type": "job_finished", "job": job, "status": status, "attempt": 1});
        let done =
            json!({"type": "pipeline_done", "status": status, "exit_code": 1, "duration_ms": 5});
        let lines = match (job, has_end) {
            ("run", _) => vec![done],
            (_, true) => vec![line, end],
            (_, false) => vec![line],
        };
        for line in lines {
            text.extend(line.to_string().into_bytes());
            text.push(b'\n');
        }
    }
    text
}

fn earlier(jobs: &str, kind: ContinuationKind) -> ContinuedRun {
    ContinuedRun {
        kind,
        variables: Vec::new(),
        history: RunHistory::parse(&journal(FILE, jobs), 3),
        unfinished: HashSet::new(),
    }
}

const ALL_RUN: &str = "make=running make=success. unit=running unit=failed. \
                       lint=running lint=success. ship=skipped done=skipped run=failed";
const KILLED: &str = "make=running make=success. unit=running lint=running lint=success";
const CANCELED: &str = "make=running make=success. unit=running unit=canceled. lint=canceled \
                        ship=canceled done=canceled run=canceled";
const WAITS: &str = "make=running make=success. unit=running unit=success. lint=running \
                     lint=success. ship=manual done=running done=success. run=manual";

#[test]
fn finished_jobs_do_not_run_again() {
    let check = |jobs: &str, kind: ContinuationKind, finished: &[&str], begun: &[&str]| {
        let progress = earlier(jobs, kind.clone()).progress(JobHistory::products);
        let names: Vec<&str> = progress.finished.keys().map(String::as_str).collect();
        assert_eq!(names, finished, "{kind:?} after {jobs}");
        let names: Vec<&str> = progress.begun.keys().map(String::as_str).collect();
        assert_eq!(names, begun, "{kind:?} after {jobs}");
    };
    // The end of `lint` is not recorded: its results may be incomplete.
    check(
        KILLED,
        ContinuationKind::Resume,
        &["make"],
        &["lint", "unit"],
    );
    check(
        KILLED,
        ContinuationKind::Retry,
        &["make"],
        &["lint", "unit"],
    );
    check(ALL_RUN, ContinuationKind::Retry, &["lint", "make"], &[]);
    check(
        ALL_RUN,
        ContinuationKind::Resume,
        &["lint", "make", "unit"],
        &[],
    );
    check(CANCELED, ContinuationKind::Resume, &["make"], &[]);
    check(
        WAITS,
        ContinuationKind::Play(vec!["ship".to_owned()]),
        &["done", "lint", "make", "unit"],
        &["ship"],
    );
    let named = |jobs: &[&str]| {
        let jobs = jobs.iter().copied();
        ContinuationKind::RetryJobs(jobs.map(ToOwned::to_owned).collect())
    };
    let unit_failed = ["lint", "make", "unit"];
    check(ALL_RUN, named(&["lint"]), &["make", "unit"], &[]);
    check(ALL_RUN, named(&["unit", "lint"]), &["make"], &[]);
    check(ALL_RUN, named(&["ship"]), &unit_failed, &[]);
    check(CANCELED, named(&["unit"]), &["make"], &[]);
}

#[test]
fn additional_variables_go_to_played_jobs_only() {
    let play = ContinuationKind::Play(vec!["ship".to_owned()]);
    let mut earlier = earlier(WAITS, play);
    earlier.variables = vec![JobVariable::public("TO", "blue")];
    let progress = earlier.progress(JobHistory::products);
    let begun: Vec<_> = progress.begun.into_iter().collect();
    let expect = BegunJob {
        played: true,
        variables: vec![JobVariable::public("TO", "blue")],
        ..BegunJob::new(Status::Created, 1)
    };
    assert_eq!(begun, [("ship".to_owned(), expect)]);
}

#[test]
fn runs_without_jobs_left_are_refused() {
    let check = |jobs: &str, kind: ContinuationKind, expect: Option<&str>| {
        let earlier = earlier(jobs, kind.clone());
        let mut selection = Selection::default();
        let context = PipelineContext::default();
        let creation = creation_of(FILE, &context);
        earlier.add_played(&mut selection, &creation);
        let plan = Plan::new(&creation, context, &selection).unwrap();
        let refused = earlier.check(7, &plan).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), expect, "{kind:?} after {jobs}");
    };
    check(KILLED, ContinuationKind::Resume, None);
    check(CANCELED, ContinuationKind::Resume, None);
    check(ALL_RUN, ContinuationKind::Retry, None);
    let named = |job: &str| ContinuationKind::RetryJobs(vec![job.to_owned()]);
    check(ALL_RUN, named("lint"), None);
    let nothing = "run 7 failed: there is nothing to retry";
    check(ALL_RUN, named("ship"), Some(nothing));
    let nothing = "run 7 failed: there is nothing to resume";
    check(ALL_RUN, ContinuationKind::Resume, Some(nothing));
    let nothing = "run 7 waits for manual jobs: there is nothing to retry";
    check(WAITS, ContinuationKind::Retry, Some(nothing));
    let play = |job: &str| ContinuationKind::Play(vec![job.to_owned()]);
    check(WAITS, play("ship"), None);
    let nothing = "run 7 waits for manual jobs: there is nothing to play";
    check(WAITS, play("make"), Some(nothing));
}

#[test]
fn played_jobs_are_played_again() {
    let jobs = "make=running make=success. ship=manual ship=pending ship=running";
    let creation = creation_of(FILE, &PipelineContext::default());
    let mut selection = Selection::default();
    let resumed = earlier(jobs, ContinuationKind::Resume);
    resumed.add_played(&mut selection, &creation);
    assert_eq!(selection.manual, ["ship"]);
    let mut selection = Selection::default();
    let without = FILE.replace("ship:", "other:");
    let without = creation_of(&without, &PipelineContext::default());
    resumed.add_played(&mut selection, &without);
    assert_eq!(selection, Selection::default());
    let mut selection = Selection {
        jobs: vec!["make".to_owned()],
        ..Selection::default()
    };
    resumed.add_played(&mut selection, &creation);
    assert_eq!(selection.jobs, ["make", "ship"]);
}

#[test]
fn changes_of_the_file_are_noted() {
    let now = "
stages: [build, test, deploy]
make: {stage: build, script: [make, more]}
unit: {stage: test, script: [test]}
check: {stage: test, script: [check]}
ship: {stage: deploy, script: [ship], when: manual}
done: {stage: deploy, script: [done]}
";
    let resumed = earlier(KILLED, ContinuationKind::Resume);
    assert_eq!(resumed.changes(&plan_of(FILE)), Vec::<String>::new());
    let mut plan = plan_of(now);
    let expect = [
        "new since then: the job \"check\"",
        "removed since then: the job \"lint\"",
        "changed since then: the job \"make\"",
    ];
    assert_eq!(resumed.changes(&plan), expect);
    plan.keep_ids(&resumed.ids());
    let id = |name: &str| plan.jobs()[plan.position(name).unwrap()].id;
    assert_eq!(id("unit"), JobId(301));
    assert_eq!(id("ship"), JobId(303));
    assert_eq!(id("check"), JobId(305), "ids are never used twice");
    assert_eq!(plan.position_of(JobId(305)), plan.position("check"));
    assert_eq!(plan.position_of(JobId(302)), None);
}

#[test]
fn incomplete_and_damaged_lines_are_ignored() {
    let whole = journal(FILE, KILLED);
    let count = |text: &[u8]| RunHistory::parse(text, 3).finished().count();
    assert_eq!(count(&whole), 1);
    for cut in 0..whole.len() {
        let history = RunHistory::parse(&whole[..cut], 3);
        assert_eq!(history.damaged, 0, "cut at {cut}");
        assert!(history.finished().count() <= 1);
    }
    let mut damaged = whole.clone();
    damaged.extend(b"what?\n\0\n{\"type\":\"news\",\"job\":7}\n");
    assert_eq!(RunHistory::parse(&damaged, 3).damaged, 3);
    assert_eq!(count(&damaged), 1);
    let earlier = ContinuedRun {
        kind: ContinuationKind::Resume,
        history: RunHistory::parse(&damaged, 3),
        unfinished: HashSet::new(),
        variables: Vec::new(),
    };
    let note = "3 lines of its journal are damaged and ignored";
    assert_eq!(earlier.changes(&plan_of(FILE)), [note]);
}

#[test]
fn journal_of_another_run_is_ignored() {
    let whole = journal(FILE, KILLED);
    assert_eq!(RunHistory::parse(&whole, 3).attempts, 1);
    let foreign = RunHistory::parse(&whole, 4);
    assert_eq!((foreign.attempts, foreign.planned().count()), (0, 0));
    assert!(foreign.damaged > 0);
}

#[test]
fn damaged_journal_yields_no_duplicate_ids() {
    let whole = String::from_utf8(journal(FILE, KILLED)).unwrap();
    let highest = u64::MAX.to_string();
    let text = whole
        .replace(":301", ":300")
        .replace(":302", &format!(":{highest}"));
    let earlier = ContinuedRun {
        kind: ContinuationKind::Resume,
        history: RunHistory::parse(text.as_bytes(), 3),
        unfinished: HashSet::new(),
        variables: Vec::new(),
    };
    let mut plan = plan_of(FILE);
    plan.keep_ids(&earlier.ids());
    let ids: Vec<u64> = plan.jobs().iter().map(|job| job.id.0).collect();
    assert_eq!(ids, [300, 305, 306, 303, 304]);
}
