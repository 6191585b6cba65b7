//! Runwright beside other programs that run pipelines locally.
//!
//! `cargo bench -p benches --bench side_by_side`. The peers are installed on first use. Arguments after `--` select
//! workloads by a part of their names, and `--no-peers` measures Runwright alone. `SIDE_BY_SIDE_ROUNDS` sets the
//! number of rounds, 5 by default. The exit code is 1 when a peer was requested and could not be measured.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::process::ExitCode;

use benches::{Bench, Contest, Tool, Workload, peer, table};
use tokio::runtime::Builder;

const GCL: &str = "gitlab-ci-local";
const GCL_QUIET: &str = "gitlab-ci-local --quiet";
const BITRAB: &str = "bitrab";

/// The memory limit of one process that runs 500 trivial jobs.
const GOAL_PEAK: u64 = 40 << 20;

fn main() -> anyhow::Result<ExitCode> {
    let rounds = std::env::var("SIDE_BY_SIDE_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let all_measured = runtime.block_on(compare(rounds))?;
    Ok(ExitCode::from(u8::from(!all_measured)))
}

/// Runs and prints the selected contests; false if a peer is not available.
async fn compare(rounds: usize) -> anyhow::Result<bool> {
    // Cargo adds `--bench`, which does not select a workload.
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let bench = Bench::start()?;
    let ours = bench.runwright().await?;
    let peers = if flags.iter().any(|flag| flag == "--no-peers") {
        Vec::new()
    } else {
        vec![
            peer::gitlab_ci_local(&bench).await,
            peer::bitrab(&bench).await,
        ]
    };
    let (tools, missing) = sort(peers);
    println!("{rounds} rounds in turn, medians; ratios by rounds; piped: read by the bench");
    for contest in contests(&ours, &tools) {
        if words.is_empty() || words.iter().any(|word| contest.name().contains(word)) {
            let results = contest.hold(&bench, rounds).await?;
            print!("\n{}", table(contest.name(), &results, &missing));
        }
    }
    Ok(missing.is_empty())
}

/// Separates available peers from missing ones; prints the reasons and returns rows for the missing.
fn sort(peers: Vec<peer::Peer>) -> (Vec<Tool>, Vec<String>) {
    let (mut tools, mut missing) = (Vec::new(), Vec::new());
    for peer in peers {
        match peer.tool {
            Ok(tool) => tools.push(tool),
            Err(error) => {
                println!("{} is NOT MEASURED: {error:#}\n", peer.name);
                missing.push(format!("{:<26} NOT MEASURED, see above", peer.name));
            }
        }
    }
    (tools, missing)
}

fn contests(ours: &Tool, peers: &[Tool]) -> Vec<Contest> {
    let with_peers = |workload| {
        let contest = Contest::new(workload, ours.clone());
        peers.iter().cloned().fold(contest, Contest::against)
    };
    // Adds a variant of a peer, if that peer is available.
    let variant = |contest: Contest, name: &str, argument: &str| {
        let peer = peers.iter().filter(|peer| peer.name() == name);
        peer.fold(contest, |contest, peer| {
            contest.against(peer.with(argument))
        })
    };
    // Without worktrees, bitrab exceeds its memory limit at some dozen jobs.
    let in_place = |contest| variant(contest, BITRAB, "--no-worktrees");

    let log = Workload::log(50_000_000);
    let producer = Tool::new("bash -c, the producer", "bash");
    let producer = producer.run_with(&["-c", log.jobs()[0].script()]);
    vec![
        in_place(with_peers(Workload::one())).goal(GCL, 40.0),
        in_place(with_peers(Workload::parallel(20))).goal(GCL, 15.0),
        in_place(with_peers(Workload::parallel(50))),
        with_peers(Workload::dag(10, 10)).goal(GCL, 20.0),
        with_peers(Workload::parallel(500)).peak_goal(GOAL_PEAK),
        with_peers(Workload::list(1000)),
        variant(with_peers(log), GCL, "--quiet")
            .against(producer)
            .goal(GCL, 30.0)
            .goal(GCL_QUIET, 4.0)
            .goal(BITRAB, 4.0),
    ]
}
