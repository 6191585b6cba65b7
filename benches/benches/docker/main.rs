//! Jobs in containers, against what Docker itself takes for the same.
//!
//! ```console
//! $ RUNWRIGHT_TEST_DOCKER=unix:///.. cargo bench -p benches --bench docker              # all
//! $ RUNWRIGHT_TEST_DOCKER=unix:///.. cargo bench -p benches --bench docker -- stage log # parts
//! $ cargo xtask docker -- cargo bench -p benches --bench docker                         # with an engine of its own
//! ```
//!
//! The engine has the images of `cargo xtask test`, `docker` is on `PATH`, and `$RUNWRIGHT_AGENT` names the agent that
//! `cargo xtask agent` builds. What is compared runs in turn. `prepare` alone needs no engine: it has a fake one, whose
//! answers take a set time; it needs git.

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
