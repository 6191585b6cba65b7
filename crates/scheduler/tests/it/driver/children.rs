//! Downstream pipelines, created from texts.

use super::{SECOND, sink_of, statuses};
use crate::fake::{Act, FakeRunner, Recorder, driver, plan, resolve, try_plan};
use async_trait::async_trait;
use executor_core::{
    BuildError, CancelCause, Cancellation, FailureReason, PipelineId, TraceStream,
};
use parking_lot::Mutex;
use pipeline::Selection;
use pipeline::context::PipelineContext;
use scheduler::event::{EventKind, ParentJob};
use scheduler::{Bridge, Controls, Downstream, DownstreamPipeline};
use scheduler::{PipelineReport, RunExit, Status};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates a pipeline from the text for a job; jobs without a text fail.
#[derive(Debug)]
struct Texts {
    by_job: Vec<(&'static str, &'static str)>,
    last: AtomicU64,
    asked: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Shared(Arc<Texts>);

#[async_trait]
impl Downstream for Shared {
    async fn create(
        &self,
        bridge: Bridge,
        _cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError> {
        let name = bridge.plan.jobs()[bridge.index].name().to_owned();
        self.0.asked.lock().push(name.clone());
        let Some((_, text)) = self.0.by_job.iter().find(|(job, _)| *job == name) else {
            bridge
                .observer
                .output(TraceStream::STDERR, b"no such file\n");
            return Err(BuildError::Downstream {
                reason: FailureReason::DownstreamPipelineCreationFailed,
                message: "there is no such pipeline".to_owned(),
            });
        };
        assert_ne!(*text, "panic", "a bug in the port");
        let id = self.0.last.fetch_add(1, Ordering::SeqCst) + 1;
        let context = PipelineContext {
            id: PipelineId(id),
            first_job_id: id * 1000,
            ..PipelineContext::default()
        };
        let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
        Ok(DownstreamPipeline {
            plan: Arc::new(plan),
            parent: ParentJob {
                pipeline: bridge.plan.id(),
                job: name.into(),
                project: None,
            },
            runner: None,
            sink: None,
            downstream: Some(Arc::new(Self(Arc::clone(&self.0)))),
            controls: Controls::default(),
            progress: Arc::default(),
        })
    }
}

struct Ran {
    report: PipelineReport,
    runner: Arc<FakeRunner>,
    sink: Arc<Recorder>,
    texts: Arc<Texts>,
}

async fn run(
    text: &str,
    children: &[(&'static str, &'static str)],
    acts: &[(&str, &[Act])],
    concurrency: u32,
) -> Ran {
    let runner = FakeRunner::new(acts);
    let sink = sink_of();
    let texts = Arc::new(Texts {
        by_job: children.to_vec(),
        last: AtomicU64::new(1),
        asked: Mutex::default(),
    });
    let mut driver = driver(&runner, &sink);
    driver.concurrency = NonZeroU32::new(concurrency).unwrap();
    driver.downstream = Some(Arc::new(Shared(Arc::clone(&texts))));
    let report = driver.run(plan(text), &Cancellation::new()).await;
    Ran {
        report,
        runner,
        sink,
        texts,
    }
}

/// Runs a bridge before a job, and compares the results: `bridge`, `after`; children.
async fn check(trigger: &str, acts: &[(&str, &[Act])], child: &'static str, expect: &str) -> Ran {
    let text = format!(
        "stages: [test, deploy]\nbridge: {{stage: test, {trigger}}}\nafter: {{stage: deploy, script: x}}\n"
    );
    let ran = run(&text, &[("bridge", child)], acts, 2).await;
    let children = ran.report.children.iter();
    let children = children.map(|it| format!("; {}: {}", it.report.status, statuses(&it.report)));
    let shown = format!(
        "{} {}: {}{}",
        ran.report.status,
        ran.report.exit.code(),
        statuses(&ran.report),
        children.collect::<String>()
    );
    assert_eq!(shown, expect, "{trigger}");
    ran
}

const FAILS: &[(&str, &[Act])] = &[("unit", &[Act::Fail(3)])];
const UNIT: &str = "unit: {script: x}\n";

#[tokio::test(start_paused = true)]
async fn bridge_succeeds_or_follows_its_pipeline() {
    check(
        "trigger: {include: c.yml}",
        &[],
        UNIT,
        "success 0: bridge success, after success; success: unit success",
    )
    .await;
    check(
        "trigger: {include: c.yml}",
        FAILS,
        UNIT,
        "success 0: bridge success, after success; failed: unit failed",
    )
    .await;
    for strategy in ["depend", "mirror"] {
        let trigger = format!("trigger: {{include: c.yml, strategy: {strategy}}}");
        check(
            &trigger,
            &[],
            UNIT,
            "success 0: bridge success, after success; success: unit success",
        )
        .await;
        let ran = check(
            &trigger,
            FAILS,
            UNIT,
            "failed 1: bridge failed, after skipped; failed: unit failed",
        )
        .await;
        let reason = ran.report.jobs[0].failure_reason;
        assert_eq!(reason, Some(FailureReason::DownstreamPipelineFailed));
        check(
            &format!("{trigger}, allow_failure: true"),
            FAILS,
            UNIT,
            "success 0: bridge failed, after success; failed: unit failed",
        )
        .await;
        check(
            &trigger,
            &[],
            "unit: {script: x, when: manual, allow_failure: false}\n",
            "manual 0: bridge manual, after created; manual: unit manual",
        )
        .await;
    }
    let never = "unit: {script: x, when: on_failure}\n";
    check(
        "trigger: {include: c.yml, strategy: depend}",
        &[],
        never,
        "failed 1: bridge failed, after skipped; skipped: unit skipped",
    )
    .await;
    check(
        "trigger: {include: c.yml, strategy: mirror}",
        &[],
        never,
        "success 0: bridge skipped, after success; skipped: unit skipped",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn system_failure_in_a_child_exits_with_environment() {
    let broken: &[(&str, &[Act])] = &[("unit", &[Act::SystemFailure])];
    check(
        "trigger: {include: c.yml, strategy: depend}",
        broken,
        UNIT,
        "failed 3: bridge failed, after skipped; failed: unit failed",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn failed_creation_fails_the_bridge() {
    let text = "lost: {trigger: {include: c.yml}}\nodd: {trigger: {include: c.yml}}\n";
    let ran = run(text, &[("odd", "panic")], &[], 1).await;
    assert_eq!(statuses(&ran.report), "lost failed, odd failed");
    let lost = &ran.report.jobs[0];
    assert_eq!(
        lost.failure_reason,
        Some(FailureReason::DownstreamPipelineCreationFailed)
    );
    assert_eq!(lost.last_lines, ["no such file"]);
    assert_eq!(lost.exit_code, None);
    assert_eq!(ran.report.exit, RunExit::JobFailed);

    // Without a port.
    let runner = FakeRunner::new(&[]);
    let report = driver(&runner, &sink_of())
        .run(plan(text), &Cancellation::new())
        .await;
    assert_eq!(statuses(&report), "lost failed, odd failed");
    assert!(runner.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn parent_waits_for_nested_pipelines() {
    let children = [
        ("bridge", "inner: {trigger: {include: c.yml}}\n"),
        ("inner", "unit: {script: x}\n"),
    ];
    let acts: &[(&str, &[Act])] = &[("unit", &[Act::Take(SECOND)])];
    let ran = run("bridge: {trigger: {include: c.yml}}\n", &children, acts, 1).await;
    assert_eq!(ran.report.duration, SECOND);
    let child = &ran.report.children[0];
    assert_eq!((child.job.as_str(), child.report.id.0), ("bridge", 2));
    let grandchild = &child.report.children[0];
    assert_eq!(
        (grandchild.job.as_str(), grandchild.report.id.0),
        ("inner", 3)
    );
    assert_eq!(statuses(&grandchild.report), "unit success");

    let ends = ran
        .sink
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::PipelineStarted { parent, .. } => {
                let parent = parent.map(|it| format!("{} {}", it.pipeline, it.job));
                Some(format!("{} begins: {parent:?}", event.pipeline))
            }
            EventKind::PipelineDone { status, .. } => Some(format!("{} {status}", event.pipeline)),
            _ => None,
        });
    let ends: Vec<String> = ends.collect();
    assert_eq!(
        ends,
        [
            "1 begins: None",
            "2 begins: Some(\"1 bridge\")",
            "3 begins: Some(\"2 inner\")",
            "3 success",
            "2 success",
            "1 success"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn pipelines_share_workers_and_bridges_need_none() {
    let child = "one: {script: x}\ntwo: {script: x}\n";
    let children = [
        ("bridge: [a]", child),
        ("bridge: [b]", child),
        ("bridge: [c]", child),
    ];
    let text = "
bridge:
  parallel: {matrix: [{OF: [a, b, c]}]}
  trigger: {include: c.yml, strategy: depend}
own: {script: x}
";
    let take: &[Act] = &[Act::Take(SECOND)];
    let acts: &[(&str, &[Act])] = &[("one", take), ("two", take), ("own", take)];
    for (concurrency, seconds) in [(1, 7), (2, 4), (8, 1)] {
        let ran = run(text, &children, acts, concurrency).await;
        assert_eq!(ran.report.status, Status::Success);
        assert_eq!(ran.report.duration, SECOND * seconds, "{concurrency}");
        assert_eq!(ran.runner.names().len(), 7);
        let slots = ran.runner.ran.lock();
        let slots = slots.iter().map(|ran| ran.slot.concurrent_id);
        assert!(slots.max().unwrap() < concurrency);
        assert_eq!(ran.texts.asked.lock().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_reaches_downstream_pipelines() {
    for strategy in ["", ", strategy: depend"] {
        let text = format!("bridge: {{trigger: {{include: c.yml{strategy}}}}}\n");
        let runner = FakeRunner::new(&[("unit", &[Act::Hang])]);
        let mut driver = driver(&runner, &sink_of());
        driver.downstream = Some(Arc::new(Shared(Arc::new(Texts {
            by_job: vec![(
                "bridge",
                "unit: {script: x}\nlater: {stage: deploy, script: x}\n",
            )],
            last: AtomicU64::new(1),
            asked: Mutex::default(),
        }))));
        let cancellation = Cancellation::new();
        let running = driver.run(plan(&text), &cancellation);
        let cancel = async {
            runner.begun.notified().await;
            cancellation.cancel(CancelCause::User);
        };
        let (report, ()) = tokio::join!(running, cancel);
        assert_eq!(report.exit, RunExit::Interrupted);
        let child = &report.children[0].report;
        assert_eq!(statuses(child), "unit canceled, later canceled");
        let expect = if strategy.is_empty() {
            "bridge success"
        } else {
            "bridge canceled"
        };
        assert_eq!(statuses(&report), expect);
    }
}

#[tokio::test(start_paused = true)]
async fn canceled_bridge_cancels_only_its_pipeline() {
    let text = "
bridge: {trigger: {include: c.yml, strategy: depend}}
own: {script: x}
";
    let acts: &[(&str, &[Act])] = &[("unit", &[Act::Hang]), ("own", &[Act::Take(SECOND)])];
    let runner = FakeRunner::new(acts);
    let mut driver = driver(&runner, &sink_of());
    driver.downstream = Some(Arc::new(Shared(Arc::new(Texts {
        by_job: vec![("bridge", UNIT)],
        last: AtomicU64::new(1),
        asked: Mutex::default(),
    }))));
    let controls = driver.controls.clone();
    let cancellation = Cancellation::new();
    let running = driver.run(plan(text), &cancellation);
    let cancel = async {
        tokio::time::sleep(SECOND / 2).await;
        controls.cancel_job("bridge").await.unwrap();
    };
    let (report, ()) = tokio::join!(running, cancel);
    assert_eq!(statuses(&report), "bridge canceled, own success");
    assert_eq!(statuses(&report.children[0].report), "unit canceled");
    assert_eq!(report.exit, RunExit::JobFailed);
}
#[tokio::test(start_paused = true)]
async fn waiting_bridge_keeps_its_resource_group() {
    let text = "
one: {trigger: {include: c.yml, strategy: depend}, resource_group: g}
two: {trigger: {include: c.yml, strategy: depend}, resource_group: g}
";
    let acts: &[(&str, &[Act])] = &[("unit", &[Act::Take(SECOND)])];
    let ran = run(text, &[("one", UNIT), ("two", UNIT)], acts, 4).await;
    assert_eq!(ran.report.status, Status::Success);
    assert_eq!(ran.report.duration, SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn retried_bridge_starts_another_pipeline() {
    for strategy in ["", ", strategy: depend"] {
        let text = format!("bridge: {{trigger: {{include: c.yml{strategy}}}}}\n");
        let runner = FakeRunner::new(&[("unit", &[Act::Take(SECOND)])]);
        let mut driver = driver(&runner, &sink_of());
        driver.downstream = Some(Arc::new(Shared(Arc::new(Texts {
            by_job: vec![("bridge", UNIT)],
            last: AtomicU64::new(1),
            asked: Mutex::default(),
        }))));
        let cancellation = Cancellation::new();
        let hold = driver.controls.hold();
        let (report, ()) = tokio::join!(driver.run(plan(&text), &cancellation), async {
            tokio::time::sleep(SECOND * 3).await;
            driver.controls.retry("bridge").await.unwrap();
            drop(hold);
        });
        assert_eq!(statuses(&report), "bridge success");
        assert_eq!(report.jobs[0].attempts, 2);
        let ids: Vec<u64> = report.children.iter().map(|it| it.report.id.0).collect();
        assert_eq!(ids, [2, 3]);
        assert_eq!(report.duration, SECOND * 4);
    }
}
