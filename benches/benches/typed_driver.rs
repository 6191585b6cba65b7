//! The cost of a stage through a typed driver, compared with a bare start of a driver that is `exec "$@"` in sh.
//!
//! `cargo bench -p benches --bench typed_driver`. `DRIVER_ROUNDS` sets the number of stages, 300 by default. Goal: 0.2x for
//! the protocol, which is a stage of a driver that answers without starting a shell.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use benches::statistics::median;
use executor_core::prelude::*;
use executor_driver::{DriverConfig, DriverProvider};
use executor_testkit::{CommandBuilder, OptionsBuilder, runner_config};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const DRIVER: &str = "#!/bin/sh\nexec \"$@\"\n";

/// The example with a run that starts nothing.
const ANSWERS: &str = "\
import host
class Answers(host.Host):
    def call_run(self, call, params, payload): return {'exit_code': 0}
host.main(Answers())
";

fn main() {
    let rounds = std::env::var("DRIVER_ROUNDS").ok();
    let rounds: usize = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(300);
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(measure(rounds));
}

async fn measure(rounds: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path();
    let bare = place.join("driver");
    std::fs::write(&bare, DRIVER).expect("written");
    std::fs::set_permissions(&bare, std::fs::Permissions::from_mode(0o755)).expect("executable");
    std::fs::write(place.join("script"), ":\n").expect("written");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/drivers");
    std::fs::copy(examples.join("host.py"), place.join("host.py")).expect("copied");
    std::fs::write(place.join("answers.py"), ANSWERS).expect("written");

    let mut answers = Stages::start(&place.join("answers.py")).await;
    let mut host = Stages::start(&place.join("host.py")).await;
    let [mut protocol, mut whole, mut floor] = [const { Vec::new() }; 3];
    // Alternating, so that noise of the machine affects all.
    for _ in 0..rounds {
        floor.push(bare_start(&bare, &place.join("script")));
        protocol.push(answers.run().await);
        whole.push(host.run().await);
    }
    answers.end().await;
    host.end().await;
    let floor = median(&floor);
    println!("one stage, medians of {rounds}");
    println!(
        "{:<44} {:>8.3} ms   1.00x",
        "bare start of a driver, exec \"$@\"",
        floor.as_secs_f64() * 1e3
    );
    for (what, times, goal) in [
        (
            "stage through a typed driver, protocol",
            protocol,
            ", goal 0.2x",
        ),
        ("the same with a shell that Python starts", whole, ""),
    ] {
        let time = median(&times).as_secs_f64();
        let ratio = time / floor.as_secs_f64();
        println!("{what:<44} {:>8.3} ms {ratio:>6.2}x{goal}", time * 1e3);
    }
}

/// A prepared job of a driver.
struct Stages {
    provider: DriverProvider,
    executor: Box<dyn Executor>,
    working_dir: String,
}

impl Stages {
    async fn start(driver: &Path) -> Self {
        let driver = driver.to_str().expect("text");
        let provider = executor_driver::provider(DriverConfig::new(["python3", driver]));
        let config = runner_config("driver");
        let go_on = Cancellation::new();
        let data = provider.acquire(&config, &go_on).await.expect("capacity");
        let mut executor = provider.create(&data).expect("an executor");
        let options = OptionsBuilder::new().config(config).build();
        let environment = executor.prepare(options, &go_on).await.expect("prepared");
        let working_dir = environment.workspace.dirs().builds_dir.clone();
        Self {
            provider,
            executor,
            working_dir,
        }
    }

    async fn run(&mut self) -> Duration {
        let command = CommandBuilder::new(":").working_dir(self.working_dir.clone());
        let start = Instant::now();
        let result = self
            .executor
            .run(command.build(), &Cancellation::new())
            .await;
        assert!(result.expect("a stage").status.is_success());
        start.elapsed()
    }

    async fn end(mut self) {
        self.executor.cleanup().await.expect("cleaned up");
        let stopped = self.provider.shutdown(Duration::from_secs(10)).await;
        stopped.expect("stopped");
    }
}

fn bare_start(driver: &Path, script: &Path) -> Duration {
    let start = Instant::now();
    #[expect(clippy::disallowed_methods, reason = "the floor to compare with")]
    let output = std::process::Command::new(driver)
        .arg("sh")
        .arg(script)
        .output();
    assert!(output.expect("the driver starts").status.success());
    start.elapsed()
}
