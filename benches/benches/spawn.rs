//! The cost of starting and ending a process, compared with plain std.
//!
//! `cargo bench -p benches --bench spawn`. `SPAWN_ROUNDS` sets the number of
//! processes of each kind, 300 by default. Figures are medians; only their ratios
//! compare across machines.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use process::{Command, Containment, NeverStop, Settings, Stream, Supervisor, Timing};
use tokio::runtime::{Builder, Runtime};

/// The resident memory of a runner after some time at work.
const BALLAST: usize = 512 << 20;

const PROGRAMS: [(&str, &[&str]); 2] = [("/bin/true", &[]), ("/bin/bash", &["-c", "true"])];

fn main() {
    let rounds = std::env::var("SPAWN_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(300);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!("start, read both streams to their end, wait, nothing left; medians of {rounds}");
    measure(&runtime, rounds, "");
    let mut ballast = vec![0_u8; BALLAST];
    // Writing maps the pages, so that a fork would have to copy their tables.
    ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    measure(&runtime, rounds, ", 512 MiB resident");
    black_box(ballast);
}

fn measure(runtime: &Runtime, rounds: usize, situation: &str) {
    let _inside = runtime.enter();
    let kinds = [Containment::Auto, Containment::NoCgroup];
    let supervisors = kinds.map(|containment| {
        Supervisor::start(Settings {
            containment,
            ..Settings::default()
        })
        .expect("a supervisor")
    });
    let trees = supervisors.each_ref().map(Supervisor::tree);
    for (program, args) in PROGRAMS {
        let mut bare = Vec::new();
        let mut ours = [const { Vec::new() }; 2];
        // Alternating, so that noise of the machine affects all.
        for _ in 0..rounds {
            bare.push(time(|| std_process(program, args)));
            for (tree, times) in trees.iter().zip(&mut ours) {
                let command = Command::new(program).args(args.iter().copied());
                times.push(time(|| runtime.block_on(one(tree, &command))));
            }
        }
        let bare = median(bare);
        let name = [program, &args.join(" ")].join(" ").trim_end().to_owned() + situation;
        report(&format!("{name}: std, posix_spawn"), bare, bare);
        let held = if trees[0].is_contained() {
            "in a cgroup leaf"
        } else {
            "no cgroup here"
        };
        for (kind, times) in [held, "held by group and marker"].into_iter().zip(ours) {
            report(&format!("{name}: ours, {kind}"), median(times), bare);
        }
    }
    for tree in trees {
        runtime
            .block_on(tree.close())
            .expect("an empty tree closes");
    }
}

fn std_process(program: &str, args: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "the floor to compare with")]
    let output = std::process::Command::new(program)
        .args(args)
        .env_clear()
        .output();
    assert!(output.expect("the program starts").status.success());
}

async fn one(tree: &process::ProcessTree, command: &Command) {
    let mut sink = |_: Stream, _: &[u8]| {};
    let process = tree.spawn(command).expect("the program starts");
    let outcome = process.run(&mut sink, &NeverStop, &Timing::default()).await;
    assert!(outcome.expect("the program ends").success());
}

fn time(action: impl FnOnce()) -> Duration {
    let start = Instant::now();
    action();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn report(name: &str, time: Duration, floor: Duration) {
    let ratio = time.as_secs_f64() / floor.as_secs_f64();
    println!(
        "{name:<64} {:>8.3} ms {ratio:>6.2}x",
        time.as_secs_f64() * 1e3
    );
}
