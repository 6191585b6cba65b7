//! Machines of an agent with the HTTP API of Jeballto, version 1.

use crate::host::{Address, Resources, VmHost, VmState};
use crate::settings::Jeballto;
use driver_toolkit::{Failure, JobContext, NotReady, Stage, Wait};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Method, Request, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};

/// How long the agent may take for an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// How long it may take to create a machine, since that copies a disk.
const CREATION: Duration = Duration::from_mins(5);

/// The pause between two looks at a pull.
const PULL_POLL: Duration = Duration::from_millis(500);

/// The most machines or images in an answer; the API allows no more.
const PAGE: usize = 1000;

/// An agent with the HTTP API of Jeballto.
#[derive(Debug)]
pub struct JeballtoHost {
    agent: Agent,
    base: String,
    token: Option<String>,
    most: Option<usize>,
}

/// Why a call has no result.
struct CallError {
    /// Whether the object of the call does not exist.
    is_absent: bool,
    reason: NotReady,
}

impl CallError {
    fn unreachable(error: &ureq::Error) -> Self {
        Self {
            is_absent: false,
            reason: NotReady::not_yet(format!("the agent does not answer: {error}")),
        }
    }

    fn never(reason: impl Display) -> Self {
        Self {
            is_absent: false,
            reason: NotReady::never(reason),
        }
    }

    /// Reads the answer of a call that was refused.
    fn refused(status: StatusCode, body: &str) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Body {
            error: Reason,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Reason {
            code: String,
            message: String,
        }
        let Body {
            error: Reason { code, message },
        } = serde_json::from_str(body).unwrap_or_default();
        let text = format!("{message} ({status}, {code})");
        let reason = match (status.as_u16(), code.as_str()) {
            (401 | 403, _) => {
                NotReady::never(format!("the agent refuses the token: {message} ({status})"))
            }
            (_, "CAPABILITY_UNAVAILABLE") => NotReady::never(text),
            (_, "VM_LIMIT_REACHED") => NotReady::not_yet(format!("the host is full: {message}")),
            (400, "INVALID_REFERENCE" | "INVALID_IMAGE" | "UNSUPPORTED_IMAGE_FORMAT") => {
                NotReady::Never(Failure::job(text))
            }
            // Another operation has the machine or the image, the machine has no network yet, or the agent is busy.
            (409 | 429 | 500..=599, _) => NotReady::not_yet(text),
            // The machine is gone, as after a new start of the agent. Another attempt has a new one.
            (404, _) => Failure::system(text).into(),
            _ => NotReady::never(text),
        };
        Self {
            is_absent: status == StatusCode::NOT_FOUND,
            reason,
        }
    }
}

impl From<CallError> for NotReady {
    fn from(error: CallError) -> Self {
        error.reason
    }
}

#[derive(Deserialize)]
struct Vm {
    id: String,
    state: String,
}

#[derive(Deserialize)]
struct SshInfo {
    host: String,
    port: Option<u16>,
    status: String,
}

#[derive(Deserialize)]
struct Operation {
    #[serde(rename = "operationId")]
    id: String,
    reference: String,
    status: String,
    progress: Option<f64>,
    #[serde(rename = "errorCode")]
    code: Option<String>,
    error: Option<String>,
}

impl JeballtoHost {
    /// Returns the host; no request is sent.
    ///
    /// # Errors
    ///
    /// When the file with the token cannot be read.
    pub fn new(settings: &Jeballto, context: &JobContext) -> Result<Self, Failure> {
        let token = match &settings.token_file {
            Some(file) => {
                let text = fs::read_to_string(file).map_err(|error| {
                    Failure::system(format!("read {}: {error}", file.display()))
                })?;
                Some(text.trim().to_owned())
            }
            None => context.setting("JEBALLTO_TOKEN").map(str::to_owned),
        };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(tls);
        Ok(Self {
            agent: config.build().into(),
            base: format!("{}/v1", settings.url.trim_end_matches('/')),
            token,
            most: settings.most,
        })
    }

    fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, CallError> {
        let Some(token) = &self.token else {
            return Err(CallError::never(
                "there is no token for the agent: set `token-file` in `[jeballto]`, or JEBALLTO_TOKEN",
            ));
        };
        let limit = if (&method, path) == (&Method::POST, "/vms") {
            CREATION
        } else {
            ANSWER
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(body.map(|body| body.to_string()).unwrap_or_default())
            .map_err(|error| CallError::never(format!("{}: {error}", self.base)))?;
        let request = self.agent.configure_request(request);
        let request = request.timeout_global(Some(limit)).build();
        let mut response = self
            .agent
            .run(request)
            .map_err(|error| CallError::unreachable(&error))?;
        let status = response.status();
        let text = response
            .body_mut()
            .read_to_string()
            .map_err(|error| CallError::unreachable(&error))?;
        if !status.is_success() {
            return Err(CallError::refused(status, &text));
        }
        // An answer without content is `null`.
        let text = if text.trim().is_empty() {
            "null"
        } else {
            &text
        };
        serde_json::from_str(text).map_err(|error| {
            CallError::never(format!("unexpected answer of the agent to {path}: {error}"))
        })
    }

    /// Makes a call on a machine that may be gone.
    fn end(&self, method: Method, path: &str) -> Result<(), NotReady> {
        match self.call::<Value>(method, path, None) {
            Err(error) if !error.is_absent => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the first wanted object of a list, which comes in pages.
    fn find_in(
        &self,
        path: &str,
        key: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, NotReady> {
        let mut offset = 0;
        loop {
            let mut page: Value = self.call(
                Method::GET,
                &format!("{path}?limit={PAGE}&offset={offset}"),
                None,
            )?;
            let Some(Value::Array(items)) = page.get_mut(key).map(Value::take) else {
                return Err(NotReady::never(format!(
                    "unexpected answer of the agent to {path}: {key} is missing"
                )));
            };
            let count = items.len();
            if let Some(found) = items.into_iter().find(&is_wanted) {
                return Ok(Some(found));
            }
            if count < PAGE {
                return Ok(None);
            }
            offset += count;
        }
    }

    /// Returns the operation that pulls this image already, as after the death of the process that has begun it.
    fn active_pull(&self, image: &str) -> Result<Option<Operation>, NotReady> {
        #[derive(Deserialize)]
        struct Operations {
            operations: Vec<Operation>,
        }
        let Operations { operations } = self.call(Method::GET, "/images/pull/operations", None)?;
        Ok(operations.into_iter().find(|it| it.reference == image))
    }
}

impl VmHost for JeballtoHost {
    fn capacity(&self) -> Option<usize> {
        self.most
    }

    fn has_image(&self, image: &str) -> Result<bool, NotReady> {
        let found = self.find_in("/images", "images", |it| it["reference"] == image)?;
        Ok(found.is_some())
    }

    fn pull(&self, image: &str, progress: &dyn Fn(&str), stage: &Stage<'_>) -> Result<(), Failure> {
        let begin = || {
            if let Some(operation) = self.active_pull(image)? {
                return Ok(operation);
            }
            let body = json!({ "reference": image, "async": true });
            Ok(self.call(Method::POST, "/images/pull", Some(body))?)
        };
        let wait = Wait {
            limit: stage.remaining(Duration::MAX),
            pause: PULL_POLL,
        };
        let operation: Operation = wait.until("pull the image", stage, begin)?;
        let path = format!("/images/pull/operations/{}", operation.id);
        let mut shown = None;
        let pulled = wait.until("pull the image", stage, || {
            let operation: Operation = self.call(Method::GET, &path, None)?;
            match operation.status.as_str() {
                "completed" => Ok(()),
                "failed" | "cancelled" => Err(NotReady::Never(operation.failure())),
                _ => {
                    let percent = operation.progress.map(|part| (part * 100.0).round());
                    if percent != shown {
                        shown = percent;
                        progress(&format!(
                            "{image}: {} % are pulled",
                            percent.unwrap_or_default()
                        ));
                    }
                    Err(NotReady::not_yet("the agent pulls it"))
                }
            }
        });
        if pulled == Err(Failure::Stopped) {
            // Another job may want it, but the next process begins a new pull.
            let _ = self.end(Method::DELETE, &path);
        }
        pulled
    }

    fn find(&self, name: &str) -> Result<Option<String>, NotReady> {
        let found = self.find_in("/vms", "vms", |it| {
            it["name"] == name && it["state"] != "deleted"
        })?;
        Ok(found.and_then(|it| it["id"].as_str().map(str::to_owned)))
    }

    fn create(&self, name: &str, image: &str) -> Result<String, NotReady> {
        // If the agent stops, it deletes the machine.
        let body = json!({ "name": name, "image": image, "ephemeral": true });
        let Vm { id, .. } = self.call(Method::POST, "/vms", Some(body))?;
        Ok(id)
    }

    fn set_resources(&self, id: &str, resources: &Resources) -> Result<(), NotReady> {
        let mut body = json!({});
        if let Some(cpus) = resources.cpus {
            body["cpuCount"] = cpus.into();
        }
        if let Some(memory) = resources.memory {
            body["memorySize"] = (u64::from(memory) << 20).into();
        }
        self.call::<Value>(
            Method::PATCH,
            &format!("/vms/{id}"),
            Some(json!({ "resources": body })),
        )?;
        Ok(())
    }

    fn start(&self, id: &str, _stage: &Stage<'_>) -> Result<(), NotReady> {
        self.call::<Value>(Method::POST, &format!("/vms/{id}/start"), None)?;
        Ok(())
    }

    fn state(&self, id: &str) -> Result<VmState, NotReady> {
        let Vm { state, .. } = self.call(Method::GET, &format!("/vms/{id}"), None)?;
        Ok(match state.as_str() {
            "created" | "stopped" => VmState::Stopped,
            "running" => VmState::Running,
            "error" | "deleted" => {
                VmState::Failed(format!("the agent reports the state {state:?}"))
            }
            _ => VmState::Changing(format!("it is {state}")),
        })
    }

    fn ssh_address(&self, id: &str) -> Result<Option<Address>, NotReady> {
        let info: SshInfo = self.call(Method::GET, &format!("/vms/{id}/ssh"), None)?;
        Ok(info.address())
    }

    fn enable_ssh(&self, id: &str) -> Result<Address, NotReady> {
        let info: SshInfo = self.call(Method::POST, &format!("/vms/{id}/ssh"), None)?;
        let status = info.status.clone();
        info.address()
            .ok_or_else(|| NotReady::not_yet(format!("SSH is {status}")))
    }

    fn disable_ssh(&self, id: &str) -> Result<(), NotReady> {
        self.end(Method::DELETE, &format!("/vms/{id}/ssh"))
    }

    fn stop(&self, id: &str) -> Result<(), NotReady> {
        self.end(Method::POST, &format!("/vms/{id}/stop"))
    }

    fn delete(&self, id: &str) -> Result<(), NotReady> {
        self.end(Method::DELETE, &format!("/vms/{id}?force=true"))
    }
}

impl SshInfo {
    fn address(self) -> Option<Address> {
        let port = self.port.filter(|_| self.status == "ready")?;
        Some(Address {
            host: self.host,
            port,
        })
    }
}

impl Operation {
    fn failure(&self) -> Failure {
        let code = self.code.as_deref().unwrap_or(&self.status);
        let text = format!(
            "{} ({code})",
            self.error.as_deref().unwrap_or("without a reason")
        );
        match code {
            "IMAGE_NOT_FOUND"
            | "NOT_FOUND"
            | "INVALID_REFERENCE"
            | "INVALID_IMAGE"
            | "UNSUPPORTED_IMAGE_FORMAT" => Failure::job(text),
            _ => Failure::system(text),
        }
    }
}
