//! Jobs with caches in a bucket.

use crate::bench::{Bench, job};
use crate::s3::{S3Server, SECRET};
use serde_json::json;

/// Returns a job with a cache of `deps`.
fn with_cache(script: &[&str]) -> serde_json::Value {
    let mut payload = job(script);
    payload["cache"] =
        json!([{"key": "deps", "paths": ["deps"], "policy": "pull-push", "when": "on_success"}]);
    payload
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_go_from_job_to_job_through_a_bucket() {
    let storage = S3Server::start().await;
    let mut bench = Bench::new();
    bench.settings.runners[0].cache = Some(storage.settings());
    let script = ["mkdir deps", "echo kept > deps/a.txt", "env > deps/env.txt"];
    let first = bench.server.queue(with_cache(&script));
    let runner = bench.start();
    assert_eq!(bench.end_of(first).await["state"], "success");
    let object = "ci/runner/recRunner/project/42/deps";
    assert!(storage.object(object).exists(), "{}", bench.log(first));
    // What is in the directory of the first job is not what the second one finds.
    let builds = bench.dir.path().join("builds");
    std::fs::remove_dir_all(builds).expect("removed");
    let second = bench
        .server
        .queue(with_cache(&["cat deps/a.txt", "cat deps/env.txt"]));
    assert_eq!(bench.end_of(second).await["state"], "success");
    let log = bench.log(second);
    assert!(log.contains("kept"), "{log}");
    assert!(log.contains("Archive is up to date!"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    // A damaged object costs a warning.
    std::fs::write(storage.object(object), "damaged").expect("written");
    let third = bench.server.queue(with_cache(&["echo goes on"]));
    assert_eq!(bench.end_of(third).await["state"], "success");
    let log = bench.log(third);
    assert!(log.contains("cache deps is not restored"), "{log}");
    assert!(log.contains("goes on"), "{log}");
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_used_from_the_reload_on() {
    let storage = S3Server::start().await;
    let bench = Bench::new();
    let script = ["mkdir -p deps", "echo kept > deps/a.txt"];
    let runner = bench.start();
    let first = bench.server.queue(with_cache(&script));
    assert_eq!(bench.end_of(first).await["state"], "success");
    assert!(storage.seen().is_empty());
    let mut settings = bench.settings.clone();
    settings.runners[0].cache = Some(storage.settings());
    settings.runners[0].fingerprint += 1;
    runner.reload.send_replace(Some(settings));
    // A job of a poll that began before has the settings of then.
    while storage.seen().is_empty() {
        let next = bench.server.queue(with_cache(&script));
        assert_eq!(bench.end_of(next).await["state"], "success");
    }
    assert!(
        storage
            .object("ci/runner/recRunner/project/42/deps")
            .exists()
    );
    runner.finish().await;
    bench.check();
}
