//! The messages of the protocol; `driver.proto` documents them.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;

/// What the runner sends.
#[derive(Debug, Serialize)]
pub(crate) struct Request<P> {
    pub(crate) id: u32,
    #[serde(flatten)]
    pub(crate) part: Part<P>,
}

/// Opens a call, or belongs to an open one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Part<P> {
    Call { call: &'static str, params: P },
    Stop { stop: Stop },
    Ack { ack: Ack },
    Data { data: Data },
}

#[derive(Debug, Serialize)]
pub(crate) struct Stop {
    pub(crate) signal: Signal,
}

/// How strongly a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signal {
    Term,
    Kill,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ack {
    pub(crate) bytes: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Data {
    pub(crate) last: bool,
}

/// What the driver sends.
#[derive(Debug, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: u32,
    #[serde(flatten)]
    pub(crate) part: ReplyPart,
}

/// Ends a call, or belongs to an open one.
#[derive(Debug, Deserialize)]
// The first name is the one in errors, which authors of drivers read.
#[serde(rename = "reply (result, error, output, data, ack or log)")]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyPart {
    Result(Value),
    Error(Refusal),
    Output(Output),
    Data(IgnoredAny),
    Ack(Ack),
    Log(IgnoredAny),
}

#[derive(Debug, Deserialize)]
pub(crate) struct Output {
    pub(crate) stream: OutputStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// The error of a call, from the driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    pub(crate) kind: RefusalKind,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefusalKind {
    Temporary,
    Config,
    NoCapacity,
    Unknown,
    Canceled,
    #[default]
    #[serde(other)]
    Failed,
}

impl Default for Refusal {
    fn default() -> Self {
        Self {
            kind: RefusalKind::Failed,
            message: "the driver gave no message".to_owned(),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Empty {}

#[derive(Debug, Serialize)]
pub(crate) struct Describe<'a> {
    pub(crate) protocol: u32,
    pub(crate) runwright: &'a str,
    pub(crate) directory: &'a str,
}

/// The part of a description that every version of the protocol has.
#[derive(Debug, Deserialize)]
pub(crate) struct Spoken {
    pub(crate) protocol: u32,
    #[serde(default)]
    pub(crate) name: String,
}

/// What a driver says about itself. Its texts are the driver's own and may contain anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// Its name; may be empty.
    #[serde(default)]
    pub name: String,
    /// Its own version; may be empty.
    #[serde(default)]
    pub version: String,
    /// Its capabilities, also unknown ones.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Where jobs have their builds, unless the runner's settings say otherwise.
    pub builds_dir: String,
    /// Where jobs have their caches, unless the runner's settings say otherwise.
    pub cache_dir: String,
}

/// A part of the protocol that a driver may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    Capacity,
    Files,
    Reconnect,
}

impl Capability {
    const ALL: [Self; 3] = [Self::Capacity, Self::Files, Self::Reconnect];

    fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Files => "files",
            Self::Reconnect => "reconnect",
        }
    }
}

impl Description {
    /// Returns whether the driver has a capability.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        let name = capability.name();
        self.capabilities.iter().any(|it| it == name)
    }

    /// Returns the capabilities that have no meaning: of a later version, or misspelled.
    pub fn unknown_capabilities(&self) -> impl Iterator<Item = &str> {
        let is_known = |name: &str| Capability::ALL.iter().any(|it| it.name() == name);
        let names = self.capabilities.iter().map(String::as_str);
        names.filter(move |name| !is_known(name))
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Acquire<'a> {
    pub(crate) runner: &'a str,
}

/// The reserved capacity; also the request that releases it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) lease: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Prepare<'a> {
    pub(crate) environment: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<&'a str>,
    pub(crate) job: Job<'a>,
    pub(crate) dirs: Dirs<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Job<'a> {
    pub(crate) id: u64,
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<&'a str>,
    pub(crate) variables: BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
pub(crate) struct Dirs<'a> {
    pub(crate) builds_dir: &'a str,
    pub(crate) cache_dir: &'a str,
    pub(crate) project_dir: &'a str,
    pub(crate) temp_dir: &'a str,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Prepared {
    #[serde(default)]
    pub(crate) hostname: String,
    pub(crate) shell: Shell,
}

/// The shells that a driver may have.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shell {
    Sh,
    Bash,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
pub(crate) struct Run<'a> {
    pub(crate) environment: &'a str,
    pub(crate) run: &'a str,
    pub(crate) stage: &'a str,
    pub(crate) placement: &'static str,
    pub(crate) shell: &'static str,
    pub(crate) working_dir: &'a str,
    pub(crate) variables: BTreeMap<&'a str, &'a str>,
    pub(crate) script_size: usize,
    pub(crate) files: Vec<File<'a>>,
    pub(crate) temp_dir: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct File<'a> {
    pub(crate) key: &'a str,
    pub(crate) size: usize,
}

/// The end of a script: one of the first two.
#[derive(Debug, Deserialize)]
pub(crate) struct RunEnded {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    #[serde(default)]
    pub(crate) oom_killed: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Follow<'a> {
    pub(crate) environment: &'a str,
    pub(crate) run: &'a str,
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Put<'a> {
    pub(crate) environment: &'a str,
    pub(crate) directory: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Get<'a> {
    pub(crate) environment: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) paths: &'a [String],
}

#[derive(Debug, Serialize)]
pub(crate) struct Cleanup<'a> {
    pub(crate) environment: &'a str,
}

/// What a driver holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) environments: Vec<String>,
    pub(crate) leases: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTO: &str = include_str!("../proto/runwright/driver/v1/driver.proto");

    /// Fails unless the description of the protocol has each name.
    fn expect_described(value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    assert!(PROTO.contains(&format!(" {name} = ")), "{name}");
                    expect_described(value);
                }
            }
            Value::Array(values) => values.iter().for_each(expect_described),
            _ => {}
        }
    }

    #[test]
    fn description_names_every_field() {
        let dirs = Dirs {
            builds_dir: "/b",
            cache_dir: "/c",
            project_dir: "/b/p",
            temp_dir: "/b/p.tmp",
        };
        let job = Job {
            id: 1,
            name: "build",
            image: Some("debian:12"),
            variables: BTreeMap::new(),
        };
        let prepare = Prepare {
            environment: "e",
            lease: Some("l"),
            job,
            dirs,
            shell: Some("sh"),
        };
        let run = Run {
            environment: "e",
            run: "e.1",
            stage: "step_script",
            placement: "user",
            shell: "sh",
            working_dir: "/b/p",
            variables: BTreeMap::new(),
            script_size: 3,
            files: vec![File { key: "F", size: 1 }],
            temp_dir: "/b/p.tmp",
        };
        let (environment, directory) = ("e", "/b");
        let follow = Follow {
            environment,
            run: "e.1",
            stdout: 0,
            stderr: 0,
        };
        let get = Get {
            environment,
            directory,
            paths: &[],
        };
        let stop = Request {
            id: 1,
            part: Part::<Empty>::Stop {
                stop: Stop {
                    signal: Signal::Term,
                },
            },
        };
        let describe = Describe {
            protocol: PROTOCOL,
            runwright: "0.1.0",
            directory,
        };
        for value in [
            serde_json::to_value(prepare),
            serde_json::to_value(run),
            serde_json::to_value(follow),
            serde_json::to_value(get),
            serde_json::to_value(stop),
            serde_json::to_value(describe),
        ] {
            expect_described(&value.unwrap());
        }
    }

    #[test]
    fn unknown_kind_of_error_means_failed() {
        let read = |text: &str| serde_json::from_str::<Refusal>(text).unwrap();
        let odd = read(r#"{"kind": "full_moon", "message": "no"}"#);
        assert_eq!(
            (odd.kind, odd.message.as_str()),
            (RefusalKind::Failed, "no")
        );
        assert_eq!(read("{}").message, "the driver gave no message");
    }
}
