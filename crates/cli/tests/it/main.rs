//! The binary as a person uses it: real repositories, real shells, real signals.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod artifacts;
mod asking;
mod bad_input;
mod bitrab;
mod caches;
mod changed;
mod children;
mod children_again;
mod choosing;
mod clean;
mod clock;
mod console;
mod daemons;
mod disk;
mod docker;
mod docker_garbage;
mod docker_resume;
mod docker_warm;
mod elsewhere;
#[cfg(feature = "embedded-agent")]
mod embedded_agent;
mod environments;
mod events;
mod explain;
#[cfg(feature = "fail-points")]
mod fail_points;
mod fault;
mod flood;
mod full_screen;
mod gitlab;
mod gitlab_variables;
mod going_on;
mod guide;
mod handover;
mod history;
mod hook;
mod init;
mod isolation;
mod known_data;
mod known_faults;
mod known_inputs;
mod lint;
mod list;
mod nasty_jobs;
mod not_local;
mod own_pipeline;
mod plan;
mod project;
mod registry;
mod reports;
mod resource_groups;
mod reuse;
mod run;
mod run_steps;
mod schedule;
mod secrets;
mod settings;
mod shell;
mod show;
mod signals;
mod slow_terminal;
mod steps;
mod terminal;
mod times;
mod tmux;
mod tracked_files;
mod variables;
mod vendor;
mod watch;
mod wide;
#[cfg(not(feature = "embedded-agent"))]
mod without_agent;
