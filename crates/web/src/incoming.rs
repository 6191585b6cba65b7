use crate::fault::fault;
use crate::origin::shown;
use crate::retry::Ending;
use crate::route::Proxy;
use crate::{Origin, Response, WebError};
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// A server's response, whatever its status, whose body is still being received.
pub struct Incoming {
    /// The status, such as 200 or 404.
    pub status: u16,
    /// The address that responded, after all redirects.
    pub url: Url,
    pub(crate) server: Origin,
    pub(crate) proxy: Option<Proxy>,
    /// How long the server may be silent.
    pub(crate) idle: Duration,
    pub(crate) is_head: bool,
    pub(crate) answer: reqwest::Response,
}

impl Incoming {
    /// Returns the value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Returns the names and values of all headers whose values are text.
    pub fn text_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.headers().iter();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// Returns the next piece of the body, or `None` at its end.
    ///
    /// # Errors
    ///
    /// When the connection breaks, the server is silent for longer than an attempt may take, or the body is
    /// compressed, which the request did not allow.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + Send + use<>>, WebError> {
        self.plain()?;
        let within = self.idle;
        match timeout(within, self.answer.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| self.broken(&error).0),
            Err(_) => Err(WebError::Late {
                server: self.server.clone(),
                within,
            }),
        }
    }

    /// Reads the whole body, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`Incoming::chunk`], and when the body is longer.
    pub async fn read(self, limit: usize) -> Result<Response, WebError> {
        let (server, within) = (self.server.clone(), self.idle);
        match timeout(within, self.whole(limit)).await {
            Ok(read) => read.map_err(|(error, _)| error),
            Err(_) => Err(WebError::Late { server, within }),
        }
    }

    /// Reads the whole body without a timeout of its own: the caller has a deadline.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Response, (WebError, Ending)> {
        let too_long = || (WebError::TooLong(limit), Ending::Settled);
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let length = self.answer.content_length().filter(|_| !self.is_head);
        if length.is_some_and(|length| length > most) {
            return Err(too_long());
        }
        let mut body = Vec::new();
        while let Some(piece) = self.answer.chunk().await.map_err(|e| self.broken(&e))? {
            if piece.len() > limit - body.len() {
                return Err(too_long());
            }
            body.extend_from_slice(&piece);
        }
        if !body.is_empty() {
            self.plain().map_err(|error| (error, Ending::Settled))?;
        }
        Ok(Response {
            status: self.status,
            body,
            headers: self
                .text_headers()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            url: self.url,
        })
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }

    fn broken(&self, error: &reqwest::Error) -> (WebError, Ending) {
        fault(error, &self.server, self.proxy.as_ref())
    }

    /// Refuses a compressed body, which the request did not allow.
    fn plain(&self) -> Result<(), WebError> {
        match self.header("content-encoding") {
            Some(encoding) if !encoding.eq_ignore_ascii_case("identity") => {
                let encoding = encoding.chars().filter(char::is_ascii_graphic);
                Err(WebError::Compressed {
                    server: self.server.clone(),
                    encoding: encoding.take(20).collect(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Shows where the response comes from, and not its content.
impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status)
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}
