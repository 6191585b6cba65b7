use super::client::{ask, get};
use super::{bench, release, until_released, wait_for};
use crate::bench::{Bench, PATIENCE};
use executor_core::CancelCause;
use process::{Settings as ProcessSettings, Supervisor};
use runner::{DeliveryTimes, ManagerError, Outbox, serve_debug};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn runner_is_ready_while_it_takes_jobs() {
    let bench = bench();
    let runner = bench.start();
    let address = runner.debug.unwrap();
    let id = bench.queue(&[&until_released(&bench)]);
    bench.wait("the job", |it| it.is_acknowledged(id)).await;
    assert_eq!(get(address, "/health/ready").await.status, 200);
    assert_eq!(get(address, "/debug/process/state").await.body, "running\n");

    runner.stop.cancel(CancelCause::Shutdown);
    let state = "graceful-shutdown\n";
    wait_for(address, "/debug/process/state", |it| it == state).await;
    let ready = get(address, "/health/ready").await;
    assert_eq!(
        (ready.status, &*ready.body),
        (503, "not ready: graceful-shutdown\n")
    );
    assert_eq!(get(address, "/health/live").await.status, 200);
    let metrics = get(address, "/metrics").await.body;
    let states = metrics.lines();
    let states = states.filter(|it| it.starts_with("gitlab_runner_process_state_info"));
    let expect = "gitlab_runner_process_state_info{state=\"graceful-shutdown\"} 1";
    assert_eq!(states.collect::<Vec<_>>(), [expect]);

    release(&bench);
    runner.ended().await;
    assert!(
        TcpStream::connect(address).await.is_err(),
        "the server ends with the runner"
    );
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_is_not_ready_before_it_polls() {
    let bench = Bench::new();
    let supervisor = Supervisor::start(ProcessSettings::default()).unwrap();
    let manager = bench.manager(DeliveryTimes::default(), &supervisor);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = JoinSet::new();
    server.spawn(serve_debug(listener, manager.debug_state()));
    let ready = get(address, "/health/ready").await;
    assert_eq!((ready.status, &*ready.body), (503, "not ready: starting\n"));
    server.shutdown().await;
    supervisor.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn running_jobs_are_listed() {
    let bench = bench();
    let runner = bench.start();
    let address = runner.debug.unwrap();
    let id = bench.queue(&[&until_released(&bench)]);
    let in_script = |page: &str| page.contains(" stage=step_script ");
    let page = wait_for(address, "/debug/jobs/list", in_script).await;
    let url = format!("{}/group/project/-/jobs/{id}", bench.server.url());
    let start = format!("url={url} state=running stage=step_script executor_stage=run duration=");
    let duration = page.strip_prefix(&start).expect(&page);
    assert!(duration.ends_with("s\n"), "{page}");
    assert!(
        get(address, "/debug/jobs/list")
            .await
            .head
            .contains("x-list-version: 2")
    );
    let metrics = get(address, "/metrics").await.body;
    let running = metrics.lines().find(|it| it.contains("state=\"running\""));
    let running = running.expect(&metrics);
    assert!(
        running.contains("stage=\"step_script\"") && running.ends_with(" 1"),
        "{running}"
    );

    release(&bench);
    bench.end_of(id).await;
    wait_for(address, "/debug/jobs/list", str::is_empty).await;
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_are_refused() {
    let bench = bench();
    let runner = bench.start();
    let address = runner.debug.unwrap();
    assert_eq!(get(address, "/").await.status, 404);
    assert_eq!(get(address, "/metrics/../metrics").await.status, 404);
    let post = "POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    let post = ask(address, post).await;
    assert_eq!(post.status, 405);
    assert!(post.head.contains("allow: get, head"), "{}", post.head);
    let head = ask(address, "HEAD /metrics?x=1 HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert_eq!((head.status, &*head.body), (200, ""));
    assert!(
        head.head
            .contains("content-type: text/plain; version=0.0.4"),
        "{}",
        head.head
    );
    assert_eq!(ask(address, "nonsense\r\n\r\n").await.status, 400);
    let long = "x".repeat(32 << 10);
    let long = format!("GET /metrics HTTP/1.1\r\nHost: h\r\nX: {long}\r\n\r\n");
    assert_eq!(ask(address, &long).await.status, 431);
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_client_does_not_block_another() {
    let bench = bench();
    let runner = bench.start();
    let address = runner.debug.unwrap();
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metr").await.unwrap();
        slow.push(stream);
    }
    assert_eq!(get(address, "/health/live").await.status, 200);
    runner.finish().await;
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn address_changes_with_the_settings() {
    let bench = bench();
    let runner = bench.start();
    let first = runner.debug.unwrap();
    let reload = |address: Option<SocketAddr>, concurrent| {
        let mut settings = bench.settings.clone();
        settings.concurrent = concurrent;
        settings.listen_address = address.map(|it| it.to_string().parse().unwrap());
        runner.reload.send_replace(Some(settings));
    };
    let used = TcpListener::bind("127.0.0.1:0").await.unwrap();
    reload(Some(used.local_addr().unwrap()), 2);
    let two = |page: &str| page.contains("gitlab_runner_concurrent 2\n");
    wait_for(first, "/metrics", two).await;

    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let next = free.local_addr().unwrap();
    drop(free);
    reload(Some(next), 3);
    wait_until(next, true).await;
    wait_until(first, false).await;
    assert_eq!(get(next, "/health/ready").await.status, 200);

    // The same port, on all interfaces.
    let everywhere = SocketAddr::from(([0, 0, 0, 0], next.port()));
    reload(Some(everywhere), 3);
    wait_until(([127, 0, 0, 2], next.port()).into(), true).await;

    reload(None, 3);
    wait_until(next, false).await;
    runner.finish().await;
}

/// Waits until something listens there, or nothing does.
async fn wait_until(address: SocketAddr, listens: bool) {
    let wait = async {
        while TcpStream::connect(address).await.is_ok() != listens {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, wait).await;
    came.expect("the server moves in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn used_address_is_an_error_at_the_start() {
    let mut bench = Bench::new();
    let used = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let used = used.local_addr().map(|it| (used, it)).unwrap();
    bench.settings.listen_address = Some(used.1.to_string().parse().unwrap());
    let supervisor = Supervisor::start(ProcessSettings::default()).unwrap();
    let manager = bench.try_manager(DeliveryTimes::default(), &supervisor);
    let error = manager.unwrap_err();
    assert!(matches!(error, ManagerError::Listen { .. }));
    assert_eq!(
        error.to_string(),
        format!("listen on {} for metrics", used.1)
    );
    // A second process of the same file finds its address in use, too, but that is not why it cannot start.
    let _first = Outbox::open(&bench.outbox()).unwrap();
    let manager = bench.try_manager(DeliveryTimes::default(), &supervisor);
    let error = manager.unwrap_err().to_string();
    assert!(error.contains("another runner uses"), "{error}");
    supervisor.shutdown().await.unwrap();
}
