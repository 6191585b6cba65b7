use crate::clients::Clients;
use crate::fault::fault;
use crate::redirect::redirect;
use crate::retry::{Ending, retry_after};
use crate::{Body, Content, Incoming, Limits, Method, Origin, Request, Response, WebError};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::io::{self, SeekFrom};
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::{Instant, timeout_at};
use url::Url;

/// How many bytes of a file are read at a time.
const PIECE: usize = 256 << 10;

/// The outcome of one attempt.
pub(crate) struct Outcome<T> {
    /// What the caller receives if no attempt follows.
    pub(crate) result: Result<T, WebError>,
    /// Decides whether another attempt follows.
    pub(crate) ending: Ending,
}

impl<T> From<(WebError, Ending)> for Outcome<T> {
    fn from((error, ending): (WebError, Ending)) -> Self {
        Self {
            result: Err(error),
            ending,
        }
    }
}

impl<T> From<WebError> for Outcome<T> {
    fn from(error: WebError) -> Self {
        (error, Ending::Settled).into()
    }
}

/// Sends a request once, follows redirects, and reads the whole response.
pub(crate) async fn attempt(
    clients: &Clients,
    limits: &Limits,
    request: &Request,
    within: Duration,
) -> Outcome<Response> {
    let until = after(within);
    let opened = open(clients, limits, request, within).await;
    let incoming = match opened.result {
        Ok(incoming) => incoming,
        Err(error) => return (error, opened.ending).into(),
    };
    let server = incoming.server.clone();
    match timeout_at(until, incoming.whole(limits.bytes)).await {
        Ok(Ok(answer)) => Outcome {
            ending: opened.ending,
            result: Ok(answer),
        },
        Ok(Err(broken)) => broken.into(),
        Err(_) => (WebError::Late { server, within }, Ending::Late).into(),
    }
}

/// Sends a request once and follows redirects until a response begins.
pub(crate) async fn open(
    clients: &Clients,
    limits: &Limits,
    request: &Request,
    within: Duration,
) -> Outcome<Incoming> {
    let until = after(within);
    let mut hop = Hop {
        url: request.url.clone(),
        method: request.method.clone(),
        own: true,
    };
    let mut from = None;
    for _ in 0..=limits.redirects {
        let exchange = Exchange {
            clients,
            limits,
            request,
            hop: &hop,
        };
        let server = match exchange.check() {
            Ok(server) => server,
            Err(error) => return told(error, from.as_ref()).into(),
        };
        let answer = match timeout_at(until, exchange.ask(&server)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err((error, ending))) => return (told(error, from.as_ref()), ending).into(),
            Err(_) => return (WebError::Late { server, within }, Ending::Late).into(),
        };
        let location = answer.headers().get("location");
        let location = location.and_then(|text| str::from_utf8(text.as_bytes()).ok());
        match redirect(&hop.url, &hop.method, answer.status, location) {
            Ok(None) => return finished(answer),
            Ok(Some(next)) => {
                // A secret is not sent back to the first server by another server's redirect.
                let own = hop.own && Origin::of(&next.url).as_ref() == Some(&server);
                hop = Hop {
                    url: next.url,
                    method: next.method,
                    own,
                };
                from = Some(server);
            }
            Err(error) => return error.into(),
        }
    }
    WebError::Redirects(limits.redirects).into()
}

/// Returns the instant after `time`, capped at a year so that the addition cannot overflow.
pub(crate) fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    Instant::now() + time.min(YEAR)
}

fn finished(answer: Incoming) -> Outcome<Incoming> {
    let asked = answer.header("retry-after");
    let asked = asked.and_then(|value| retry_after(value, Timestamp::now()));
    Outcome {
        ending: Ending::Answer(answer.status, asked),
        result: Ok(answer),
    }
}

/// Adds the redirecting server to an error of the rules.
fn told(error: WebError, from: Option<&Origin>) -> WebError {
    let Some(from) = from else {
        return error;
    };
    let lead = |reason: String| format!("{from} redirects: {reason}");
    match error {
        WebError::Refused { reason, help } => WebError::Refused {
            reason: lead(reason),
            help,
        },
        WebError::Address(reason) => WebError::Address(lead(reason)),
        error => error,
    }
}

/// The current hop of a request along its redirects.
struct Hop {
    url: Url,
    method: Method,
    /// Whether all hops so far were at the request's own server.
    own: bool,
}

/// One request to one server.
struct Exchange<'a> {
    clients: &'a Clients,
    limits: &'a Limits,
    request: &'a Request,
    hop: &'a Hop,
}

impl Exchange<'_> {
    /// Checks the address of the current hop against the rules.
    fn check(&self) -> Result<Origin, WebError> {
        let (rules, url) = (&self.clients.rules, &self.hop.url);
        let server = rules.check_url(url)?;
        if self.clients.routes.proxy(&server).is_some() {
            rules.check_unseen(&server, url)?;
        }
        Ok(server)
    }

    async fn ask(&self, server: &Origin) -> Result<Incoming, (WebError, Ending)> {
        let settled = |error| (error, Ending::Settled);
        let proxy = self.clients.routes.proxy(server);
        let failed = |error: reqwest::Error| fault(&error, server, proxy);
        let client = self.clients.client(server).map_err(settled)?;
        let url = self.hop.url.clone();
        let asked = match &self.hop.method {
            Method::Get => client.get(url),
            Method::Head => client.head(url),
            Method::PostJson(json) => client.post(url).body(json.clone()),
            Method::Post(_) => client.post(url),
            Method::Put(_) => client.put(url),
            Method::Patch(_) => client.patch(url),
            Method::Delete(_) => client.delete(url),
        };
        let asked = match self.hop.method.body() {
            Some(body) => asked.body(opened(body).await.map_err(settled)?),
            None => asked,
        };
        let asked = asked.headers(self.headers().map_err(settled)?);
        let answer = asked.send().await.map_err(failed)?;
        if let (407, Some(proxy)) = (answer.status().as_u16(), proxy) {
            let reason = format!("the proxy {proxy} wants a name and a password");
            let server = server.clone();
            return Err(settled(WebError::Unreachable { server, reason }));
        }
        let incoming = Incoming {
            status: answer.status().as_u16(),
            url: self.hop.url.clone(),
            server: server.clone(),
            proxy: proxy.cloned(),
            idle: self.limits.deadline,
            is_head: self.hop.method == Method::Head,
            answer,
        };
        Ok(incoming)
    }

    fn headers(&self) -> Result<HeaderMap, WebError> {
        let mut headers = HeaderMap::new();
        let fixed = HeaderValue::from_static;
        // Nothing is decompressed here, so a small response cannot expand to a large one.
        headers.insert("accept-encoding", fixed("identity"));
        if let Method::PostJson(_) = &self.hop.method {
            headers.insert("content-type", fixed("application/json"));
        }
        if let Some(body) = self.hop.method.body() {
            headers.insert("content-length", body.length().into());
            if let Ok(kind) = HeaderValue::from_str(&body.content_type)
                && !kind.is_empty()
            {
                headers.insert("content-type", kind);
            }
        }
        if let Some(accept) = &self.request.accept
            && let Ok(accept) = HeaderValue::from_str(accept)
        {
            headers.insert("accept", accept);
        }
        if !self.hop.own {
            return Ok(headers);
        }
        if let Some(credential) = &self.request.credential {
            let mut value = value_of(credential.header, credential.value.expose())?;
            value.set_sensitive(true);
            headers.insert(name_of(credential.header)?, value);
        }
        for (name, value) in &self.request.headers {
            headers.insert(name_of(name)?, value_of(name, value)?);
        }
        if let Some(etag) = &self.request.etag
            && let Ok(etag) = HeaderValue::from_str(etag)
        {
            headers.insert("if-none-match", etag);
        }
        Ok(headers)
    }
}

fn name_of(header: &str) -> Result<HeaderName, WebError> {
    HeaderName::from_bytes(header.as_bytes()).map_err(|_| not_a_header(header))
}

fn value_of(header: &str, value: &str) -> Result<HeaderValue, WebError> {
    HeaderValue::from_str(value).map_err(|_| not_a_header(header))
}

fn not_a_header(header: &str) -> WebError {
    WebError::Address(format!(
        "the value for `{header}` has characters that no header may have"
    ))
}

/// Opens a body for one attempt.
async fn opened(body: &Body) -> Result<reqwest::Body, WebError> {
    let opened = match &body.content {
        Content::Bytes(bytes) => Ok(bytes.clone().into()),
        Content::Shared(bytes) => Ok(bytes.clone().into()),
        Content::File {
            path,
            offset,
            length,
        } => file(path, *offset, *length).await,
    };
    opened.map_err(|error| WebError::Setup(format!("what is to be sent cannot be read: {error}")))
}

async fn file(path: &Path, offset: u64, length: u64) -> io::Result<reqwest::Body> {
    let mut file = File::open(path).await?;
    file.seek(SeekFrom::Start(offset)).await?;
    let frames = stream::try_unfold((file, length), async |(mut file, left)| {
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; most];
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        piece.truncate(read);
        let frame = Frame::data(Bytes::from(piece));
        Ok(Some((frame, (file, left - read as u64))))
    });
    Ok(reqwest::Body::wrap(StreamBody::new(frames)))
}
