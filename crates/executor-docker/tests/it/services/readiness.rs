//! When services count as ready.

use super::connections::query_port;
use super::setup::{Setup, TestImage, of_image, script, settings, with};
use crate::support::in_time;
use executor_core::cancellation::{CancelCause, Cancellation};
use executor_docker::DockerError;
use executor_docker::config::DockerConfig;
use std::time::Duration;

#[tokio::test]
async fn a_slow_service_is_awaited_at_its_lowest_ports() {
    // R-EXEC-55
    let ports: Vec<String> = (1..=30).map(|port| port.to_string()).collect();
    let image = TestImage::new("many", &format!("EXPOSE {}", ports.join(" "))).await;
    let opens = "sleep 0.5; while true; do echo ready | nc -l -p 17 -w 1; done";
    let setup = Setup::started("many", &[of_image(&image.name, "db", opens)]).await;
    setup.ready().await.expect("it is ready");
    assert!(
        !setup.messages().contains("WARNING"),
        "{}",
        setup.messages()
    );
    let answer = setup.in_the_job(&query_port("db", 17)).await;
    assert_eq!(answer, "db: ready\n");
    setup.close().await;
    image.remove().await;
}

#[tokio::test]
async fn an_unready_service_is_reported_with_its_log_and_fails_a_job_that_requires_it() {
    // R-EXEC-55
    let never = |required: &str| {
        let service = script("db", "echo cannot start; sleep 60");
        let service = with(service, "RUNWRIGHT_READY_TCP", "80");
        let service = with(service, "RUNWRIGHT_READY_TIMEOUT", "1");
        with(service, "RUNWRIGHT_SERVICE_REQUIRED", required)
    };
    for required in [false, true] {
        let service = never(if required { "true" } else { "false" });
        let setup = Setup::started(&format!("never-{required}"), &[service]).await;
        setup.wait_for_log(0, "cannot start").await;
        let ready = setup.ready().await;
        let messages = setup.messages();
        assert!(
            messages.contains("its ports (80) were not all open within 1s"),
            "{messages}"
        );
        assert_eq!(setup.service_output(0), "cannot start\n");
        match ready {
            Ok(()) => assert!(!required),
            Err(error) => assert!(required && error.to_string().contains("the required service")),
        }
        setup.close().await;
    }
}

#[tokio::test]
async fn a_service_that_ends_is_not_waited_for() {
    // R-EXEC-55
    let service = script("db", "echo no space left >&2; exit 3");
    let service = with(service, "RUNWRIGHT_READY_TCP", "80");
    let service = with(service, "RUNWRIGHT_READY_TIMEOUT", "1000");
    let setup = Setup::started("ends", &[service]).await;
    // The wait ends before the limit.
    in_time(setup.ready()).await.expect("the job goes on");
    let messages = setup.messages();
    assert!(
        messages.contains("is not ready: it ended with exit code 3"),
        "{messages}"
    );
    // The end was reported once and is not reported again.
    setup.services.watch();
    setup.close().await;
}

#[tokio::test]
async fn an_images_health_check_does_not_wait_for_its_interval() {
    // R-EXEC-55
    let check = "HEALTHCHECK --interval=300s CMD test -e /healthy\nEXPOSE 80";
    let image = TestImage::new("health", check).await;
    let service = of_image(&image.name, "db", "sleep 0.3; touch /healthy; sleep 60");
    let setup = Setup::started("health", &[service]).await;
    setup.ready().await.expect("it is ready");
    assert!(
        !setup.messages().contains("WARNING"),
        "{}",
        setup.messages()
    );
    setup.close().await;
    image.remove().await;
}

#[tokio::test]
async fn http_command_and_log_probes_detect_readiness() {
    // R-EXEC-55
    let serve = "mkdir /www; echo hello > /www/health; sleep 0.2; httpd -p 8080 -h /www; sleep 0.2; \
                 touch /done; printf 'is rea'; sleep 0.1; echo dy; sleep 60";
    let service = with(script("db", serve), "RUNWRIGHT_READY_HTTP", "8080/health");
    let service = with(service, "RUNWRIGHT_READY_EXEC", "test -e /done");
    let service = with(service, "RUNWRIGHT_READY_LOG", "is ready");
    let missing = with(
        script("other", "httpd -f -p 80"),
        "RUNWRIGHT_READY_HTTP",
        "80/none",
    );
    let missing = with(missing, "RUNWRIGHT_READY_TIMEOUT", "1");
    let setup = Setup::started("probes", &[service, missing]).await;
    setup.ready().await.expect("the job goes on");
    let messages = setup.messages();
    assert!(
        messages.contains("(other) is not ready: its port 80 did not answer"),
        "{messages}"
    );
    assert!(!messages.contains("(db) is not"), "{messages}");
    setup.close().await;
}

#[tokio::test]
async fn the_settings_can_disable_the_wait() {
    // R-EXEC-55
    let config = DockerConfig {
        wait_for_services_timeout: -1,
        ..settings()
    };
    let never = with(script("db", "sleep 60"), "RUNWRIGHT_READY_TCP", "80");
    let setup = Setup::new("off", config, &[], &[never]).await;
    setup.start().await.expect("it starts");
    setup.ready().await.expect("nothing is waited for");
    assert!(
        !setup.messages().contains("WARNING"),
        "{}",
        setup.messages()
    );
    setup.close().await;
}

#[tokio::test]
async fn a_stop_ends_the_wait() {
    // R-EXEC-68
    let never = with(script("db", "sleep 60"), "RUNWRIGHT_READY_TCP", "80");
    let setup = Setup::started("stop", &[never]).await;
    let cancellation = Cancellation::new();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancellation.cancel(CancelCause::User);
    };
    let (ready, ()) = tokio::join!(setup.services.ready(&cancellation), stop);
    assert!(matches!(
        ready,
        Err(DockerError::Canceled(CancelCause::User))
    ));
    setup.close().await;
}
