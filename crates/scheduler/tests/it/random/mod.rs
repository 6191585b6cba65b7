//! Random runs of random pipelines, compared with a reference that recomputes everything.
//!
//! Every case has a seed. A failing case prints it; `RUNWRIGHT_TEST_SEED` runs that case alone.

mod affected;
mod dice;
mod forecast;
mod machine;
mod pipeline;
mod reference;
mod replay;
mod restore;
mod schedules;

use dice::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const SEED: &str = "RUNWRIGHT_TEST_SEED";

/// Runs `case` with each seed below `count`, or with the seed from the environment.
fn for_each_seed(count: u64, mut case: impl FnMut(&mut Dice)) {
    let seed = std::env::var(SEED).ok();
    let seed: Option<u64> = seed.map(|seed| seed.parse().unwrap());
    let seeds = seed.map_or(0..count, |seed| seed..seed + 1);
    for seed in seeds {
        let result = catch_unwind(AssertUnwindSafe(|| case(&mut Dice::new(seed))));
        if let Err(panic) = result {
            let message = format!("failed; {SEED}={seed} runs this case alone\n");
            std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes()).unwrap();
            resume_unwind(panic);
        }
    }
}
