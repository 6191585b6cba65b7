//! Requests whose responses have another layout in `bollard` than in some engines.

use super::connected::Engine;
use crate::error::DockerError;
use bollard::errors::Error;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct ErrorMessage {
    message: String,
}

impl Engine {
    /// Requests `path`, which begins with a slash.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), and when the response has another layout.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &str,
    ) -> Result<T, DockerError> {
        let broken = |source| DockerError::Broken {
            doing: doing.to_owned(),
            source,
        };
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://engine{path}"))
            .body(Either::Left(Full::new(Bytes::new())))
            .map_err(|error| broken(error.into()))?;
        let answer = self.call(doing, async {
            let answer = self.transport().send(request).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await;
            let body = body.map_err(|error| Error::IOError {
                err: std::io::Error::other(error),
            })?;
            Ok((status, body.to_bytes()))
        });
        let (status, body) = answer.await?;
        if !status.is_success() {
            let error_output = serde_json::from_slice::<ErrorMessage>(&body);
            let text = || String::from_utf8_lossy(&body).into_owned();
            return Err(DockerError::Api {
                doing: doing.to_owned(),
                status: status.as_u16(),
                message: error_output.map_or_else(|_| text(), |it| it.message),
            });
        }
        serde_json::from_slice(&body).map_err(|error| broken(error.into()))
    }
}
