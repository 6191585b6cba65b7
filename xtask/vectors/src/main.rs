//! Checks a file of test vectors: `cargo xtask vectors FILE` builds this program and runs it.
#![expect(clippy::print_stdout, reason = "it prints the outcomes")]

use anyhow::Context;
use std::process::ExitCode;
use std::{env, fs};

/// Prints the outcome of each vector as a line of JSON; fails when one does not hold.
fn main() -> anyhow::Result<ExitCode> {
    let file = env::args_os().nth(1).context("no file is given")?;
    let shown = file.display();
    let text = fs::read_to_string(&file).with_context(|| format!("read {shown}"))?;
    let vectors = vectors::parse(&text).with_context(|| format!("read the vectors of {shown}"))?;
    let mut all_pass = true;
    for vector in &vectors {
        let outcome = vectors::check(vector);
        all_pass &= outcome.pass;
        println!("{}", serde_json::to_string(&outcome)?);
    }
    Ok(if all_pass {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
