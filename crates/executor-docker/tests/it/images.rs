//! Pulling images from registries, including faulty ones.

use crate::support::engine;
use crate::support::proxy::{Fault, Proxy};
use crate::support::registry::{Auth, PASSWORD, Registry, USER, document, payload, remove};
use executor_core::{BuildError, CancelCause, Cancellation, FailureReason, TraceStream};
use executor_docker::error::PullFault;
use executor_docker::image::{
    CredentialSources, Credentials, ImageInfo, ImageReference, Images, PullPolicy, PullRetry,
};
use executor_docker::{DockerError, Engine};
use executor_testkit::RecordingTrace;
use futures_util::future::join_all;
use process::{Containment, Settings, Supervisor};
use std::process::Command;
use std::time::{Duration, Instant};

const ALWAYS: &[PullPolicy] = &[PullPolicy::Always];

/// A registry with one image, the proxy before it, and the engine that pulls.
struct PullSetup {
    engine: Engine,
    registry: Registry,
    proxy: Proxy,
    images: Images,
    trace: RecordingTrace,
    cancellation: Cancellation,
    image: ImageReference,
    digest: String,
}

impl PullSetup {
    async fn new(
        auth: Auth,
        bytes: usize,
        plan: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let engine = engine().await;
        let registry = Registry::start(auth);
        let digest = registry
            .push("team/app", bytes, &engine.version().architecture)
            .await;
        let proxy = Proxy::start(registry.port, plan).await;
        let mut retry = PullRetry::default();
        retry.shortest = Duration::from_millis(5);
        retry.longest = Duration::from_millis(20);
        let name = format!("127.0.0.1:{}/team/app:1", proxy.port);
        Self {
            images: Images::new(engine.clone()).with_retry(retry),
            engine,
            registry,
            proxy,
            trace: RecordingTrace::new(),
            cancellation: Cancellation::new(),
            image: ImageReference::parse(&name).unwrap(),
            digest,
        }
    }

    async fn healthy() -> Self {
        Self::new(Auth::Anonymous, 1000, |_, _| Fault::None).await
    }

    fn named(&self, rest: &str) -> ImageReference {
        let name = format!("127.0.0.1:{}/{rest}", self.proxy.port);
        ImageReference::parse(&name).unwrap()
    }

    async fn ensure(&self, policies: &[PullPolicy]) -> Result<ImageInfo, DockerError> {
        self.ensure_of(&self.images, &self.image, policies).await
    }

    async fn ensure_of(
        &self,
        images: &Images,
        image: &ImageReference,
        policies: &[PullPolicy],
    ) -> Result<ImageInfo, DockerError> {
        images
            .ensure(image, policies, None, &self.trace, &self.cancellation)
            .await
    }

    fn log(&self) -> String {
        String::from_utf8(self.trace.all()).unwrap()
    }

    /// Removes the pulled images from the engine.
    async fn remove_images(self) {
        remove(&self.engine, &self.image.to_string()).await;
    }
}

fn class(error: DockerError) -> (FailureReason, bool) {
    let error = BuildError::from(error);
    (error.failure_reason(), error.is_temporary())
}

fn fault(error: &DockerError) -> Option<PullFault> {
    match error {
        DockerError::ImagePull { fault, .. } => Some(*fault),
        _ => None,
    }
}

#[tokio::test]
async fn each_policy_has_its_number_of_requests() {
    // R-EXEC-60
    let setup = PullSetup::healthy().await;
    let never = setup.ensure(&[PullPolicy::Never]).await.unwrap_err();
    assert_eq!(fault(&never), Some(PullFault::NotFound));
    assert_eq!(setup.proxy.count(""), 0);

    let info = setup.ensure(&[PullPolicy::IfNotPresent]).await.unwrap();
    assert_eq!(info.os, "linux");
    assert!(info.digest.unwrap().ends_with(&setup.digest));
    let asked = setup.proxy.count("");
    assert!(asked > 0);

    for policy in [PullPolicy::IfNotPresent, PullPolicy::Never] {
        assert_eq!(setup.ensure(&[policy]).await.unwrap().id, info.id);
    }
    assert_eq!(setup.proxy.count(""), asked);

    setup.ensure(ALWAYS).await.unwrap();
    assert!(setup.proxy.count("") > asked);
    let log = setup.log();
    assert!(
        log.contains(&format!("Pulling docker image {} ...\n", setup.image)),
        "{log}"
    );
    assert!(
        log.contains(&format!("Using docker image {} for", info.id)),
        "{log}"
    );
    assert!(
        log.contains("due to \"if-not-present\" pull policy"),
        "{log}"
    );
    setup.remove_images().await;
}

#[tokio::test]
async fn a_missing_image_is_reported_at_once() {
    let setup = PullSetup::healthy().await;
    for missing in ["team/app:2", "team/none:1"] {
        let before = setup.proxy.count("/manifests/");
        let image = setup.named(missing);
        let error = setup
            .ensure_of(&setup.images, &image, ALWAYS)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
        assert_eq!(class(error), (FailureReason::ImagePullFailure, false));
        // The engine sends a HEAD request and then a GET request.
        assert!(setup.proxy.count("/manifests/") - before <= 2);
    }
    assert!(!setup.log().contains("trying again"), "{}", setup.log());
    setup.remove_images().await;
}

#[tokio::test]
async fn a_digest_names_one_image() {
    let setup = PullSetup::healthy().await;
    let pinned = setup.named(&format!("team/app:moved@{}", setup.digest));
    let info = setup
        .ensure_of(&setup.images, &pinned, ALWAYS)
        .await
        .unwrap();
    assert!(info.digest.unwrap().ends_with(&setup.digest));
    let other = setup.named(&format!("team/app@sha256:{}", "0".repeat(64)));
    let error = setup
        .ensure_of(&setup.images, &other, ALWAYS)
        .await
        .unwrap_err();
    assert_eq!(fault(&error), Some(PullFault::NotFound), "{error}");
    remove(&setup.engine, &info.id).await;
    setup.remove_images().await;
}

#[tokio::test]
async fn a_failing_registry_is_retried() {
    // An engine requests a manifest with HEAD, and with GET when that fails.
    let plan = |line: &str, number| match line {
        line if line.contains("/manifests/") && number <= 4 => Fault::Status(503),
        _ => Fault::None,
    };
    let setup = PullSetup::new(Auth::Anonymous, 1000, plan).await;
    setup.ensure(ALWAYS).await.unwrap();
    let log = setup.log();
    assert!(log.contains("503"), "{log}");
    assert!(log.contains("trying again in"), "{log}");
    setup.remove_images().await;
}

#[tokio::test]
async fn a_failing_registry_is_not_retried_forever() {
    let setup = PullSetup::new(Auth::Anonymous, 1000, |_, _| Fault::Status(502)).await;
    let error = setup.ensure(ALWAYS).await.unwrap_err();
    // Not temporary: outer layers do not repeat all of it.
    let expected = (FailureReason::RunnerExternalDependencyFailure, false);
    assert_eq!(class(error), expected);
    assert_eq!(setup.log().matches("trying again in").count(), 2);
    assert_eq!(setup.proxy.count("GET /v2/ "), 3);
    setup.remove_images().await;
}

#[tokio::test]
async fn an_interrupted_layer_is_pulled_again() {
    let plan = |line: &str, number| match line {
        line if line.contains("/blobs/") && number <= 2 => Fault::Reset(20_000),
        _ => Fault::None,
    };
    let setup = PullSetup::new(Auth::Anonymous, 3_000_000, plan).await;
    let info = setup.ensure(ALWAYS).await.unwrap();
    assert!(info.digest.unwrap().ends_with(&setup.digest));
    assert!(setup.proxy.count("/blobs/") > 2);
    setup.remove_images().await;
}

#[tokio::test]
async fn a_slow_registry_is_awaited_and_reported() {
    let plan = |line: &str, _| match line {
        line if line.contains("/blobs/") => Fault::Slow(20_000),
        _ => Fault::None,
    };
    let mut setup = PullSetup::new(Auth::Anonymous, 1_000_000, plan).await;
    let mut retry = PullRetry::default();
    retry.report = Duration::from_millis(50);
    setup.images = setup.images.with_retry(retry);
    setup.ensure(ALWAYS).await.unwrap();
    let log = setup.log();
    assert!(
        log.contains(&format!("Still pulling {}: 0 of 1 layers", setup.image)),
        "{log}"
    );
    setup.remove_images().await;
}

#[tokio::test]
async fn an_unreachable_registry_is_external_and_the_next_policy_applies() {
    let mut setup = PullSetup::healthy().await;
    setup.ensure(ALWAYS).await.unwrap();
    // The image stays in the engine under the name of a registry that no longer exists.
    let port = setup.proxy.port;
    setup.proxy = Proxy::start(setup.registry.port, |_, _| Fault::None).await;
    tokio::task::yield_now().await;
    let gone = ImageReference::parse(&format!("127.0.0.1:{port}/team/app:1")).unwrap();

    let error = setup
        .ensure_of(&setup.images, &gone, ALWAYS)
        .await
        .unwrap_err();
    assert_eq!(fault(&error), Some(PullFault::Unreachable), "{error}");
    let reason = class(error).0;
    assert_eq!(reason, FailureReason::RunnerExternalDependencyFailure);

    let list = [PullPolicy::Always, PullPolicy::IfNotPresent];
    setup.ensure_of(&setup.images, &gone, &list).await.unwrap();
    let log = setup.log();
    assert!(
        log.contains("Failed to pull image with policy \"always\""),
        "{log}"
    );
    assert!(
        log.contains("Attempt #2: Trying \"if-not-present\" pull policy"),
        "{log}"
    );
    remove(&setup.engine, &gone.to_string()).await;

    // The registry's error explains more than the absence of a local copy.
    let list = [PullPolicy::Always, PullPolicy::Never];
    let error = setup
        .ensure_of(&setup.images, &gone, &list)
        .await
        .unwrap_err();
    assert_eq!(fault(&error), Some(PullFault::Unreachable), "{error}");
    setup.remove_images().await;
}

#[tokio::test]
async fn a_silent_registry_times_out_and_a_cancel_is_immediate() {
    let mut setup = PullSetup::new(Auth::Anonymous, 1000, |_, _| Fault::Stall).await;
    let started = Instant::now();
    let (result, ()) = tokio::join!(setup.ensure(ALWAYS), async {
        while setup.proxy.count("") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        setup.cancellation.cancel(CancelCause::User);
    });
    let error = result.unwrap_err();
    assert!(
        matches!(error, DockerError::Canceled(CancelCause::User)),
        "{error}"
    );

    setup.cancellation = Cancellation::new();
    let mut retry = PullRetry::default();
    retry.tries = 1;
    retry.stall = Duration::from_secs(1);
    setup.images = setup.images.with_retry(retry);
    let error = setup.ensure(ALWAYS).await.unwrap_err();
    assert!(error.to_string().contains("no progress for 1s"), "{error}");
    // Without the shorter limit, the wait would be longer.
    assert!(started.elapsed() < PullRetry::default().stall);
    setup.remove_images().await;
}

#[tokio::test]
async fn jobs_with_the_same_image_share_a_pull() {
    let plan = |line: &str, _| match line {
        line if line.contains("/blobs/") => Fault::Slow(10_000),
        _ => Fault::None,
    };
    let setup = PullSetup::new(Auth::Anonymous, 200_000, plan).await;
    let all = join_all((0..10).map(|_| setup.ensure(ALWAYS))).await;
    let ids: Vec<_> = all.into_iter().map(|info| info.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    // The only manifest is requested with HEAD and with GET.
    assert!(setup.proxy.count("/manifests/") <= 2);
    assert_eq!(setup.log().matches("Using docker image").count(), 10);
    setup.remove_images().await;
}

#[tokio::test]
async fn an_image_for_another_platform_is_a_clear_error() {
    let mut setup = PullSetup::healthy().await;
    setup.registry.push("team/other", 100, "s390x").await;
    setup.image = setup.named("team/other:1");
    let error = setup.ensure(ALWAYS).await.unwrap_err();
    assert_eq!(fault(&error), Some(PullFault::Platform));
    let words = error.to_string();
    assert!(
        words.contains("the image is for linux/s390x, but the engine runs linux/"),
        "{words}"
    );
    assert_eq!(class(error), (FailureReason::ImagePullFailure, false));
    setup.remove_images().await;
}

#[tokio::test]
async fn every_source_of_credentials_opens_the_registry() {
    let setup = PullSetup::new(Auth::Password, 1000, |_, _| Fault::None).await;
    let port = setup.proxy.port;
    let directory = tempfile::tempdir().unwrap();
    let good = document(port, PASSWORD);
    let none = CredentialSources::default;

    let mut runner = none();
    runner.runner = Some(good.clone().into());
    let mut file = none();
    file.file = Some(directory.path().join("config.json"));
    std::fs::write(directory.path().join("config.json"), &good).unwrap();
    let bad = document(port, "wrong");
    let cases = [
        (
            none().with_job(Some(&good), &[]),
            "from $DOCKER_AUTH_CONFIG\n",
        ),
        (runner, "from $DOCKER_AUTH_CONFIG of the runner\n"),
        (file, "config.json\n"),
        (
            none().with_job(None, &[payload(port, PASSWORD)]),
            "from the job\n",
        ),
        // All credentials are tried in order.
        (
            none().with_job(Some(&bad), &[payload(port, PASSWORD)]),
            "from the job\n",
        ),
    ];
    for (sources, line) in cases {
        setup.trace.clear();
        let images = setup.images.for_job(Credentials::new(sources));
        setup
            .ensure_of(&images, &setup.image, ALWAYS)
            .await
            .unwrap();
        assert!(setup.log().contains(line), "{}", setup.log());
        assert!(!setup.log().contains(PASSWORD), "{}", setup.log());
        remove(&setup.engine, &setup.image.to_string()).await;
    }
    assert!(setup.trace.masks().contains(&PASSWORD.to_owned()));
    setup.remove_images().await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a shell that ends at once")]
async fn a_credential_helper_needs_a_safe_name() {
    let setup = PullSetup::new(Auth::Password, 1000, |_, _| Fault::None).await;
    let registry = format!("127.0.0.1:{}", setup.proxy.port);
    let directory = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = directory.path().join(name);
        // Written by another process: a child of this one could still hold the file open, which prevents its execution.
        let written = Command::new("sh")
            .args([
                "-c",
                "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"",
            ])
            .args([path.as_os_str(), text.as_ref()])
            .status();
        assert!(written.unwrap().success());
    };
    let answer = serde_json::json!({ "Username": USER, "Secret": PASSWORD }).to_string();
    script(
        "docker-credential-good",
        &format!("test \"$1 $(cat)\" = 'get {registry}' && echo '{answer}'"),
    );
    script("docker-credential-bad", "echo hunter2; exit 1");
    script("docker-credential-huge", "yes hunter2 | head -c 1000000");
    let settings = Settings {
        containment: Containment::ProcessGroup,
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let ask = async |name: &str| {
        setup.trace.clear();
        let document = serde_json::json!({ "credHelpers": { (&registry): name } }).to_string();
        let sources = CredentialSources::default().with_job(Some(&document), &[]);
        let credentials = Credentials::new(sources)
            .with_helpers(supervisor.tree())
            .with_helper_path(&path);
        let images = setup.images.for_job(credentials);
        let result = setup.ensure_of(&images, &setup.image, ALWAYS).await;
        assert!(!setup.log().contains("hunter2"), "{}", setup.log());
        (result, setup.log())
    };
    let (result, log) = ask("good").await;
    result.unwrap();
    assert!(!log.contains(PASSWORD), "{log}");
    for (name, part) in [
        ("bad", "docker-credential-bad failed"),
        ("huge", "printed more than credentials can have"),
        ("none", "not found"),
        ("../good", "not the name of a credential helper"),
    ] {
        let (result, log) = ask(name).await;
        assert_eq!(fault(&result.unwrap_err()), Some(PullFault::Denied));
        assert!(log.contains(part), "{log}");
    }
    supervisor.shutdown().await.unwrap();
    setup.remove_images().await;
}

#[tokio::test]
async fn denied_access_is_reported_at_once() {
    let setup = PullSetup::new(Auth::Password, 1000, |_, _| Fault::None).await;
    let bad = document(setup.proxy.port, "wrong");
    let sources = CredentialSources::default().with_job(Some(&bad), &[]);
    let images = setup.images.for_job(Credentials::new(sources));
    for images in [&images, &setup.images] {
        let error = setup
            .ensure_of(images, &setup.image, ALWAYS)
            .await
            .unwrap_err();
        assert_eq!(fault(&error), Some(PullFault::Denied), "{error}");
        assert_eq!(class(error), (FailureReason::ImagePullFailure, false));
    }
    assert!(!setup.log().contains("trying again"), "{}", setup.log());
    setup.remove_images().await;
}

#[tokio::test]
async fn a_broken_document_is_a_warning_without_its_content() {
    let setup = PullSetup::healthy().await;
    let sources = CredentialSources::default().with_job(Some("{\"auths\": hunter2"), &[]);
    let images = setup.images.for_job(Credentials::new(sources));
    setup
        .ensure_of(&images, &setup.image, ALWAYS)
        .await
        .unwrap();
    let warnings = setup.trace.text(TraceStream::SYSTEM_WARNING);
    assert!(warnings.contains("$DOCKER_AUTH_CONFIG"), "{warnings}");
    assert!(!warnings.contains("hunter2"), "{warnings}");
    setup.remove_images().await;
}
