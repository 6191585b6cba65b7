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
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    let connector = access.rustls_https_connector_with_connector(connector)?;
    let sender = ServiceBuilder::new()
        .layer(access.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(
            hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector),
        );
    let uris = access.base_uri_layer();
    let namespace = access.default_namespace.clone();
    let transport = Transport {
        login: Arc::new(Mutex::new(login(&access)?)),
        access: Arc::new(access),
        sender,
    };
    Ok(Client::new(uris.layer(transport), namespace))
}

/// Adds the login to requests.
///
/// `kube` reads a login again when its time is over, but not when the API server refuses it before. Without a login of that kind, a refused
/// request is not repeated.
#[derive(Clone)]
struct Transport<S> {
    access: Arc<Config>,
    login: Arc<Mutex<Login>>,
    sender: S,
}

/// `None` without a header: certificates are the login of the connection.
type Login = Option<Arc<AuthLayer>>;

fn login(access: &Config) -> Result<Login, kube::Error> {
    Ok(access.auth_layer()?.map(Arc::new))
}

impl<S, B> Transport<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    async fn send(self, request: Request<Body>) -> Result<Response<B>, BoxError> {
        let copy = self.may_change().then(|| copy(&request)).flatten();
        let used = self.login.lock().await.clone();
        let mut answer = self.send_as(used.as_deref(), request).await?;
        if answer.status() == StatusCode::UNAUTHORIZED
            && let Some(copy) = copy
        {
            let login = self.renewed(used).await?;
            answer = self.send_as(login.as_deref(), copy).await?;
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
        login: Option<&AuthLayer>,
        request: Request<Body>,
    ) -> Result<Response<B>, BoxError> {
        let sender = self.sender.clone();
        let sent = match login {
            Some(login) => login.layer(sender).oneshot(request).await,
            None => return sender.oneshot(request).await,
        };
        sent.map_err(|error| plugin::in_words(error, &self.access))
    }

    /// Returns whether another reading of the login may have another result.
    fn may_change(&self) -> bool {
        let login = &self.access.auth_info;
        login.exec.is_some() || login.token_file.is_some() || login.auth_provider.is_some()
    }

    /// Reads the login again, unless another request has done so since `refused` was read.
    async fn renewed(&self, refused: Login) -> Result<Login, BoxError> {
        let mut current = Arc::clone(&self.login).lock_owned().await;
        if current.as_ref().map(Arc::as_ptr) != refused.as_ref().map(Arc::as_ptr) {
            return Ok(current.clone());
        }
        let access = Arc::clone(&self.access);
        // It may start a program, whose answer counts also if it comes after the end of this request.
        let renewing = tokio::task::spawn_blocking(move || {
            *current = login(&access).map_err(|error| plugin::in_words(error.into(), &access))?;
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
