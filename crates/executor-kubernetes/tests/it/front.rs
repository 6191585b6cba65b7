//! A small HTTP server in front of the API server, for what a real one cannot be made to do.

use crate::support::Cluster;
use http::header::{AUTHORIZATION, HOST, SEC_WEBSOCKET_PROTOCOL};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use kube::config::Kubeconfig;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

type Answer = Response<UnsyncBoxBody<Bytes, kube::Error>>;

/// Answers a request instead of the API server, or passes it on.
type Rule = dyn Fn(&Kind) -> Option<Refusal> + Send + Sync;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind(pub(crate) &'static str);

/// An answer of the tests.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) header: Option<(&'static str, &'static str)>,
    pub(crate) body: String,
}

/// The server, until it is dropped.
pub(crate) struct Front {
    cut: watch::Sender<()>,
    _task: JoinSet<()>,
}

impl Front {
    /// Starts one for the providers that are created from now on. It speaks version 4 of the streams' protocol alone.
    pub(crate) async fn before(
        cluster: &mut Cluster,
        rule: impl Fn(&Kind) -> Option<Refusal> + Send + Sync + 'static,
    ) -> Self {
        let file = cluster.config.kubeconfig.as_ref().unwrap();
        let mut kubeconfig = Kubeconfig::read_from(file).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let access = kubeconfig.clusters[0].cluster.as_mut().unwrap();
        access.server = Some(format!("http://{}", listener.local_addr().unwrap()));
        let name = format!("front-{}", cluster.pods().namespace().unwrap());
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, serde_json::to_vec(&kubeconfig).unwrap()).unwrap();
        cluster.config.kubeconfig = Some(file);
        let (client, rule): (_, Arc<Rule>) = (cluster.client.clone(), Arc::new(rule));
        let (cut, mut is_cut) = watch::channel(());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (stream, _) = accepted.unwrap();
                        let (client, rule) = (client.clone(), Arc::clone(&rule));
                        connections.spawn(serve(TokioIo::new(stream), client, rule));
                    }
                    Ok(()) = is_cut.changed() => {
                        connections.shutdown().await;
                    }
                }
            }
        });
        Self { cut, _task: task }
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(());
    }
}

/// Serves a connection, and the streams that it turns into.
async fn serve(stream: TokioIo<tokio::net::TcpStream>, client: Client, rule: Arc<Rule>) {
    let (sender, mut upgrades) = tokio::sync::mpsc::unbounded_channel();
    let service = service_fn(|mut request: Request<Incoming>| {
        let (client, rule, sender) = (client.clone(), Arc::clone(&rule), sender.clone());
        async move {
            if let Some(refusal) = rule(&kind(&request)) {
                return Ok::<_, Infallible>(refused(refusal));
            }
            let near = hyper::upgrade::on(&mut request);
            let mut answer = pass(&client, request).await;
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                let far = hyper::upgrade::on(&mut answer);
                sender.send(async move { tokio::join!(near, far) }).unwrap();
            }
            Ok(answer)
        }
    });
    let connection = http1::Builder::new().serve_connection(stream, service);
    let mut streams = JoinSet::new();
    let serving = async {
        let _ = connection.with_upgrades().await;
        std::future::pending::<()>().await;
    };
    let passing = async {
        while let Some(upgraded) = upgrades.recv().await {
            streams.spawn(async move {
                if let (Ok(near), Ok(far)) = upgraded.await {
                    let (mut near, mut far) = (TokioIo::new(near), TokioIo::new(far));
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    };
    tokio::join!(serving, passing);
}

fn kind<B>(request: &Request<B>) -> Kind {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    Kind(match request.method().as_str() {
        _ if path.ends_with("/exec") => "exec",
        "POST" => "create",
        "DELETE" => "delete",
        "GET" if query.contains("watch=true") => "watch",
        "GET" => "read",
        _ => "change",
    })
}

fn refused(refusal: Refusal) -> Answer {
    let body = Full::new(Bytes::from(refusal.body)).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = refusal.status;
    if let Some((name, value)) = refusal.header {
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}

/// Passes a request on to the API server.
async fn pass(client: &Client, request: Request<Incoming>) -> Answer {
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(HOST);
    parts.headers.remove(AUTHORIZATION);
    if let Some(offered) = parts.headers.get_mut(SEC_WEBSOCKET_PROTOCOL) {
        let offers = offered.to_str().unwrap().split(", ");
        let older: Vec<_> = offers.filter(|it| !it.starts_with("v5.")).collect();
        *offered = older.join(", ").parse().unwrap();
    }
    let body = body.collect().await.unwrap().to_bytes();
    match client
        .send(Request::from_parts(parts, Body::from(body)))
        .await
    {
        Ok(answer) => answer.map(BodyExt::boxed_unsync),
        Err(error) => refused(Refusal {
            status: StatusCode::BAD_GATEWAY,
            header: None,
            body: error.to_string(),
        }),
    }
}
