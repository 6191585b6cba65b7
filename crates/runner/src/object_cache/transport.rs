//! HTTP for the client of buckets, over the crate `web`.

use super::failure::ELSEWHERE;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http::{Method, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use web::{
    Body, Content, Incoming, Limits, Proxies, Reach, Request, Url, Web, WebError, WebOptions,
};

/// How long a server may take to answer, and to send the next piece of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The slowest upload that is waited for, in bytes per second.
const SLOWEST: u64 = 64 << 10;

/// The addresses at which clouds give credentials to machines, containers and pods.
const METADATA: [&str; 5] = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::23",
    "metadata.google.internal",
];

/// The headers of requests to buckets. `web` wants names that are known when it is built.
const HEADERS: [&str; 32] = [
    "accept",
    "authorization",
    "cache-control",
    "content-md5",
    "content-type",
    "date",
    "host",
    "if-match",
    "if-none-match",
    "metadata",
    "metadata-flavor",
    "range",
    "x-amz-checksum-algorithm",
    "x-amz-checksum-sha256",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-meta-cachepaths",
    "x-amz-security-token",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-aws-ec2-metadata-token",
    "x-aws-ec2-metadata-token-ttl-seconds",
    "x-goog-meta-cachepaths",
    "x-goog-user-project",
    "x-identity-header",
    "x-ms-blob-content-type",
    "x-ms-blob-type",
    "x-ms-client-request-id",
    "x-ms-date",
    "x-ms-meta-cachepaths",
    "x-ms-version",
    "x-ms-range",
];

/// Makes clients that send requests through [`Web`].
#[derive(Debug)]
pub(super) struct Transport {
    web: Web,
}

impl Transport {
    pub(super) fn new(proxies: Proxies) -> Result<Self, WebError> {
        let options = WebOptions {
            reach: Reach {
                // The operator named the server, and no redirect is followed to another one.
                anywhere: true,
                private: METADATA.map(str::to_owned).to_vec(),
                ..Reach::default()
            },
            limits: limits(0),
            proxies,
            ..WebOptions::default()
        };
        Ok(Self {
            web: Web::new(options)?,
        })
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client {
            web: self.web.clone(),
        }))
    }
}

/// Returns the limits of one request; the client of the bucket repeats it.
fn limits(body: u64) -> Limits {
    let deadline = PATIENCE + Duration::from_secs(body / SLOWEST);
    Limits {
        deadline,
        overall: deadline,
        redirects: 0,
        attempts: 1,
        ..Limits::default()
    }
}

#[derive(Debug)]
struct Client {
    web: Web,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (request, length) = converted(request).await?;
        let web = self.web.with_limits(limits(length));
        let incoming = web.open(&request).await.map_err(failed)?;
        let mut response = Response::builder().status(incoming.status);
        for (name, value) in incoming.text_headers() {
            response = response.header(name, value);
        }
        let frames = stream::try_unfold(incoming, next_piece);
        let body = HttpResponseBody::new(StreamBody::new(Shared(Mutex::new(Box::pin(frames)))));
        let response = response.body(body);
        response.map_err(|error| HttpError::new(HttpErrorKind::Decode, error))
    }
}

async fn next_piece(mut incoming: Incoming) -> Result<Option<(Frame<Bytes>, Incoming)>, HttpError> {
    let piece = incoming.chunk().await.map_err(failed)?;
    Ok(piece.map(|piece| (Frame::data(Bytes::from_owner(piece)), incoming)))
}

/// Returns the request for `web`, and the length of its body.
pub(super) async fn converted(request: HttpRequest) -> Result<(Request, u64), HttpError> {
    let (parts, body) = request.into_parts();
    let length = body.content_length() as u64;
    let url = Url::parse(&parts.uri.to_string()).map_err(|error| unsent(error.to_string()))?;
    let mut headers = Vec::new();
    for (name, value) in &parts.headers {
        // `web` knows the length of a body.
        if name == http::header::CONTENT_LENGTH || name == http::header::USER_AGENT {
            continue;
        }
        let known = HEADERS.iter().find(|known| **known == name.as_str());
        let known = known.ok_or_else(|| unsent(format!("the header {name} is not known")))?;
        let value = value.to_str();
        let value = value.map_err(|_| unsent(format!("the header {name} has no text")))?;
        headers.push((*known, value.to_owned()));
    }
    let body = async || {
        Ok::<_, HttpError>(Body {
            content_type: String::new(),
            content: Content::Shared(joined(body).await?),
        })
    };
    let method = match parts.method {
        Method::GET => web::Method::Get,
        Method::HEAD => web::Method::Head,
        Method::PUT => web::Method::Put(body().await?),
        Method::POST => web::Method::Post(body().await?),
        Method::DELETE => web::Method::Delete(body().await?),
        other => return Err(unsent(format!("the method {other} is not known"))),
    };
    let request = Request {
        method,
        headers,
        ..Request::get(url)
    };
    Ok((request, length))
}

/// Returns the body as one piece; it is copied only if it has several.
async fn joined(mut body: HttpRequestBody) -> Result<Bytes, HttpError> {
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else {
            continue;
        };
        match first.take() {
            None if all.is_empty() => first = Some(piece),
            None => all.extend_from_slice(&piece),
            Some(before) => {
                all.extend_from_slice(&before);
                all.extend_from_slice(&piece);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

fn unsent(reason: String) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, io::Error::other(reason))
}

fn failed(error: WebError) -> HttpError {
    if let WebError::Redirects(_) | WebError::Moved { .. } = error {
        return unsent(ELSEWHERE.to_owned());
    }
    let kind = match error {
        WebError::Late { .. } => HttpErrorKind::Timeout,
        // It may have broken after the request was sent.
        WebError::Unreachable { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

type Frames = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, HttpError>> + Send>>;

/// A stream that threads may share, as the client of the bucket wants it. None of them waits: it has one reader.
struct Shared(Mutex<Frames>);

impl Stream for Shared {
    type Item = Result<Frame<Bytes>, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.get_mut().poll_next_unpin(context)
    }
}
