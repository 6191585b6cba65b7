use super::SecretString;
use super::lenient::null_is_default;
use crate::variable::JobVariable;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The image of a job or a service (`image`, `services`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Image {
    /// The image reference, for example `ruby:3.4` or `registry.example/app@sha256:...`.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The host name or names of a service, separated by spaces or commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The command that replaces the image's own; mostly for services.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub command: Vec<String>,
    /// The entry point that replaces the image's own.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub entrypoint: Vec<String>,
    /// Ports a service proxy may reach.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub ports: Vec<Port>,
    /// Variables for a service only.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub variables: Vec<JobVariable>,
    /// Pull policies in the order to try them: `always`, `if-not-present`, `never`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_is_default"
    )]
    pub pull_policy: Vec<String>,
    /// Options for one kind of executor, in the form of GitLab's payload.
    #[serde(skip_serializing_if = "ExecutorOptions::is_empty")]
    #[serde(deserialize_with = "null_is_default")]
    pub executor_opts: ExecutorOptions,
    /// `image:docker` of a pipeline file (`platform`, `user`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<Value>,
    /// `image:kubernetes` of a pipeline file (`user`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Value>,
}

impl Image {
    /// Returns an image with this reference and no other settings.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// Options of an image for one kind of executor (`executor_opts`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutorOptions {
    /// For containers: `platform` and `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<Value>,
    /// For pods: `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Value>,
}

impl ExecutorOptions {
    /// Returns whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.docker.is_none() && self.kubernetes.is_none()
    }
}

/// A port of an image that the service proxy may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// The port number.
    #[serde(deserialize_with = "null_is_default")]
    pub number: u16,
    /// `http` or `https`.
    #[serde(deserialize_with = "null_is_default")]
    pub protocol: String,
    /// The name in the proxy's address.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
}

/// Access to a registry (`credentials` of the payload).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Credentials {
    /// The kind of service; GitLab sends `registry`.
    #[serde(rename = "type")]
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    /// The registry's host.
    #[serde(deserialize_with = "null_is_default")]
    pub url: String,
    /// The user name.
    #[serde(deserialize_with = "null_is_default")]
    pub username: String,
    /// The password.
    #[serde(deserialize_with = "null_is_default")]
    pub password: SecretString,
}
