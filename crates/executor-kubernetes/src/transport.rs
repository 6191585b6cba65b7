//! The way of each request to the API server.

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
pub(crate) fn client(mut access: Config) -> Result<Client, BoxError> {
    plugin::prepare(&mut access);
    let made = if access.proxy_url.is_some() {
        Client::try_from(access.clone())
    } else {
        without_proxy(access.clone())
    };
    made.map_err(|error| plugin::in_words(error.into(), &access))
}

fn without_proxy(access: Config) -> Result<Client, kube::Error> {
    let uris = access.base_uri_layer();
    let headers = access.extra_headers_layer()?;
    let namespace = access.default_namespace.clone();
    let connections = move |access: &Config| {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let connector = access.rustls_https_connector_with_connector(connector)?;
        let client =
            hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
        let sender = ServiceBuilder::new()
            .layer(headers.clone())
            .map_err(BoxError::from);
        Ok(sender.service(client))
    };
    let login = Login {
        header: access.auth_layer()?.map(Arc::new),
        sender: connections(&access)?,
        readings: 0,
    };
    let transport = Transport {
        login: Arc::new(Mutex::new(login)),
        access: Arc::new(access),
        connections: Arc::new(connections),
    };
    Ok(Client::new(uris.layer(transport), namespace))
}

/// Adds the login to requests.
///
/// `kube` reads a login again when its time is over, but not when the API server refuses it before, and certificates never. Without a
/// login that may have changed, a refused request is not repeated.
struct Transport<S> {
    access: Arc<Config>,
    login: Arc<Mutex<Login<S>>>,
    connections: Arc<Connections<S>>,
}

/// Makes the sender of requests, which reads the certificates.
type Connections<S> = dyn Fn(&Config) -> Result<S, kube::Error> + Send + Sync;

#[derive(Clone)]
struct Login<S> {
    /// `None` if the certificate of a connection is the login.
    header: Option<Arc<AuthLayer>>,
    sender: S,
    /// How often it was read again.
    readings: u64,
}

impl<S> Clone for Transport<S> {
    fn clone(&self) -> Self {
        Self {
            access: Arc::clone(&self.access),
            login: Arc::clone(&self.login),
            connections: Arc::clone(&self.connections),
        }
    }
}

impl<S, B> Transport<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    async fn send(self, request: Request<Body>) -> Result<Response<B>, BoxError> {
        let copy = self.may_change().then(|| copy(&request)).flatten();
        let login = self.login.lock().await.clone();
        let refused = login.readings;
        let mut answer = self.send_as(login, request).await?;
        if answer.status() == StatusCode::UNAUTHORIZED
            && let Some(copy) = copy
        {
            let login = self.renewed(refused).await?;
            answer = self.send_as(login, copy).await?;
        }
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            // Most are sent again then.
            sleep(pause(answer.headers())).await;
        }
        Ok(answer)
    }

    async fn send_as(
        &self,
        login: Login<S>,
        request: Request<Body>,
    ) -> Result<Response<B>, BoxError> {
        let sent = match login.header {
            Some(header) => header.layer(login.sender).oneshot(request).await,
            None => return login.sender.oneshot(request).await,
        };
        sent.map_err(|error| plugin::in_words(error, &self.access))
    }

    /// Returns whether another reading of the login may have another result.
    fn may_change(&self) -> bool {
        let login = &self.access.auth_info;
        login.exec.is_some()
            || login.token_file.is_some()
            || login.auth_provider.is_some()
            || login.client_certificate.is_some()
    }

    /// Reads the login again, unless another request has done so since `refused` readings.
    async fn renewed(&self, refused: u64) -> Result<Login<S>, BoxError> {
        let mut current = Arc::clone(&self.login).lock_owned().await;
        if current.readings != refused {
            return Ok(current.clone());
        }
        let Self {
            access,
            connections,
            ..
        } = self.clone();
        // It may start a program, whose answer counts also if it comes after the end of this request.
        let renewing = tokio::task::spawn_blocking(move || {
            let read = || -> Result<_, kube::Error> {
                let header = access.auth_layer()?.map(Arc::new);
                let sender = match &header {
                    Some(_) => None,
                    None => Some(connections(&access)?),
                };
                Ok((header, sender))
            };
            let (header, sender) =
                read().map_err(|error| plugin::in_words(error.into(), &access))?;
            current.header = header;
            current.readings += 1;
            if let Some(sender) = sender {
                current.sender = sender;
            }
            Ok(current.clone())
        });
        renewing.await?
    }
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
