use super::{JobAnswer, RunnerAnswer, UpdateAnswer};
use crate::metrics::{Endpoint, RunnerMetrics};
use crate::system_id::random_hex;
use executor_core::job::{Job, SecretString};
use gitlab_api::runner::{
    JOB_TOKEN, JobRequest, JobUpdate, LAST_UPDATE, RUNNER_TOKEN, RegisteredRunner, Registration,
    RunnerCall,
};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use web::{
    Body, Content, Credential, Identity, Limits, Method, Origin, Proxies, Reach, Request, Response,
    Url, Web, WebError, WebOptions,
};

/// How long a server may hold a request for a job: GitLab answers after 50 s.
const POLL: Duration = Duration::from_secs(90);

/// How long every other call may take.
const CALL: Duration = Duration::from_mins(1);

/// The largest answer, in bytes. Jobs have all their variables with them.
const LARGEST: usize = 64 << 20;

/// The connection to a GitLab, shared by all its runners.
#[derive(Debug, Clone)]
pub struct Server {
    web: Web,
    /// The way to servers that jobs name: without the certificate of this machine.
    stores: Web,
    base: Url,
    /// Counts the calls; `None` outside a manager.
    metrics: Option<RunnerMetrics>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Its address, with a path if it has one.
    pub url: Url,
    /// PEM files of certificates that are trusted in addition to those of the system.
    pub authorities: Vec<PathBuf>,
    /// The certificate of this machine.
    pub identity: Option<Identity>,
    /// The proxies to send requests through.
    pub proxies: Proxies,
}

/// The error of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// There is no answer.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The answer is not one of a GitLab.
    #[error("{0}")]
    Answer(String),
}

impl Server {
    /// Returns the connection to a server. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When a certificate cannot be read.
    pub fn new(options: ServerOptions) -> Result<Self, WebError> {
        let ServerOptions {
            url,
            authorities,
            identity,
            proxies,
        } = options;
        let mut base = url;
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&format!("{path}/api/v4/"));
        let has_identity = identity.is_some();
        let options = WebOptions {
            reach: Reach {
                named: Origin::of(&base).into_iter().collect(),
                // The operator's GitLab is trusted to redirect to its own store of files.
                anywhere: true,
                ..Reach::default()
            },
            limits: Limits {
                deadline: CALL,
                overall: CALL,
                bytes: LARGEST,
                attempts: 1,
                ..Limits::default()
            },
            proxies,
            authorities,
            identity,
        };
        let web = Web::new(options.clone())?;
        let stores = if has_identity {
            Web::new(WebOptions {
                identity: None,
                ..options
            })?
        } else {
            web.clone()
        };
        Ok(Self {
            web,
            stores,
            base,
            metrics: None,
        })
    }

    /// Returns the way to the files of jobs, each of which may take this long.
    pub fn files(&self, within: Duration) -> Web {
        self.web.with_limits(Limits {
            deadline: within,
            overall: within,
            attempts: 1,
            ..Limits::default()
        })
    }

    /// Returns the way to the secret stores that jobs name.
    pub(crate) fn secret_stores(&self) -> &Web {
        &self.stores
    }

    /// Returns the same connection, with calls that are counted for a runner.
    pub(crate) fn counted(&self, metrics: RunnerMetrics) -> Self {
        Self {
            metrics: Some(metrics),
            ..self.clone()
        }
    }

    /// Returns the metrics of the runner whose calls are counted.
    pub(crate) fn metrics(&self) -> Option<&RunnerMetrics> {
        self.metrics.as_ref()
    }

    /// Asks for a job.
    ///
    /// # Errors
    ///
    /// When there is no answer within 90 s, or it is not one of a GitLab.
    pub async fn request_job(&self, request: &JobRequest) -> Result<JobAnswer, ApiError> {
        let web = self.web.with_limits(Limits {
            deadline: POLL,
            overall: POLL,
            bytes: LARGEST,
            attempts: 1,
            ..Limits::default()
        });
        let body = json(request);
        let call = self.call(
            Method::Post(body),
            "jobs/request",
            RUNNER_TOKEN,
            &request.token,
        );
        let response = self.send(&web, Endpoint::RequestJob, &call).await?;
        match response.status {
            201 => read_job(&response),
            204 => Ok(JobAnswer::None {
                last_update: response.header(LAST_UPDATE).unwrap_or_default().to_owned(),
            }),
            403 => Ok(JobAnswer::Forbidden),
            status => Ok(JobAnswer::Unavailable {
                status,
                retry_after: UpdateAnswer::of(&response).retry_after,
            }),
        }
    }

    /// Reports the state of a job.
    ///
    /// # Errors
    ///
    /// When there is no answer within a minute.
    pub async fn update_job(&self, job: u64, update: &JobUpdate) -> Result<UpdateAnswer, ApiError> {
        let method = Method::Put(json(update));
        let call = self.call(method, &format!("jobs/{job}"), JOB_TOKEN, &update.token);
        let response = self.send(&self.web, Endpoint::UpdateJob, &call).await?;
        Ok(UpdateAnswer::of(&response))
    }

    /// Sends a piece of a job's log, which begins at `offset` and is not empty. A log with `CI_DEBUG_TRACE` is for fewer eyes.
    ///
    /// # Errors
    ///
    /// When there is no answer within a minute.
    pub async fn append_trace(
        &self,
        job: u64,
        token: &SecretString,
        offset: u64,
        piece: Vec<u8>,
        is_debug: bool,
    ) -> Result<UpdateAnswer, ApiError> {
        let length = piece.len() as u64;
        let last = (offset + length).saturating_sub(1);
        let body = Body {
            content_type: "text/plain".to_owned(),
            content: Content::Bytes(piece),
        };
        let path = format!("jobs/{job}/trace?debug_trace={is_debug}");
        let mut call = self.call(Method::Patch(body), &path, JOB_TOKEN, token);
        call.headers
            .push(("content-range", format!("{offset}-{last}")));
        let response = self.send(&self.web, Endpoint::PatchTrace, &call).await?;
        let answer = UpdateAnswer::of(&response);
        if let Some(metrics) = &self.metrics
            && answer.is_success()
        {
            metrics.trace_sent(length);
        }
        Ok(answer)
    }

    /// Registers a runner with a registration token.
    ///
    /// # Errors
    ///
    /// When there is no answer within a minute, or it is not one of a GitLab.
    pub async fn register(&self, registration: &Registration) -> Result<RunnerAnswer, ApiError> {
        self.runner(
            Endpoint::Register,
            "runners",
            Method::Post(json(registration)),
            &registration.token,
        )
        .await
    }

    /// Asks whether the server knows a runner.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub async fn verify(&self, call: &RunnerCall) -> Result<RunnerAnswer, ApiError> {
        let method = Method::Post(json(call));
        self.runner(Endpoint::Verify, "runners/verify", method, &call.token)
            .await
    }

    /// Replaces the token of a runner; the old one is void afterwards.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub async fn reset_token(&self, call: &RunnerCall) -> Result<RunnerAnswer, ApiError> {
        let path = "runners/reset_authentication_token";
        let (method, no_token) = (Method::Post(json(call)), SecretString::default());
        self.runner(Endpoint::ResetToken, path, method, &no_token)
            .await
    }

    /// Removes a runner from the server, or only this machine of a runner that several machines share.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub async fn unregister(&self, call: &RunnerCall) -> Result<RunnerAnswer, ApiError> {
        let path = if call.system_id.is_empty() {
            "runners"
        } else {
            "runners/managers"
        };
        let method = Method::Delete(json(call));
        self.runner(Endpoint::Unregister, path, method, &call.token)
            .await
    }

    async fn runner(
        &self,
        endpoint: Endpoint,
        path: &str,
        method: Method,
        token: &SecretString,
    ) -> Result<RunnerAnswer, ApiError> {
        let call = self.call(method, path, RUNNER_TOKEN, token);
        let response = self.send(&self.web, endpoint, &call).await?;
        match response.status {
            403 => Ok(RunnerAnswer::Forbidden),
            // Old servers send no body.
            200..=299 if response.body.is_empty() => {
                Ok(RunnerAnswer::Runner(RegisteredRunner::default()))
            }
            200..=299 => {
                check_media_type(&response)?;
                let read = serde_json::from_slice(&response.body);
                let runner = read.map_err(|error| ApiError::Answer(not_read(&error)))?;
                Ok(RunnerAnswer::Runner(runner))
            }
            status => Ok(RunnerAnswer::Refused {
                status,
                reason: reason(&response),
            }),
        }
    }

    /// Sends a call, and counts it.
    async fn send(
        &self,
        web: &Web,
        endpoint: Endpoint,
        call: &Request,
    ) -> Result<Response, WebError> {
        let began = Instant::now();
        let sent = web.send(call).await;
        if let Some(metrics) = &self.metrics {
            let status = sent.as_ref().ok().map(|response| response.status);
            metrics.called(endpoint, status, began.elapsed());
        }
        sent
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        header: &'static str,
        token: &SecretString,
    ) -> Request {
        let url = self.base.join(path).expect("a path is part of an address");
        let credential = (!token.is_empty()).then(|| Credential {
            header,
            value: token.clone(),
        });
        let id = random_hex().map(|id| ("x-request-id", id));
        Request {
            method,
            credential,
            accept: Some("application/json".to_owned()),
            headers: id.into_iter().collect(),
            ..Request::get(url)
        }
    }
}

fn json(message: &impl Serialize) -> Body {
    let text = serde_json::to_vec(message).expect("a message has only texts as keys");
    Body {
        content_type: "application/json".to_owned(),
        content: Content::Shared(text.into()),
    }
}

fn read_job(response: &Response) -> Result<JobAnswer, ApiError> {
    check_media_type(response)?;
    let error = match serde_json::from_slice::<Job>(&response.body) {
        Ok(job) if job.id.0 != 0 => return Ok(JobAnswer::Job(Box::new(job))),
        Ok(_) => return Err(ApiError::Answer("the job has no id".to_owned())),
        Err(error) => error,
    };
    // The server counts the job as taken, so it is worth a second look.
    let value: Value =
        serde_json::from_slice(&response.body).map_err(|_| ApiError::Answer(not_read(&error)))?;
    let (Some(id), Some(token)) = (value["id"].as_u64(), value["token"].as_str()) else {
        return Err(ApiError::Answer(not_read(&error)));
    };
    Ok(JobAnswer::Unreadable {
        id,
        token: token.to_owned(),
        reason: format!("the job cannot be read: {}", place(&error)),
    })
}

/// Returns the place of a mistake in JSON, without the text there, which may be secret.
fn place(error: &serde_json::Error) -> String {
    format!(
        "{:?} error in line {}, column {}",
        error.classify(),
        error.line(),
        error.column()
    )
    .to_lowercase()
}

fn not_read(error: &serde_json::Error) -> String {
    format!("the answer is not JSON of a GitLab: {}", place(error))
}

fn check_media_type(response: &Response) -> Result<(), ApiError> {
    let kind = response.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let kind: String = kind
        .chars()
        .filter(|it| !it.is_control())
        .take(80)
        .collect();
    Err(ApiError::Answer(format!(
        "the answer is {kind:?}, not JSON: is this the address of a GitLab?"
    )))
}

/// Returns the reason in the body of a refusal.
fn reason(response: &Response) -> String {
    let value: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = match &value["message"] {
        Value::String(text) => text.clone(),
        Value::Null => value["error"].as_str().unwrap_or_default().to_owned(),
        // A field, and the problems of its value.
        other => other.to_string(),
    };
    text.chars()
        .filter(|it| !it.is_control())
        .take(500)
        .collect()
}
