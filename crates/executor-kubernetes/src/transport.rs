//! The way of each request to the API server.

use crate::access::{access_of, context};
use crate::config::KubernetesConfig;
use crate::plugin;
use executor_core::BoxError;
use futures_util::future::BoxFuture;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::middleware::AuthLayer;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

/// How long a connection with the API server may take to begin.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest pause of a server that is obeyed: the answer and the pause have to end within [`ANSWER`](crate::cluster::ANSWER).
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Returns a client whose small messages do not wait for one another in the kernel, as those of `kube` do (40 ms each): a script's stage
/// is a handful of them.
pub(crate) fn client(config: &KubernetesConfig, mut access: Config) -> Result<Client, BoxError> {
    plugin::prepare(&mut access);
    let made = if access.proxy_url.is_some() {
        Client::try_from(access.clone())
    } else {
        without_proxy(config, access.clone())
    };
    made.map_err(|error| plugin::in_words(error.into(), &access))
}

fn without_proxy(config: &KubernetesConfig, access: Config) -> Result<Client, kube::Error> {
    let uris = access.base_uri_layer();
    let namespace = access.default_namespace.clone();
    let connections = |access: &Config| {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let connector = access.rustls_https_connector_with_connector(connector)?;
        let client =
            hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
        let sender = ServiceBuilder::new()
            .layer(access.extra_headers_layer()?)
            .map_err(BoxError::from);
        Ok(sender.service(client))
    };
    let header = access.auth_layer()?.map(Arc::new);
    let login = Login {
        sender: connections(&without_plugin(&access, header.is_some()))?,
        header,
        access: Arc::new(access),
        readings: 0,
    };
    let transport = Transport {
        config: Arc::new(config.clone()),
        context: context(config),
        login: Arc::new(Mutex::new(login)),
        connections: Arc::new(connections),
    };
    Ok(Client::new(uris.layer(transport), namespace))
}

/// Returns the access without its login plugin if that has returned a token: for connections, `kube` would run it again.
fn without_plugin(access: &Config, has_token: bool) -> Config {
    let mut access = access.clone();
    if has_token {
        access.auth_info.exec = None;
    }
    access
}

/// Adds the login to requests.
///
/// `kube` reads a login again when its time is over, but not when the API server refuses it before, and certificates never. Without a
/// login that may have changed, a refused request is not repeated.
struct Transport<S> {
    /// Names the kubeconfig file.
    config: Arc<KubernetesConfig>,
    /// The context at the start. Another one that becomes the current one may have another user.
    context: Option<String>,
    login: Arc<Mutex<Login<S>>>,
    connections: Arc<Connections<S>>,
}

/// Makes the sender of requests, which reads the certificates.
type Connections<S> = dyn Fn(&Config) -> Result<S, kube::Error> + Send + Sync;

#[derive(Clone)]
struct Login<S> {
    access: Arc<Config>,
    /// `None` if the certificate of a connection is the login.
    header: Option<Arc<AuthLayer>>,
    sender: S,
    /// How often it was read again.
    readings: u64,
}

/// How the API server, or a proxy before it, refuses a login.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// The status 401.
    Status,
    /// A certificate is refused by one of the two sides.
    Tls,
}

impl Refusal {
    fn of<B>(answer: &Result<Response<B>, BoxError>) -> Option<Self> {
        match answer {
            Ok(answer) => (answer.status() == StatusCode::UNAUTHORIZED).then_some(Self::Status),
            Err(error) => is_tls(&**error).then_some(Self::Tls),
        }
    }
}

impl<S> Clone for Transport<S> {
    fn clone(&self) -> Self {
        Self {
            config: Arc::clone(&self.config),
            context: self.context.clone(),
            login: Arc::clone(&self.login),
            connections: Arc::clone(&self.connections),
        }
    }
}

impl<S> Login<S> {
    /// Returns whether another reading of plugins and files may have another result, although the kubeconfig file is the same.
    fn may_change(&self, refusal: Refusal) -> bool {
        let login = &self.access.auth_info;
        let is_token = login.token_file.is_some() || login.auth_provider.is_some();
        login.client_certificate.is_some()
            || (login.exec.is_some() && (refusal == Refusal::Status || self.header.is_none()))
            || (is_token && refusal == Refusal::Status)
    }
}

impl<S, B> Transport<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    async fn send(self, request: Request<Body>) -> Result<Response<B>, BoxError> {
        let copy = copy(&request);
        let login = self.login.lock().await.clone();
        let readings = login.readings;
        let mut answer = send_as(login, request).await;
        if let Some(refusal) = Refusal::of(&answer)
            && let Some(copy) = copy
            && let Some(login) = self.renewed(readings, refusal).await?
        {
            answer = send_as(login, copy).await;
        }
        let answer = answer?;
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            // Most are sent again then.
            sleep(pause(answer.headers())).await;
        }
        Ok(answer)
    }

    /// Reads the login again, unless another request has done so since `refused` readings. Returns `None` if it cannot have changed.
    async fn renewed(&self, refused: u64, refusal: Refusal) -> Result<Option<Login<S>>, BoxError> {
        let mut current = Arc::clone(&self.login).lock_owned().await;
        if current.readings != refused {
            return Ok(Some(current.clone()));
        }
        let rewritten = self.rewritten(&current.access).await;
        if rewritten.is_none() && !current.may_change(refusal) {
            return Ok(None);
        }
        let connections = Arc::clone(&self.connections);
        // It may start a program, whose answer counts also if it comes after the end of this request.
        let renewing = tokio::task::spawn_blocking(move || {
            let is_rewritten = rewritten.is_some();
            let access = rewritten.map_or_else(|| Arc::clone(&current.access), Arc::new);
            let read = || -> Result<_, kube::Error> {
                // A plugin that returns a certificate runs again for the connections, but only this call returns its error.
                let header = access.auth_layer()?.map(Arc::new);
                let sender = if header.is_none() || is_rewritten {
                    let access = without_plugin(&access, header.is_some());
                    Some(connections(&access)?)
                } else {
                    None
                };
                Ok((header, sender))
            };
            let (header, sender) =
                read().map_err(|error| plugin::in_words(error.into(), &access))?;
            current.header = header;
            current.access = access;
            current.readings += 1;
            if let Some(sender) = sender {
                current.sender = sender;
            }
            Ok(Some(current.clone()))
        });
        renewing.await?
    }

    /// Returns the access with the login and the certificates that the kubeconfig file has now, if they are others for the same server. A
    /// file that cannot be read is one that is being written.
    async fn rewritten(&self, current: &Config) -> Option<Config> {
        let read = access_of(&self.config, self.context.as_deref()).await;
        let mut read = read.ok()?;
        plugin::prepare(&mut read);
        let login = |access: &Config| serde_json::to_value(&access.auth_info).ok();
        let is_same = read.root_cert == current.root_cert && login(&read) == login(current);
        if is_same || read.cluster_url != current.cluster_url {
            return None;
        }
        let mut rewritten = current.clone();
        rewritten.auth_info = read.auth_info;
        rewritten.root_cert = read.root_cert;
        Some(rewritten)
    }
}

async fn send_as<S, B>(login: Login<S>, request: Request<Body>) -> Result<Response<B>, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    let sent = match login.header {
        Some(header) => header.layer(login.sender).oneshot(request).await,
        None => return login.sender.oneshot(request).await,
    };
    sent.map_err(|error| plugin::in_words(error, &login.access))
}

/// Returns whether a connection failed because of a certificate. Errors of TLS are invalid data, inside of other errors.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let of_system = error.downcast_ref::<io::Error>();
        if of_system.is_some_and(|it| it.kind() == io::ErrorKind::InvalidData) {
            return true;
        }
        // The source of such an error is that of the inner one.
        next = match of_system.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

impl<S, B> Service<Request<Body>> for Transport<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// Copies a request, to send it again.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Returns the pause before another request that a refusal asks for.
fn pause(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    let seconds = seconds.and_then(|it| it.parse().ok());
    Duration::from_secs(seconds.unwrap_or_default()).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::access;
    use serde_json::{Value, json};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;

    /// The script of a login plugin whose token is the number of the call.
    const TOKEN: &str = r#"show '{"token": "'$count'"}'"#;

    /// Starts a server that accepts one token. Returns its address.
    async fn server(servers: &mut JoinSet<()>, token: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        servers.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(answer(stream, token));
            }
        });
        address
    }

    async fn answer(mut stream: TcpStream, token: &str) {
        let mut text = String::new();
        loop {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).await.unwrap();
            if length == 0 {
                return;
            }
            text.push_str(&String::from_utf8_lossy(&part[..length]));
            if !text.ends_with("\r\n\r\n") {
                continue;
            }
            let is_known = text.contains(&format!("authorization: Bearer {token}\r\n"));
            let (status, body) = if is_known {
                (
                    "200 OK",
                    r#"{"major":"1","minor":"33","gitVersion":"v1","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":""}"#,
                )
            } else {
                ("401 Unauthorized", "{}")
            };
            let length = body.len();
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            text.clear();
        }
    }

    /// Writes a kubeconfig file for a server and a login.
    fn write(file: &Path, server: &str, login: &Value) {
        let kubeconfig = json!({
            "clusters": [{ "name": "c", "cluster": { "server": server } }],
            "users": [{ "name": "u", "user": login }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "current-context": "c",
        });
        fs::write(file, kubeconfig.to_string()).unwrap();
    }

    async fn client_of(file: &Path) -> Client {
        let config = KubernetesConfig {
            kubeconfig: Some(file.to_owned()),
            ..KubernetesConfig::default()
        };
        let access = access(&config).await.unwrap();
        client(&config, access).unwrap()
    }

    #[tokio::test]
    async fn rewritten_kubeconfig_file_is_read_again() {
        let mut servers = JoinSet::new();
        let server = server(&mut servers, "new").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let token = |token: &str| json!({ "token": token });
        write(&file, &server, &token("old"));
        let client = client_of(&file).await;
        assert!(client.apiserver_version().await.is_err());
        // The login of another server is not sent to this one.
        write(&file, "http://127.0.0.1:1", &token("new"));
        assert!(client.apiserver_version().await.is_err());
        fs::write(&file, "{").unwrap();
        assert!(client.apiserver_version().await.is_err());
        write(&file, &server, &token("new"));
        client.apiserver_version().await.unwrap();
        // It is kept, and not read for each request.
        fs::remove_file(&file).unwrap();
        client.apiserver_version().await.unwrap();
    }

    /// Writes a login plugin that counts its calls in a file beside it. Returns the login that names it, and that file.
    fn plugin(directory: &Path, script: &str) -> (Value, PathBuf) {
        let (program, calls) = (directory.join("login"), directory.join("calls"));
        let script = format!(
            "#!/bin/sh\necho >>{0}\ncount=$(($(wc -l <{0})))\n\
             show() {{ echo '{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", \"status\": '\"$1}}\"; }}\n\
             {script}\n",
            calls.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let login = json!({ "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": program, "interactiveMode": "Never",
        } });
        (login, calls)
    }

    #[tokio::test]
    async fn login_plugin_runs_once_for_each_login() {
        let mut servers = JoinSet::new();
        let server = server(&mut servers, "2").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let (login, calls) = plugin(directory.path(), TOKEN);
        write(&file, &server, &login);
        let client = client_of(&file).await;
        let count = || fs::read_to_string(&calls).unwrap().len();
        assert_eq!(count(), 1);
        client.apiserver_version().await.unwrap();
        assert_eq!(count(), 2);
    }

    #[tokio::test]
    async fn login_plugin_of_a_rewritten_kubeconfig_file_logs_in() {
        let mut servers = JoinSet::new();
        let server = server(&mut servers, "1").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        write(&file, &server, &json!({}));
        let client = client_of(&file).await;
        let (login, _) = plugin(directory.path(), TOKEN);
        write(&file, &server, &login);
        client.apiserver_version().await.unwrap();
    }

    #[tokio::test]
    async fn login_plugin_without_a_token_that_fails_later_is_in_the_error() {
        let mut servers = JoinSet::new();
        let server = server(&mut servers, "never").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        // It runs twice at the start.
        let script = "[ $count -le 2 ] || { echo 'no session' >&2; exit 3; }; show '{}'";
        let (login, _) = plugin(directory.path(), script);
        write(&file, &server, &login);
        let error = client_of(&file).await.apiserver_version().await;
        let error = executor_core::chain(&error.unwrap_err());
        assert!(
            error.ends_with("login failed, exit status: 3: no session"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn login_stays_that_of_the_context_at_the_start() {
        let mut servers = JoinSet::new();
        let server = server(&mut servers, "admin").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        let context =
            |user: &str| json!({ "name": user, "context": { "cluster": "c", "user": user } });
        let write = |current: &str, token: &str| {
            let kubeconfig = json!({
                "clusters": [{ "name": "c", "cluster": { "server": server } }],
                "users": [
                    { "name": "u", "user": { "token": token } },
                    { "name": "admin", "user": { "token": "admin" } },
                ],
                "contexts": [context("u"), context("admin")],
                "current-context": current,
            });
            fs::write(&file, kubeconfig.to_string()).unwrap();
        };
        write("u", "old");
        let client = client_of(&file).await;
        write("admin", "old");
        assert!(client.apiserver_version().await.is_err());
        // Another token of the same user.
        write("admin", "admin");
        client.apiserver_version().await.unwrap();
    }

    #[test]
    fn refused_certificate_is_found_inside_of_other_errors() {
        let inner = io::Error::new(
            io::ErrorKind::InvalidData,
            "received fatal alert: UnknownCA",
        );
        let nested = io::Error::other(inner);
        assert!(is_tls(&kube::Error::Service(Box::new(nested))));
        let closed = io::Error::from(io::ErrorKind::ConnectionReset);
        assert!(!is_tls(&kube::Error::Service(Box::new(closed))));
    }
}
