//! Requests to the server that keeps the files.

use super::{HelperContext, HelperError};
use executor_core::job::SecretString;
use fail_point::fail_point;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use web::{
    Body, Content, Credential, Limits, Method, Origin, Proxies, Reach, Request, Url, Web,
    WebOptions,
};

/// The server, with the job's token for it.
#[derive(Debug)]
pub(super) struct Server {
    web: Web,
    token: Option<String>,
}

impl Server {
    /// Returns the server of `url`, to which a request may take `timeout`.
    pub(super) fn new(
        url: &Url,
        token: Option<String>,
        timeout: Duration,
        context: &HelperContext,
    ) -> Result<Self, HelperError> {
        let authorities = context.variable("CI_SERVER_TLS_CA_FILE").map(PathBuf::from);
        let options = WebOptions {
            reach: Reach {
                named: Origin::of(url).into_iter().collect::<HashSet<_>>(),
                ..Reach::default()
            },
            limits: Limits {
                deadline: timeout,
                overall: timeout,
                bytes: 1 << 20,
                ..Limits::default()
            },
            proxies: Proxies::from_variables(|name| context.variable(name)),
            authorities: authorities.into_iter().filter(|it| it.is_file()).collect(),
            identity: None,
        };
        let web = Web::new(options).map_err(HelperError::web("prepare requests"))?;
        Ok(Self { web, token })
    }

    /// Returns the server that requests are sent to as `web` says.
    pub(super) fn over(web: Web, token: &SecretString) -> Self {
        let token = Some(token.expose().to_owned());
        Self { web, token }
    }

    fn request(&self, url: Url, method: Method) -> Request {
        Request {
            method,
            credential: self.token.as_ref().map(|token| Credential {
                header: "job-token",
                value: SecretString::new(token),
            }),
            ..Request::get(url)
        }
    }

    /// Downloads to a file, and returns the status; the file is complete if it is 200.
    pub(super) async fn download(
        &self,
        url: Url,
        file: &Path,
        action: &str,
    ) -> Result<u16, HelperError> {
        let failed = HelperError::web(action);
        let request = self.request(url, Method::Get);
        let mut incoming = self.web.open(&request).await.map_err(&failed)?;
        if incoming.status != 200 {
            return Ok(incoming.status);
        }
        let mut output = File::create(file).map_err(HelperError::file("create", file))?;
        while let Some(piece) = incoming.chunk().await.map_err(&failed)? {
            let written = fail_point!(
                "job_runner::helper::download",
                output.write_all(piece.as_ref())
            );
            written.map_err(HelperError::file("write", file))?;
        }
        Ok(200)
    }

    /// Sends a file, and returns the status.
    pub(super) async fn upload(
        &self,
        url: Url,
        file: &Path,
        kind: UploadKind,
        action: &str,
    ) -> Result<u16, HelperError> {
        let length = fs::metadata(file)
            .map_err(HelperError::file("read", file))?
            .len();
        let body = |content_type: &str| Body {
            content_type: content_type.to_owned(),
            content: Content::File {
                path: file.to_owned(),
                offset: 0,
                length,
            },
        };
        let method = match kind {
            UploadKind::Form { boundary } => {
                Method::Post(body(&format!("multipart/form-data; boundary={boundary}")))
            }
            UploadKind::Plain => Method::Put(body("application/octet-stream")),
        };
        let sent = self.web.send(&self.request(url, method)).await;
        let response = sent.map_err(HelperError::web(action))?;
        Ok(response.status)
    }
}

/// How a file is sent.
#[derive(Debug)]
pub(super) enum UploadKind {
    /// As a form.
    Form {
        /// The boundary of its parts.
        boundary: String,
    },
    /// As it is.
    Plain,
}
