//! Tests that the examples do what they describe.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "../../custom-executor.rs"]
#[expect(dead_code, unreachable_pub, reason = "the example is a program too")]
mod custom_executor_example;
#[path = "../../stacked-provider.rs"]
#[expect(dead_code, unreachable_pub, reason = "the example is a program too")]
mod stacked_provider_example;

mod custom_executor;
mod docker_job;
mod local_pipeline;
mod stacked_provider;
mod watched_run;
