use super::support::Served;
use executor_core::ability::{Resumable, ResumeHandle};
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, Placement, StageCommand, StageResult,
    StageVariables, TraceStream,
};
use executor_testkit::RecordingTrace;
use std::sync::Arc;
use steps::{NextRequest, RecordedRuns, RunRecord, RunTiming, StageRequest, StageRequests};

/// Returns the requests of a process that continues from this handle.
fn requests(served: &Served, handle: &ResumeHandle) -> StageRequests {
    let runs = RecordedRuns::of(handle).unwrap_or_default();
    let record = RunRecord::new(ResumeHandle::new("test", []), runs, None);
    StageRequests::new(served.client(), record, "job-7")
}

fn handle(requests: &StageRequests) -> ResumeHandle {
    requests.record().resume_handle().unwrap()
}

async fn next(
    served: &Served,
    requests: &mut StageRequests,
    script: &str,
) -> Result<NextRequest, BuildError> {
    let command = StageCommand {
        stage: BuildStage::script(),
        script: script.to_owned(),
        placement: Placement::User,
        variables: Arc::new(StageVariables::default()),
        working_dir: served.path("work").display().to_string(),
    };
    let (temp_dir, never) = (served.path("temp"), Cancellation::new());
    let temp_dir = temp_dir.display().to_string();
    let timing = RunTiming::default();
    requests
        .next(&command, "sh", &temp_dir, timing, &never)
        .await
}

async fn open(served: &Served, requests: &mut StageRequests, script: &str) -> StageRequest {
    match next(served, requests, script).await.unwrap() {
        NextRequest::Open(request) => *request,
        NextRequest::Ended(result) => panic!("{result:?}"),
    }
}

async fn known(served: &Served) -> Vec<String> {
    let all = served.client().status(None).await.unwrap();
    all.iter().map(|it| it.id.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn next_process_makes_the_same_requests_and_starts_no_script_twice() {
    // R-STEP-54
    let served = Served::start();
    let (trace, never) = (RecordingTrace::new(), Cancellation::new());
    let mut first = requests(&served, &ResumeHandle::default());
    let request = open(&served, &mut first, "echo once >> times; exit 3").await;
    let ended = request.follow(&trace, &never).await.unwrap();
    first.record_end(&request, Some(&ended));
    let script = "echo begun; until [ -e go ]; do sleep 0.01; done; echo ended";
    let request = open(&served, &mut first, script).await;
    tokio::select! {
        ended = request.follow(&trace, &never) => panic!("{ended:?}"),
        () = trace.wait_for(TraceStream::STDOUT, "begun") => {}
    }
    let mut second = requests(&served, &handle(&first));
    let NextRequest::Ended(again) = next(&served, &mut second, "").await.unwrap() else {
        panic!("it has ended");
    };
    assert_eq!(again.status, ended.status);
    let times = std::fs::read_to_string(served.path("work/times")).unwrap();
    assert_eq!(times, "once\n");
    let request = open(&served, &mut second, script).await;
    std::fs::write(served.path("work/go"), "").unwrap();
    let ended = request.follow(&trace, &never).await.unwrap();
    assert_eq!(trace.text(TraceStream::STDOUT), "begun\nended\n");
    second.record_end(&request, Some(&ended));
    // A request that ended without a result may have run.
    let request = open(&served, &mut second, "true").await;
    second.record_end(&request, None);
    let mut third = requests(&served, &handle(&second));
    for _ in 0..2 {
        let ended = next(&served, &mut third, "").await.unwrap();
        assert!(matches!(ended, NextRequest::Ended(StageResult { .. })));
    }
    let lost = next(&served, &mut third, "").await.unwrap_err();
    let cause = CancelCause::EnvironmentLost;
    assert!(
        matches!(lost, BuildError::Canceled(it) if it == cause),
        "{lost:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_removes_a_request_when_the_next_one_begins() {
    let served = Served::start();
    let trace = RecordingTrace::new();
    let mut requests = requests(&served, &ResumeHandle::default());
    let request = open(&served, &mut requests, "true").await;
    let ended = request.follow(&trace, &Cancellation::new()).await.unwrap();
    requests.record_end(&request, Some(&ended));
    assert_eq!(known(&served).await, ["job-7-step_script-1"]);
    let request = open(&served, &mut requests, "echo begun; sleep 600").await;
    assert_eq!(known(&served).await, Vec::<String>::new());
    let stop = Cancellation::new();
    let (canceled, ()) = tokio::join!(request.follow(&trace, &stop), async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        stop.cancel(CancelCause::User);
    });
    canceled.unwrap_err();
    requests.record_end(&request, None);
    assert_eq!(known(&served).await, ["job-7-step_script-2"]);
    open(&served, &mut requests, "true").await;
    assert_eq!(known(&served).await, Vec::<String>::new());
}
