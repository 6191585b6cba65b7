//! What an operator sees of a pool: its log and its metrics.

use crate::driver::{BOOT, FakeDriver, options};
use executor_core::Cancellation;
use executor_machine::{Acquired, MachineMetrics, Pool, PoolOptions, Records};
use parking_lot::Mutex;
use prometheus::{Registry, TextEncoder};
use std::io::{self, Write};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;

/// The lines of the runner's log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Listens on this thread until the guard is dropped.
    fn listen(&self) -> DefaultGuard {
        // With one subscriber alone, an event that a thread without it meets first counts as unwanted for ever.
        static OTHERS: LazyLock<[Dispatch; 2]> =
            LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));
        LazyLock::force(&OTHERS);
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn count(&self, text: &str) -> usize {
        String::from_utf8_lossy(&self.0.lock())
            .matches(text)
            .count()
    }
}

struct World {
    pool: Pool,
    driver: FakeDriver,
    registry: Registry,
    _tasks: JoinSet<()>,
}

fn world(options: PoolOptions) -> World {
    let (driver, registry) = (FakeDriver::default(), Registry::new());
    let metrics = MachineMetrics::new(&registry, "docker+machine").expect("new metrics");
    let records = Records {
        journal: None,
        metrics: Some(metrics),
    };
    let (pool, owner) = Pool::new(options, driver.shared(), records);
    let mut tasks = JoinSet::new();
    tasks.spawn(owner);
    World {
        pool,
        driver,
        registry,
        _tasks: tasks,
    }
}

#[tokio::test(start_paused = true)]
async fn log_says_why_there_is_no_machine() {
    // R-EXEC-77, R-EXEC-90
    let log = Log::default();
    let _listening = log.listen();
    let world = world(options(1));
    assert!(matches!(world.pool.acquire().await, Acquired::Full));
    assert_eq!(log.count("No free machines that can process builds"), 1);
    sleep(BOOT + Duration::from_secs(1)).await;
    assert!(matches!(world.pool.acquire().await, Acquired::Reserved(_)));
    assert_eq!(log.count("No free machines that can process builds"), 1);
}

#[tokio::test(start_paused = true)]
async fn on_demand_acquires_nothing_and_removes_old_machines() {
    // R-EXEC-86
    let log = Log::default();
    let _listening = log.listen();
    let world = world(options(0));
    let go_on = Cancellation::new();
    drop(world.pool.take(None, &go_on).await.unwrap());
    assert_eq!(world.driver.count(), 1);
    sleep(Duration::from_mins(11)).await;
    assert!(matches!(world.pool.acquire().await, Acquired::OnDemand(_)));
    assert!(matches!(world.pool.acquire().await, Acquired::OnDemand(_)));
    let note = "IdleCount is set to 0, so the machine will be created on demand";
    assert_eq!(log.count(note), 1);
    assert_eq!(world.driver.calls("create"), 1, "nothing is acquired");
    assert_eq!(world.driver.count(), 0, "the idle machine was too old");
}

#[tokio::test(start_paused = true)]
async fn metrics_have_the_names_of_the_field() {
    let world = world(options(1));
    world.driver.change(|it| {
        it.failing_creations = 1;
        it.failing_removals = 1;
    });
    // The second attempt takes another boot, after a pause.
    sleep(2 * BOOT + Duration::from_secs(10)).await;
    let Acquired::Reserved(lease) = world.pool.acquire().await else {
        panic!("no machine is idle");
    };
    lease.start();
    let waits = world.pool.take(None, &Cancellation::new()).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    drop((lease, waits));
    world.pool.status().await;
    let text = TextEncoder::new();
    let text = text.encode_to_string(&world.registry.gather()).unwrap();
    let value = |series: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(series));
        let line = line.unwrap_or_else(|| panic!("{series} is missing:\n{text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let of = "{executor=\"docker+machine\"}";
    let action = |name: &str| {
        value(&format!(
            "gitlab_runner_autoscaling_actions_total{{action=\"{name}\","
        ))
    };
    assert!((2.0..4.0).contains(&action("created")), "{text}");
    assert_eq!(action("creation-failed").to_bits(), 1_f64.to_bits());
    assert_eq!(action("removal-failed").to_bits(), 1_f64.to_bits());
    assert_eq!(action("used").to_bits(), 1_f64.to_bits());
    let idle = value(
        "gitlab_runner_autoscaling_machine_states{executor=\"docker+machine\",state=\"idle\"}",
    );
    assert!(idle >= 2.0, "{text}");
    let creation = "gitlab_runner_autoscaling_machine_creation_duration_seconds_sum";
    assert!(value(&format!("{creation}{of}")) >= 60.0, "{text}");
    let hand_over = value(&format!("runwright_machine_hand_over_seconds_sum{of}"));
    assert!((25.0..=31.0).contains(&hand_over), "{text}");
    let first = value(&format!("runwright_machine_first_job_seconds_sum{of}"));
    assert!((30.0..45.0).contains(&first), "{text}");
    let idle = value("runwright_machine_seconds_total{executor=\"docker+machine\",state=\"idle\"}");
    let used = value("runwright_machine_seconds_total{executor=\"docker+machine\",state=\"used\"}");
    assert!(idle > 1.0 && (85.0..95.0).contains(&used), "{text}");
}
