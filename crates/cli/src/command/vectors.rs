use super::print;
use crate::args::VectorsArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use anyhow::Context;
use runwright::pipeline::vectors::{check, parse};
use std::fs;

/// Checks a file of vectors, and prints what came of each as a line of JSON.
pub(crate) fn vectors(args: &VectorsArgs) -> Result<Exit, Failure> {
    let shown = args.file.display();
    let text = fs::read_to_string(&args.file)
        .with_context(|| format!("read {shown}"))
        .map_err(Failure::usage)?;
    let vectors = parse(&text)
        .with_context(|| format!("read the vectors of {shown}"))
        .map_err(Failure::usage)?;
    let mut all_pass = true;
    for vector in &vectors {
        let outcome = check(vector);
        all_pass &= outcome.pass;
        print(serde_json::to_string(&outcome).map_err(Failure::environment)? + "\n")?;
    }
    Ok(if all_pass {
        Exit::Success
    } else {
        Exit::JobFailed
    })
}
