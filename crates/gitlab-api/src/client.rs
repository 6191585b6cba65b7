use crate::answer::{Parts, judge};
use crate::{ApiError, Fault, Fresh, Instance, RequestContext, Token};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use web::{Method, Request, Response, Url, Web};

/// Sends requests to one GitLab, as one user.
///
/// A client has no connections of its own; it shares those of its [`Web`].
#[derive(Debug, Clone)]
pub struct Client {
    web: Web,
    instance: Instance,
    token: Option<Token>,
    places: Vec<String>,
}

impl Client {
    /// Returns a client; `places` are those that were searched for a token, in words for the user.
    pub fn new(web: Web, instance: Instance, token: Option<Token>, places: Vec<String>) -> Self {
        Self {
            web,
            instance,
            token,
            places,
        }
    }

    /// Returns the GitLab that this client sends requests to.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Returns the token that requests carry.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    pub(crate) fn context(&self, what: String) -> RequestContext {
        let token = self.token.as_ref();
        RequestContext {
            instance: self.instance.clone(),
            token: token.map(|token| (token.kind, token.found.clone())),
            places: self.places.clone(),
            what,
            needs: None,
            scope: "read_api",
        }
    }

    /// Returns an address of the API from parts that are already encoded.
    pub(crate) fn address(&self, parts: &[&str], query: &[(&str, &str)]) -> Result<Url, ApiError> {
        let address = format!("{}/api/v4/{}", self.instance, parts.join("/"));
        let mut url = Url::parse(&address)
            .map_err(|_| self.bad(Fault::Nonsense("an address that cannot be read")))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        context: &RequestContext,
        url: Url,
    ) -> Result<T, ApiError> {
        let response = self.send_get(context, &url, None).await?;
        self.read(&response)
    }

    pub(crate) async fn get_fresh<T: DeserializeOwned>(
        &self,
        context: &RequestContext,
        url: Url,
        etag: Option<&str>,
    ) -> Result<Fresh<T>, ApiError> {
        let response = self.send_get(context, &url, etag).await?;
        if response.status == 304 {
            return Ok(Fresh::Unchanged);
        }
        Ok(Fresh::New {
            value: self.read(&response)?,
            etag: response.etag().map(str::to_owned),
        })
    }

    pub(crate) async fn get_raw(
        &self,
        context: &RequestContext,
        url: Url,
        etag: Option<&str>,
    ) -> Result<Fresh<Arc<[u8]>>, ApiError> {
        let response = self.send_get(context, &url, etag).await?;
        if response.status == 304 {
            return Ok(Fresh::Unchanged);
        }
        let etag = response.etag().map(str::to_owned);
        Ok(Fresh::New {
            value: response.body.into(),
            etag,
        })
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        context: &RequestContext,
        url: Url,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        let json = serde_json::to_string(body)
            .map_err(|_| self.bad(Fault::Nonsense("a request that cannot be written")))?;
        let request = self.request(Method::PostJson(json), url, None);
        let response = self.send(context, &request).await?;
        self.read(&response)
    }

    pub(crate) async fn send_get(
        &self,
        context: &RequestContext,
        url: &Url,
        etag: Option<&str>,
    ) -> Result<Response, ApiError> {
        self.send(context, &self.request(Method::Get, url.clone(), etag))
            .await
    }

    /// Parses a response that must be JSON.
    pub(crate) fn read<T: DeserializeOwned>(&self, response: &Response) -> Result<T, ApiError> {
        // A parse error may quote the JSON, which can contain secrets.
        serde_json::from_slice(&response.body)
            .map_err(|_| self.bad(Fault::Nonsense("what cannot be read as its API's JSON")))
    }

    pub(crate) fn bad(&self, fault: Fault) -> ApiError {
        ApiError::BadAnswer {
            instance: Box::new(self.instance.clone()),
            fault,
        }
    }

    fn request(&self, method: Method, url: Url, etag: Option<&str>) -> Request {
        Request {
            method,
            credential: self.token.as_ref().map(Token::credential),
            etag: etag.map(str::to_owned),
            ..Request::get(url)
        }
    }

    async fn send(
        &self,
        context: &RequestContext,
        request: &Request,
    ) -> Result<Response, ApiError> {
        let response = self.web.send(request).await?;
        judge(context, &Parts::of(request, &response))?;
        Ok(response)
    }
}
