//! Memory use does not grow with output.

use std::path::Path;
use std::time::{Duration, Instant};

use steps::wire::v1;
use steps::wire::v1::step_runner_client::StepRunnerClient;

use super::support::{PATIENCE, channel, steps_of};

/// The size of the steps' output in bytes.
const OUTPUT: u64 = 100 << 20;

/// Returns the private memory of a process in KiB.
pub(crate) fn held(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let words = line.unwrap_or_default().trim().trim_end_matches(" kB");
    words.parse().unwrap()
}

/// An agent in its own process, whose memory is separate from that of the test.
struct Agent(std::process::Child);

impl Agent {
    #[expect(clippy::disallowed_methods, reason = "the test ends the agent itself")]
    fn start(socket: &Path) -> Self {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_runwright-agent"))
            .args(["serve", "--socket"])
            .arg(socket)
            .stderr(std::process::Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_is_not_held_in_memory() {
    // R-STEP-20
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let agent = Agent::start(&socket);
    let begin = Instant::now();
    while tokio::net::UnixStream::connect(&socket).await.is_err() {
        assert!(begin.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut client = StepRunnerClient::new(channel(socket).await);
    let script = format!(
        "yes 'a line of some sixty bytes, as programs write them, again' | head -c {OUTPUT}"
    );
    for (id, follows) in [("alone", false), ("slow", true)] {
        let request = v1::RunRequest {
            id: id.to_owned(),
            steps: steps_of(&[("flood", &script)]),
            shell: Some(v1::Shell {
                argv: vec!["/bin/sh".to_owned()],
            }),
            work_dir: folder.path().display().to_string(),
            ..v1::RunRequest::default()
        };
        client.run(request).await.unwrap();
        let mut slow = None;
        if follows {
            let id = id.to_owned();
            let logs = client
                .follow_logs(v1::FollowLogsRequest { id, offset: 0 })
                .await;
            let mut logs = logs.unwrap().into_inner();
            // It reads once, and then stops reading.
            assert!(logs.message().await.unwrap().is_some());
            slow = Some(logs);
        }
        let mut most = 0;
        let result = loop {
            most = most.max(held(agent.0.id()));
            let id = id.to_owned();
            let status = client
                .status(v1::StatusRequest { id })
                .await
                .unwrap()
                .into_inner();
            let status = status.jobs.into_iter().next().unwrap();
            if status.finished {
                break status.result.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(result.stdout_bytes, OUTPUT);
        assert!(most < 10 * 1024, "{id}: {most} KiB");
        drop(slow);
        client
            .finish(v1::FinishRequest { id: id.to_owned() })
            .await
            .unwrap();
    }
}
