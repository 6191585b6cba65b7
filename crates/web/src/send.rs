use crate::{Method, Origin, Request, Resolver, Response, SystemResolver, WebError, WebOptions};
use std::net::SocketAddr;
use std::sync::Arc;

/// Sends requests; clones share their connections.
#[derive(Debug, Clone)]
pub struct Web {
    client: reqwest::Client,
    options: Arc<WebOptions>,
}

impl Web {
    /// Returns one that follows these rules.
    ///
    /// # Errors
    ///
    /// When a file with certificates cannot be read, or a proxy is none.
    pub fn new(options: WebOptions) -> Result<Self, WebError> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    /// Returns one that asks somebody else for the addresses of names.
    ///
    /// # Errors
    ///
    /// As [`Web::new`].
    pub fn with_resolver(
        options: WebOptions,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, WebError> {
        let resolver = Lookup(resolver);
        // There is one provider in this program, whoever installs it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(resolver))
            .no_proxy()
            .timeout(options.limits.deadline)
            .build()
            .map_err(|error| WebError::Setup(error.to_string()))?;
        Ok(Self {
            client,
            options: Arc::new(options),
        })
    }

    /// Sends a request and returns the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// When the rules refuse a server, or there is no whole answer within the limits.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the request.
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        let server = Origin::of(&request.url)
            .ok_or_else(|| WebError::Address("only https addresses can be asked".to_owned()))?;
        let unreachable = |error: reqwest::Error| WebError::Unreachable {
            server: server.clone(),
            reason: error.without_url().to_string(),
        };
        let mut sent = match &request.method {
            Method::Get => self.client.get(request.url.clone()),
            Method::PostJson(json) => self
                .client
                .post(request.url.clone())
                .header("content-type", "application/json")
                .body(json.clone()),
        };
        if let Some(credential) = &request.credential {
            sent = sent.header(credential.header, credential.value.expose());
        }
        if let Some(etag) = &request.etag {
            sent = sent.header("if-none-match", etag);
        }
        let answer = sent.send().await.map_err(unreachable)?;
        let (status, url) = (answer.status().as_u16(), answer.url().clone());
        let headers = answer.headers().clone();
        let body = answer.bytes().await.map_err(unreachable)?;
        if body.len() > self.options.limits.bytes {
            return Err(WebError::TooLong(self.options.limits.bytes));
        }
        Ok(Response {
            status,
            body: body.into(),
            url,
            headers,
        })
    }
}

#[derive(Debug)]
struct Lookup(Arc<dyn Resolver>);

impl reqwest::dns::Resolve for Lookup {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            let addresses: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}
