//! Removal of the leftovers of a killed run.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, Run, job, settings};
use executor_docker::config::{DockerConfig, EngineChoice, NetworkChoice};
use executor_docker::garbage::sweep;

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_dead_runs_are_removed_and_those_of_living_runs_kept() {
    // R-EXEC-68
    let config = DockerConfig {
        engine: EngineChoice::Exec,
        network: NetworkChoice::PerJob,
        ..settings()
    };
    let dead = Run::remote(config.clone());
    let alive = Run::remote(config);
    let left = dead.open(job(BUSYBOX)).await;
    let mut lives = alive.open(job(BUSYBOX)).await;
    let before = alive.leftovers().await;
    assert_eq!(
        dead.leftovers().await.len(),
        3,
        "a container, a network, a volume"
    );
    // Like a killed process, this cleans up nothing.
    drop(left);
    let owner = dead.owner.clone();
    // Other objects in the engine have owners that this test does not know.
    let swept = sweep(&engine().await, |other| other.owner != owner)
        .await
        .unwrap();
    assert_eq!(swept.failures, Vec::<String>::new());
    assert_eq!(
        (swept.containers.len(), swept.networks.len()),
        (1, 1),
        "{swept:?}"
    );
    assert_eq!(dead.leftovers().await, Vec::<String>::new());
    assert_eq!(alive.leftovers().await, before);
    assert_eq!(lives.print("echo it lives").await, "it lives\n");
    lives.executor.cleanup().await.unwrap();
    assert_eq!(alive.leftovers().await, Vec::<String>::new());
    let again = sweep(&engine().await, |other| other.owner != owner)
        .await
        .unwrap();
    assert!(again.is_empty(), "{again:?}");
}
