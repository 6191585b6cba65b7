//! Jobs whose images are in a registry that requires a password.

use crate::support::engine;
use crate::support::proxy::{Fault, Proxy};
use crate::support::registry::{Auth, PASSWORD, Registry, document, payload, remove};
use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::JobVariable;
use executor_core::job::Image;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::image::PullPolicy;

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_a_job_apply_to_its_services() {
    // R-EXEC-60
    let registry = Registry::start(Auth::Password);
    for path in ["team/app", "team/web"] {
        registry.push_copy(BUSYBOX, path).await;
    }
    let proxy = Proxy::start(registry.port, |_, _| Fault::None).await;
    let image = |path: &str| format!("127.0.0.1:{}/{path}:1", proxy.port);
    let asked = |path: &str| proxy.count(&format!("/v2/{path}/manifests/"));
    let run = Run::new(DockerConfig {
        engine: EngineChoice::Exec,
        pull_policy: vec![PullPolicy::Always],
        ..settings()
    });
    for is_payload in [false, true] {
        let before = (asked("team/app"), asked("team/web"));
        let mut job = job(&image("team/app"));
        let mut service = Image::named(image("team/web"));
        service.alias = Some("web".to_owned());
        let script = "mkdir /www; echo it is > /www/word; exec httpd -f -p 80 -h /www";
        service.command = ["sh", "-c", script].map(str::to_owned).to_vec();
        service.variables = vec![JobVariable::public("RUNWRIGHT_READY_TCP", "80")];
        job.services = vec![service];
        if is_payload {
            job.credentials = vec![payload(proxy.port, PASSWORD)];
        } else {
            let document = document(proxy.port, PASSWORD);
            job.variables = vec![JobVariable::public("DOCKER_AUTH_CONFIG", document)];
        }
        let mut opened = run.open(job).await;
        let log = log_text(&opened.trace);
        let source = if is_payload {
            "from the job\n"
        } else {
            "from $DOCKER_AUTH_CONFIG\n"
        };
        assert_eq!(log.matches(source).count(), 2, "{log}");
        assert!(!log.contains(PASSWORD), "{log}");
        assert!(asked("team/app") > before.0 && asked("team/web") > before.1);
        assert_eq!(
            opened.print("wget -q -O - http://web/word").await,
            "it is\n"
        );
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
    let engine = engine().await;
    for path in ["team/app", "team/web"] {
        remove(&engine, &image(path)).await;
    }
}
