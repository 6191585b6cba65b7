//! Jobs in containers, against the time Docker itself needs for the same work.
//!
//! ```console
//! $ RUNWRIGHT_TEST_DOCKER=unix:///.. cargo bench -p benches --bench docker              # all
//! $ RUNWRIGHT_TEST_DOCKER=unix:///.. cargo bench -p benches --bench docker -- stage log # parts
//! $ cargo xtask docker -- cargo bench -p benches --bench docker                         # with an engine of its own
//! ```
//!
//! The engine has the images of `cargo xtask test`, `docker` is on `PATH`, and `$RUNWRIGHT_AGENT` names the agent
//! that `cargo xtask agent` builds. Compared programs alternate. Only `prepare` needs no engine, but git: it uses a
//! fake engine with fixed response times.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod fake;
mod job;
mod log;
mod means;
mod prepare;
mod removal;
mod stage;
mod warm;

use anyhow::Context as _;
use tokio::runtime::Builder;

const PARTS: [&str; 6] = ["stage", "job", "warm", "prepare", "removal", "log"];

fn main() -> anyhow::Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let is_chosen = |part: &str| {
        let mut words = chosen.iter().filter(|word| !word.starts_with('-'));
        words.clone().next().is_none() || words.any(|word| word == part)
    };
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        for part in PARTS.into_iter().filter(|part| is_chosen(part)) {
            let measured = match part {
                "stage" => stage::measure().await,
                "job" => job::measure().await,
                "warm" => warm::measure().await,
                "prepare" => prepare::measure().await,
                "removal" => removal::measure().await,
                _ => log::measure().await,
            };
            measured.with_context(|| format!("measure {part}"))?;
        }
        Ok(())
    })
}
