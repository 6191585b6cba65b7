//! Spans of jobs, for a collector of OpenTelemetry.

use crate::bench::{Bench, job};
use crate::secret_server::SecretServer;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TRACE: &str = "5b8efff798038103d269b633813fc60c";
const PARENT: &str = "eee19b7ec3c1b174";
const LINE: &str = "POST /v1/traces";

fn traced(script: &[&str], endpoints: &Value) -> Value {
    let mut payload = job(script);
    payload["features"]["tracing"] =
        json!({"trace_id": TRACE, "span_parent_id": PARENT, "otel_endpoints": endpoints});
    let variables = payload["variables"].as_array_mut().expect("variables");
    variables.push(json!({"key": "CI_PIPELINE_ID", "value": "7", "public": true}));
    payload
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_gets_a_span_for_the_job_and_each_stage() {
    let collector = SecretServer::start().await;
    collector.answer(LINE, 200, json!({}));
    let bench = Bench::new();
    let url = format!("{}/v1/traces", collector.url);
    // Endpoints that cannot be used disturb neither the job nor the others.
    let endpoints = json!([{"url": "grpc://collector.example:4317"}, "x", {"url": url}]);
    let id = bench.server.queue(traced(&["exit 3"], &endpoints));
    let none =
        json!({"trace_id": "xyz", "span_parent_id": PARENT, "otel_endpoints": [{"url": url}]});
    let mut untraced = job(&["true"]);
    untraced["features"]["tracing"] = none;
    let other = bench.server.queue(untraced);
    let runner = bench.start();
    assert_eq!(bench.end_of(id).await["state"], "failed");
    assert_eq!(bench.end_of(other).await["state"], "success");
    collector.wait_for(LINE).await;
    runner.finish().await;
    bench.check();
    let [call] = &collector.calls()[..] else {
        panic!("{:?}", collector.lines());
    };
    assert_eq!(call.header("content-type"), Some("application/json"));
    let sent: Value = serde_json::from_str(&call.body).expect("JSON");
    let resource = &sent["resourceSpans"][0];
    let service = json!({"key": "service.name", "value": {"stringValue": "runner"}});
    assert_eq!(resource["resource"]["attributes"][0], service);
    let spans = resource["scopeSpans"][0]["spans"].as_array();
    let [root, stages @ ..] = &spans.expect("spans")[..] else {
        panic!("{sent}");
    };
    let identity = (&root["name"], &root["traceId"], &root["parentSpanId"]);
    assert_eq!(
        identity,
        (&json!("job_execution"), &json!(TRACE), &json!(PARENT))
    );
    assert_eq!(root["status"]["code"], 2);
    let attribute = |key: &str| {
        let mut all = root["attributes"].as_array().expect("a list").iter();
        all.find(|it| it["key"] == key)
            .map(|it| it["value"].clone())
    };
    let number = json!({"intValue": id.to_string()});
    assert_eq!(attribute("ci.job.id"), Some(number));
    let text = |text: &str| Some(json!({ "stringValue": text }));
    assert_eq!(attribute("ci.pipeline.id"), text("7"));
    assert_eq!(attribute("ci.runner.executor"), text("shell"));
    assert_eq!(attribute("ci.job.status"), text("failed"));
    let nanoseconds = |span: &Value, key: &str| {
        let text = span[key].as_str().expect("a text");
        text.parse::<u64>().expect("a number")
    };
    let mut ids = BTreeSet::from([root["spanId"].as_str()]);
    for stage in stages {
        assert_eq!(stage["parentSpanId"], root["spanId"]);
        assert!(ids.insert(stage["spanId"].as_str()), "{sent}");
        let [begin, end] = ["startTimeUnixNano", "endTimeUnixNano"];
        assert!(
            nanoseconds(stage, begin) <= nanoseconds(stage, end),
            "{stage}"
        );
        assert!(nanoseconds(stage, end) <= nanoseconds(root, end), "{stage}");
    }
    let script = stages.iter().find(|it| it["name"] == "step_script");
    assert_eq!(script.expect("the script")["status"]["code"], 2, "{sent}");
    let prepared = stages.iter().find(|it| it["name"] == "prepare_executor");
    assert_eq!(prepared.expect("the preparation")["status"]["code"], 1);
}
