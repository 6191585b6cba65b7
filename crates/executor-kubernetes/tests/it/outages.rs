//! Permissions, logins and API servers that fail for a while, on a real cluster.

use crate::faults::{COUNT, count_in, count_through, freeze_for};
use crate::front::{Front, Kind, Refusal};
use crate::support::{BUSYBOX, Cluster, Relay, is_long, job, open};
use crate::user::User;
use executor_core::ability::{TerminalRequest, TerminalSize};
use executor_core::prelude::*;
use executor_core::{TraceStream, chain};
use executor_testkit::CommandBuilder;
use http::StatusCode;
use kube::api::DeleteParams;
use kube::config::Kubeconfig;
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

#[tokio::test(flavor = "multi_thread")]
async fn job_survives_the_absence_of_its_role() {
    // R-STEP-54
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let user = User::of(&mut cluster).await;
    let relay = Relay::before(&mut cluster).await;
    count_in(&cluster, async |trace| {
        user.forbid().await;
        relay.cut();
        let said = "the pod cannot be reached now";
        trace.wait_for(TraceStream::SYSTEM_WARNING, said).await;
        user.permit().await;
    })
    .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lasting_absence_of_the_role_is_the_reason() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let user = User::of(&mut cluster).await;
    let relay = Relay::before(&mut cluster).await;
    cluster.config.orphan_grace = Some(3);
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let (trace, never) = (opened.trace.clone(), Cancellation::new());
    let forbidding = async {
        trace.wait_for(TraceStream::STDOUT, "\n10\n").await;
        user.forbid().await;
        relay.cut();
    };
    let command = CommandBuilder::new(COUNT).build();
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), forbidding);
    let text = ran.unwrap_err().chain();
    let words = "is forbidden: User \"system:serviceaccount:";
    assert!(
        text.contains("the pod could not be reached for ") && text.contains(words),
        "{text}"
    );
    // Later stages do not wait again.
    let command = CommandBuilder::new("true").build();
    let ran = opened.executor.run(command, &never).await;
    let lost = BuildError::Canceled(CancelCause::EnvironmentLost);
    assert_eq!(ran.unwrap_err().chain(), lost.chain());
    user.permit().await;
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_cannot_be_watched_are_no_riddle() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let user = User::of(&mut cluster).await;
    user.blind().await;
    cluster.config.poll_timeout = Some(3);
    let provider = cluster.provider();
    let Err((error, mut executor)) = open(&provider, job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let text = error.chain();
    assert!(text.contains("cannot watch resource \"pods\""), "{text}");
    executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_token_is_replaced() {
    // R-STEP-54
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let mut user = User::of(&mut cluster).await;
    user.use_plugin();
    let relay = Relay::before(&mut cluster).await;
    count_in(&cluster, async |trace| {
        user.replace().await;
        let before = user.plugin_calls();
        relay.cut();
        let counted = trace.text(TraceStream::STDOUT).lines().count();
        let later = format!("\n{}\n", counted + 100);
        trace.wait_for(TraceStream::STDOUT, &later).await;
        // All requests of the job have used the new token.
        assert_eq!(user.plugin_calls(), before + 1);
        let warnings = trace.text(TraceStream::SYSTEM_WARNING);
        assert_eq!(warnings, "");
    })
    .await;
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_certificate_is_read_again() {
    // R-STEP-54
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let file = cluster.config.kubeconfig.as_ref().unwrap();
    let mut kubeconfig = Kubeconfig::read_from(file).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let login = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    let valid = [&mut login.client_certificate, &mut login.client_key];
    let pair = [at("certificate"), at("key")];
    let valid = valid.map(|it| it.take().unwrap());
    login.client_certificate = Some(pair[0].clone());
    login.client_key = Some(pair[1].clone());
    std::fs::write(at("kubeconfig"), serde_json::to_vec(&kubeconfig).unwrap()).unwrap();
    cluster.config.kubeconfig = Some(directory.path().join("kubeconfig"));

    let unknown = rcgen::generate_simple_self_signed(["jobs".to_owned()]).unwrap();
    std::fs::write(&pair[0], unknown.cert.pem()).unwrap();
    std::fs::write(&pair[1], unknown.signing_key.serialize_pem()).unwrap();
    let provider = cluster.provider();
    let refused = provider.sweep(|_, _| false).await.unwrap_err();
    assert!(chain(&refused).contains("Unauthorized"), "{refused:?}");
    for (valid, file) in valid.iter().zip(&pair) {
        std::fs::copy(valid, file).unwrap();
    }
    provider.sweep(|_, _| false).await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_inside_of_a_rewritten_kubeconfig_file_are_read_again() {
    // R-STEP-54
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let file = cluster.config.kubeconfig.as_ref().unwrap();
    let mut kubeconfig = Kubeconfig::read_from(file).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    cluster.config.kubeconfig = Some(file.clone());
    let valid_login = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    let server = kubeconfig.clusters[0].cluster.clone().unwrap();
    let inside = |path: &Option<String>| encoded(&std::fs::read(path.as_ref().unwrap()).unwrap());
    let unknown = rcgen::generate_simple_self_signed(["jobs".to_owned()]).unwrap();
    let [certificate, key] = [unknown.cert.pem(), unknown.signing_key.serialize_pem()];
    let mut write = |authority: String, certificate: String, key: String| {
        let cluster = kubeconfig.clusters[0].cluster.as_mut().unwrap();
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = Some(authority);
        let login = json!({ "client-certificate-data": certificate, "client-key-data": key });
        kubeconfig.auth_infos[0].auth_info = Some(serde_json::from_value(login).unwrap());
        std::fs::write(&file, serde_json::to_vec(&kubeconfig).unwrap()).unwrap();
    };
    let authority = inside(&server.certificate_authority);
    let valid = [
        inside(&valid_login.client_certificate),
        inside(&valid_login.client_key),
    ];
    let pair = [encoded(certificate.as_bytes()), encoded(key.as_bytes())];
    write(authority.clone(), pair[0].clone(), pair[1].clone());
    let provider = cluster.provider();
    let refused = provider.sweep(|_, _| false).await.unwrap_err();
    assert!(chain(&refused).contains("Unauthorized"), "{refused:?}");
    write(authority.clone(), valid[0].clone(), valid[1].clone());
    provider.sweep(|_, _| false).await.unwrap();
    // The server's certificate is of another authority than the file says.
    write(pair[0].clone(), valid[0].clone(), valid[1].clone());
    let provider = cluster.provider();
    let refused = provider.sweep(|_, _| false).await.unwrap_err();
    assert!(chain(&refused).contains("certificate"), "{refused:?}");
    write(authority, valid[0].clone(), valid[1].clone());
    provider.sweep(|_, _| false).await.unwrap();
    cluster.end().await;
}

fn encoded(data: &[u8]) -> String {
    let bytes = k8s_openapi::ByteString(data.to_vec());
    let text = serde_json::to_value(bytes).unwrap();
    text.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_the_api_server_is_silent_for_a_minute() {
    // R-STEP-54
    if !is_long("an API server that is silent for a minute") {
        return;
    }
    let minute = Duration::from_mins(1);
    count_through(async |_| freeze_for("kube-apiserver", minute).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_api_server_is_asked_again_when_it_says() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let asked: Arc<Mutex<HashMap<Kind, Vec<Instant>>>> = Arc::default();
    let storm = Arc::new(AtomicU32::new(2));
    let (times, limit) = (Arc::clone(&asked), Arc::clone(&storm));
    let front = Front::before(&mut cluster, move |kind| {
        let mut times = times.lock().unwrap();
        let times = times.entry(kind.clone()).or_default();
        times.push(Instant::now());
        let is_busy = times.len() <= limit.load(Ordering::Relaxed) as usize;
        is_busy.then(|| Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            header: Some(("retry-after", "1")),
            body: "Too many requests, please try again later.".to_owned(),
        })
    })
    .await;
    count_in(&cluster, async |_| {
        // The connection of the script, in another storm.
        asked.lock().unwrap().clear();
        front.cut();
        // The watch takes longer pauses.
        let watches = || {
            asked
                .lock()
                .unwrap()
                .get(&Kind("watch"))
                .map_or(0, Vec::len)
        };
        while watches() <= 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let asked = asked.lock().unwrap().clone();
    for (kind, times) in &asked {
        assert!(times.len() > 2, "{kind:?}: {}", times.len());
    }
    // Those of kinds that are asked one by one.
    for kind in ["delete", "exec"] {
        let times = &asked[&Kind(kind)];
        for pair in times[..3].windows(2) {
            assert!(
                pair[1] - pair[0] >= Duration::from_secs(1),
                "{kind}: {times:?}"
            );
        }
    }
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_begins_by_the_report_if_no_attempt_before_reaches_its_container() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let attempts = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&attempts);
    let _front = Front::before(&mut cluster, move |kind| {
        let is_early = *kind == Kind("exec") && count.fetch_add(1, Ordering::Relaxed) < 3;
        is_early.then(|| Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            header: None,
            body: "container not found (\"build\")".to_owned(),
        })
    })
    .await;
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    assert!(attempts.load(Ordering::Relaxed) > 3);
    opened.executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_that_ends_while_the_history_expires_is_noticed() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let expired = Arc::new(AtomicBool::new(false));
    let answers = Arc::new(AtomicU32::new(0));
    let (is_expired, given) = (Arc::clone(&expired), Arc::clone(&answers));
    let front = Front::before(&mut cluster, move |kind| {
        if *kind != Kind("watch") || !is_expired.load(Ordering::Relaxed) {
            return None;
        }
        // In the two forms that API servers use.
        let gone = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version", "reason": "Expired", "code": 410,
        });
        let event = serde_json::json!({ "type": "ERROR", "object": gone });
        let is_event = given.fetch_add(1, Ordering::Relaxed) % 2 == 0;
        let (status, body) = if is_event {
            (StatusCode::OK, format!("{event}\n"))
        } else {
            (StatusCode::GONE, gone.to_string())
        };
        Some(Refusal {
            status,
            header: Some(("content-type", "application/json")),
            body,
        })
    })
    .await;
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let (trace, never) = (opened.trace.clone(), Cancellation::new());
    let ending = async {
        trace.wait_for(TraceStream::STDOUT, "\n10\n").await;
        expired.store(true, Ordering::Relaxed);
        front.cut();
        while answers.load(Ordering::Relaxed) < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let now = DeleteParams::default().grace_period(0);
        let name = cluster.pod().await;
        cluster.pods().delete(&name, &now).await.unwrap();
    };
    let command = CommandBuilder::new(COUNT).build();
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), ending);
    let error = ran.unwrap_err();
    assert!(
        error.chain().contains("it was deleted"),
        "{}",
        error.chain()
    );
    opened.executor.cleanup().await.unwrap();
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn version_4_of_the_streams_is_enough() {
    // R-STEP-52
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let front = Front::before(&mut cluster, |_| None).await;
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let never = Cancellation::new();
    // The input of a script has an end.
    let command =
        CommandBuilder::new("mkdir -p /builds/group/project; cat; echo begun; exit 3").build();
    let ran = opened.executor.run(command, &never).await;
    let ran = ran.map_err(|error| error.chain()).unwrap();
    assert_eq!(ran.status.exit_code().0, 3);
    let terminal = opened.executor.abilities().terminal.unwrap();
    let size = TerminalSize {
        columns: 80,
        rows: 24,
    };
    let session = terminal.open(TerminalRequest::new(size), &never).await;
    let mut session = session.map_err(|error| error.chain()).unwrap();
    session.write_all(b"exit 7\n").await.unwrap();
    session.flush().await.unwrap();
    let ended = session.ended().await.unwrap();
    assert_eq!(ended.exit_code().0, 7);
    drop(session);
    let command = CommandBuilder::new("echo again").build();
    front.cut();
    opened.executor.run(command, &never).await.unwrap();
    assert_eq!(opened.stdout(), "begun\nagain\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
