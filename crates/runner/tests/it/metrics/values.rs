use super::{bench, client, wait_for};
use crate::bench::job;
use gitlab_testkit::{Endpoint, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// The type and the labels of each metric, as a scrape has them after one job.
const GOLDEN: &str = "\
gitlab_runner_api_request_duration_seconds histogram endpoint,method,runner,status_class,system_id
gitlab_runner_api_request_statuses_total counter endpoint,method,runner,status,system_id
gitlab_runner_concurrent gauge
gitlab_runner_configuration_loaded_total counter
gitlab_runner_configuration_loading_error_total counter
gitlab_runner_configuration_saved_total counter
gitlab_runner_configuration_saving_error_total counter
gitlab_runner_errors_total counter level
gitlab_runner_failed_jobs_total counter failure_reason,mode,runner,runner_name
gitlab_runner_job_duration_seconds histogram mode,runner,runner_name,system_id
gitlab_runner_job_execution_mode_total counter executor,mode
gitlab_runner_job_queue_depth gauge runner,runner_name,system_id
gitlab_runner_job_queue_duration_seconds histogram project_jobs_running,runner,runner_name,system_id
gitlab_runner_job_queue_size gauge runner,runner_name,system_id
gitlab_runner_job_stage_duration_seconds histogram runner,runner_name,stage,system_id
gitlab_runner_jobs gauge executor_stage,runner,runner_name,stage,state,system_id
gitlab_runner_jobs_total counter runner,runner_name,system_id
gitlab_runner_limit gauge runner,runner_name,system_id
gitlab_runner_process_state_info gauge state
gitlab_runner_request_concurrency gauge runner,system_id
gitlab_runner_request_concurrency_exceeded_total counter runner,system_id
gitlab_runner_request_concurrency_hard_limit gauge runner,system_id
gitlab_runner_request_concurrency_used_limit gauge runner,system_id
gitlab_runner_version_info gauge architecture,branch,built_at,go_version,name,os,revision,version
gitlab_runner_worker_feed_failures_total counter runner,runner_name,system_id
gitlab_runner_worker_feeds_total counter runner,runner_name,system_id
gitlab_runner_worker_health_check_failures_total counter runner,runner_name,system_id
gitlab_runner_worker_processing_failures_total counter failure_type,runner,runner_name,system_id
gitlab_runner_worker_slot_operations_total counter operation
gitlab_runner_worker_slots_number gauge
runwright_runner_job_overhead_seconds histogram runner,stage
runwright_runner_outbox_jobs gauge runner
runwright_runner_trace_bytes_total counter runner
";

const RUNNER: &str = "runner=\"recRunner\"";
const NAMED: &str = "runner=\"recRunner\",runner_name=\"recorder\"";
const SYSTEM: &str = "system_id=\"s_0123456789ab\"";

/// The scrape of a runner.
struct Scrape(String);

impl Scrape {
    /// Returns the value of a series; `None` if there is none.
    fn value(&self, series: &str) -> Option<usize> {
        let mut lines = self.0.lines();
        let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
        Some(value.parse().unwrap())
    }

    #[track_caller]
    fn check(&self, series: &str, expect: usize) {
        let value = self.value(series);
        assert_eq!(value, Some(expect), "{series} in\n{}", self.0);
    }

    /// Returns lines with the name, the type and the labels of each metric.
    fn shape(&self) -> String {
        let mut metrics: BTreeMap<&str, (&str, BTreeSet<&str>)> = BTreeMap::new();
        let mut current = "";
        for line in self.0.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                metrics.insert(name, (kind, BTreeSet::new()));
                current = name;
            } else if !line.starts_with('#') {
                let labels = line.split_once('{').map_or("", |(_, rest)| rest);
                let (_, known) = metrics.get_mut(current).unwrap();
                let names = labels.split("\",").filter_map(|it| it.split_once("=\""));
                known.extend(names.map(|(name, _)| name).filter(|it| *it != "le"));
            }
        }
        let lines = metrics.into_iter().map(|(name, (kind, labels))| {
            let labels = labels.into_iter().collect::<Vec<_>>().join(",");
            let line = format!("{name} {kind} {labels}");
            format!("{}\n", line.trim_end())
        });
        lines.collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_and_a_failure_are_counted() {
    let bench = bench();
    let mut payload = job(&["echo hello"]);
    payload["job_info"]["time_in_queue_seconds"] = 42.into();
    payload["job_info"]["queue_size"] = 5.into();
    payload["job_info"]["queue_depth"] = 3.into();
    payload["job_info"]["project_jobs_running_on_instance_runners_count"] = "2".into();
    let good = bench.server.queue(payload);
    let runner = bench.start();
    let address = runner.debug.unwrap();
    bench.end_of(good).await;
    let bad = bench.queue(&["exit 3"]);
    bench.end_of(bad).await;
    let nothing_left = format!("runwright_runner_outbox_jobs{{{RUNNER}}} 0\n");
    let scrape = Scrape(wait_for(address, "/metrics", |it| it.contains(&nothing_left)).await);
    assert_eq!(scrape.shape(), GOLDEN);

    let named = |name: &str| format!("gitlab_runner_{name}{{{NAMED},{SYSTEM}}}");
    scrape.check(&named("jobs_total"), 2);
    scrape.check(&named("limit"), 0);
    let failed =
        "gitlab_runner_failed_jobs_total{failure_reason=\"script_failure\",mode=\"script\"";
    scrape.check(&format!("{failed},{NAMED}}}"), 1);
    scrape.check(
        &format!("gitlab_runner_job_duration_seconds_count{{mode=\"script\",{NAMED},{SYSTEM}}}"),
        2,
    );
    scrape.check(
        "gitlab_runner_job_execution_mode_total{executor=\"shell\",mode=\"script\"}",
        2,
    );
    let queue = "gitlab_runner_job_queue_duration_seconds_sum{project_jobs_running=\"2\"";
    scrape.check(&format!("{queue},{NAMED},{SYSTEM}}}"), 42);
    let failure = |kind: &str| {
        let name = "gitlab_runner_worker_processing_failures_total";
        format!("{name}{{failure_type=\"{kind}\",{NAMED},{SYSTEM}}}")
    };
    scrape.check(&failure("job_failure"), 1);
    scrape.check(&failure("no_free_executor"), 0);
    let idle = format!(
        "gitlab_runner_jobs{{executor_stage=\"idle\",{NAMED},stage=\"idle\",state=\"idle\",{SYSTEM}}}"
    );
    scrape.check(&idle, 0);

    let calls = |endpoint: &str, method: &str, status: u16| {
        format!(
            "gitlab_runner_api_request_statuses_total{{endpoint=\"{endpoint}\",method=\"{method}\",{RUNNER},\
             status=\"{status}\",{SYSTEM}}}"
        )
    };
    scrape.check(&calls("request_job", "post", 201), 2);
    let traces = bench.server.with_state(|it| it.count(Endpoint::Trace));
    scrape.check(&calls("patch_trace", "patch", 202), traces);
    let logs = bench.server.trace(good).len() + bench.server.trace(bad).len();
    scrape.check(
        &format!("runwright_runner_trace_bytes_total{{{RUNNER}}}"),
        logs,
    );

    let stages = |name: &str, stage: &str| {
        let series = format!("gitlab_runner_job_stage_duration_seconds_count{{{NAMED}");
        let stage = format!("stage=\"{stage}\"");
        match name {
            "all" => scrape.value(&format!("{series},{stage},{SYSTEM}}}")),
            _ => scrape.value(&format!(
                "runwright_runner_job_overhead_seconds_count{{{RUNNER},{stage}}}"
            )),
        }
    };
    assert_eq!(stages("all", "step_script"), Some(2));
    assert_eq!(stages("overhead", "step_script"), None);
    for stage in ["prepare_executor", "prepare_script", "cleanup_executor"] {
        assert_eq!(stages("overhead", stage), Some(2), "{stage}");
    }
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_polls_and_undelivered_ends_are_seen() {
    let bench = bench();
    bench
        .server
        .rule(Rule::on(Endpoint::Request).status(500).once());
    bench
        .server
        .rule(Rule::on(Endpoint::UpdateFinal).status(502));
    let runner = bench.start();
    let address = runner.debug.unwrap();
    let id = bench.queue(&["echo hello"]);
    let waits = format!("runwright_runner_outbox_jobs{{{RUNNER}}} 1\n");
    let scrape = Scrape(wait_for(address, "/metrics", |it| it.contains(&waits)).await);
    let named = |name: &str| format!("gitlab_runner_{name}{{{NAMED},{SYSTEM}}}");
    scrape.check(&named("worker_health_check_failures_total"), 1);
    scrape.check(&named("worker_feed_failures_total"), 1);
    bench.server.clear_rules();
    bench.end_of(id).await;
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_seen_after_a_reload() {
    let bench = bench();
    let runner = bench.start();
    let address = runner.debug.unwrap();
    let mut settings = bench.settings.clone();
    settings.concurrent = 3;
    settings.runners.clear();
    runner.reload.send_replace(Some(settings));
    let three = "gitlab_runner_concurrent 3\n";
    let scrape = wait_for(address, "/metrics", |it| {
        it.contains(three) && !it.contains("gitlab_runner_limit{")
    });
    let scrape = Scrape(scrape.await);
    scrape.check("gitlab_runner_worker_slots_number", 3);
    let operations = |operation| {
        format!("gitlab_runner_worker_slot_operations_total{{operation=\"{operation}\"}}")
    };
    scrape.check(&operations("started"), 3);
    scrape.check(&operations("stopped"), 0);
    // Counters of a runner that is gone remain.
    scrape.check(&format!("gitlab_runner_jobs_total{{{NAMED},{SYSTEM}}}"), 0);
    assert!(client::get(address, "/health/ready").await.status == 200);
    runner.finish().await;
}
