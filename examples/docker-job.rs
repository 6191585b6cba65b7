//! Runs one job in a container.
//!
//! ```console
//! $ cargo run --example docker-job                  # in busybox
//! $ cargo run --example docker-job -- debian:12     # in another image
//! ```
//!
//! It shows how a program uses an executor without a pipeline: connect, prepare, run a stage, clean up.
//! `DOCKER_HOST` or the context of the docker command selects the engine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints what it shows"
)]

use runwright::core::job::Image;
use runwright::core::prelude::*;
use runwright::core::trace::TraceStream;
use runwright::core::{JobSlot, Placement, chain};
use runwright::docker::config::DockerConfig;
use runwright::docker::engine::{DockerHost, Engine, HostSettings};
use runwright::docker::image::PullPolicy;
use runwright::docker::{DockerError, DockerOptions, provider};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Prints a job's log as it arrives.
#[derive(Debug)]
struct Screen;

impl JobTrace for Screen {
    fn write(&self, _stream: TraceStream, data: &[u8]) {
        // If the terminal is closed, there is no reader left to inform.
        let _ = std::io::stdout().write_all(data);
    }
    fn idle(&self, _stream: TraceStream) {}
    fn add_mask(&self, _secret: &str) {}
}

#[tokio::main]
async fn main() -> ExitCode {
    let image = std::env::args().nth(1);
    let image = image.unwrap_or_else(|| "busybox".to_owned());
    if let Err(error) = engine().await {
        eprintln!("error: {}", chain(&error));
        eprintln!("help: start Docker or Podman, or say where it is with DOCKER_HOST");
        return ExitCode::from(3);
    }
    match run(&image).await {
        Ok(StageStatus::Exited(code)) if code.0 == 0 => ExitCode::SUCCESS,
        Ok(status) => {
            println!("the job ended with {status:?}");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::from(3)
        }
    }
}

async fn engine() -> Result<Engine, DockerError> {
    let host = DockerHost::find(&HostSettings {
        host: None,
        tls_verify: false,
        tls_cert_path: None,
    })?;
    Engine::connect(&host).await
}

async fn run(image: &str) -> Result<StageStatus, BuildError> {
    let options = DockerOptions::new().with_config(DockerConfig {
        pull_policy: vec![PullPolicy::IfNotPresent],
        ..DockerConfig::default()
    });
    let provider = provider(options);
    let mut executor = provider.create(&ExecutorData::new())?;
    let never = Cancellation::new();
    let done = job(&mut *executor, image, &never).await;
    // Cleanup runs whether the stage succeeded or not.
    executor.cleanup().await?;
    done
}

async fn job(
    executor: &mut dyn Executor,
    image: &str,
    never: &Cancellation,
) -> Result<StageStatus, BuildError> {
    let job = Job {
        image: Image::named(image),
        ..Job::default()
    };
    let options = PrepareOptions {
        config: Arc::new(RunnerConfig::new("example", "docker")),
        job: Arc::new(job),
        variables: Arc::default(),
        trace: Arc::new(Screen),
        slot: JobSlot::default(),
        project_dir: None,
        planned: None,
    };
    let environment = executor.prepare(options, never).await?;
    let command = StageCommand {
        stage: BuildStage::script(),
        script: "echo \"Hello from $(uname -n), as user $(id -u)\"\n".to_owned(),
        placement: Placement::User,
        variables: Arc::default(),
        working_dir: environment.workspace.dirs().builds_dir.clone(),
    };
    let result = executor.run(command, never).await?;
    Ok(result.status)
}
