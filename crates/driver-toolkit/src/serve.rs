//! The typed driver protocol: one process that serves many jobs, over its standard input and output.
//!
//! The messages are described in `crates/executor-driver/proto/runwright/driver/v1/driver.proto`.

use crate::channel::{Call, Channel, Frame, Refusal};
use crate::context::JobContext;
use crate::driver::{Driver, UNLIMITED};
use crate::environments::{Environments, lock};
use crate::failure::Failure;
use crate::remote::{Ended, Output, Stream, Target, quote};
use crate::stop::{Stage, StopLevel};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;

/// The version of the protocol.
const PROTOCOL: u32 = 1;

struct Server<'d, D> {
    driver: &'d D,
    operator: &'d JobContext,
    environments: Environments<'d, D>,
    leases: Mutex<Leases>,
}

/// Room that the runner has reserved.
#[derive(Default)]
struct Leases {
    held: BTreeSet<String>,
    /// How many there were before.
    granted: u64,
}

/// Serves calls until the end of standard input, then removes what is left.
pub(crate) fn serve<D: Driver>(driver: &D, operator: &JobContext) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::system(format!("serve calls: {error}"));
    let server = Server {
        driver,
        operator,
        environments: Environments::new(driver),
        leases: Mutex::default(),
    };
    let (channel, mut input) = Channel::open().map_err(failed)?;
    let result = thread::scope(|scope| {
        scope.spawn(|| server.environments.remove_orphans());
        loop {
            match channel.next(&mut input) {
                Ok(Some(Frame::Call {
                    call,
                    name,
                    params,
                    payload,
                })) => {
                    let server = &server;
                    let channel = &channel;
                    scope.spawn(move || {
                        let answer = || server.answer(&call, &name, params, &payload);
                        let caught = catch_unwind(AssertUnwindSafe(answer));
                        let result =
                            caught.unwrap_or_else(|panic| Err(Failure::panicked(&*panic).into()));
                        channel.close(&call, result);
                    });
                }
                Ok(Some(Frame::Handled)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(failed(error)),
            }
        }
        .inspect_err(|_| channel.stop_all())
        .inspect(|()| channel.stop_all())
    });
    server.environments.remove_all();
    result
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params)
        .map_err(|error| Refusal::new("failed", format!("invalid parameters: {error}")))
}

#[derive(Deserialize)]
struct Prepare {
    environment: String,
    job: Job,
    dirs: Dirs,
    shell: Option<String>,
}

#[derive(Deserialize)]
struct Job {
    id: u64,
    #[serde(default)]
    name: String,
    image: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
struct Dirs {
    builds_dir: String,
    cache_dir: String,
    project_dir: String,
    temp_dir: String,
}

#[derive(Deserialize)]
struct Run {
    environment: String,
    stage: String,
    shell: String,
    working_dir: String,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    script_size: usize,
    #[serde(default)]
    files: Vec<FileVariable>,
    temp_dir: String,
}

#[derive(Deserialize)]
struct FileVariable {
    key: String,
    size: usize,
}

#[derive(Deserialize)]
struct Transfer {
    environment: String,
    directory: String,
    #[serde(default)]
    paths: Vec<String>,
}

#[derive(Deserialize)]
struct Lease {
    lease: String,
}

#[derive(Deserialize)]
struct Named {
    environment: String,
}

impl<D: Driver> Server<'_, D> {
    fn answer(
        &self,
        call: &Call,
        name: &str,
        params: Value,
        payload: &[u8],
    ) -> Result<Value, Refusal> {
        match name {
            "describe" => self.describe(),
            "status" => {
                let names = self.environments.names();
                let leases: Vec<_> = lock(&self.leases).held.iter().cloned().collect();
                Ok(json!({ "environments": names, "leases": leases }))
            }
            "acquire" => self.acquire(),
            "release" => {
                let Lease { lease } = read(params)?;
                lock(&self.leases).held.remove(&lease);
                Ok(json!({}))
            }
            "prepare" => self.prepare(call, read(params)?),
            "run" => self.run(call, &read(params)?, payload),
            "put" => {
                let Transfer {
                    environment,
                    directory,
                    ..
                } = read(params)?;
                let directory = quote(&directory);
                let command = format!("mkdir -p -- {directory} && tar -xf - -C {directory}");
                let mut data = call.data();
                self.exec(
                    call,
                    &environment,
                    &command,
                    &mut data,
                    &Messages::default(),
                )?;
                // The padding of the archive.
                io::copy(&mut data, &mut io::sink()).map_err(Failure::system)?;
                Ok(json!({}))
            }
            "get" => {
                let Transfer {
                    environment,
                    directory,
                    paths,
                } = read(params)?;
                let mut command = format!("cd -- {} || exit; set --", quote(&directory));
                for path in paths {
                    let path = quote(&format!("./{path}"));
                    let _ = write!(
                        command,
                        "\nif [ -e {path} ] || [ -L {path} ]; then set -- \"$@\" {path}; fi"
                    );
                }
                // GNU tar refuses to pack nothing; an empty archive is two empty blocks.
                command.push_str(
                    "\nif [ $# -gt 0 ]; then tar -cf - -- \"$@\"; else dd if=/dev/zero bs=1024 count=1 2>/dev/null; fi",
                );
                let messages = Messages {
                    archive: Some(call),
                    ..Messages::default()
                };
                self.exec(
                    call,
                    &environment,
                    "sh",
                    &mut Cursor::new(command),
                    &messages,
                )?;
                Ok(json!({}))
            }
            "cleanup" => {
                let Named { environment } = read(params)?;
                self.environments
                    .clean_up(&environment, &|line| call.log(line))?;
                Ok(json!({}))
            }
            _ => Err(Refusal::new(
                "unknown",
                format!("this driver has no call {name:?}"),
            )),
        }
    }

    fn describe(&self) -> Result<Value, Refusal> {
        let config = self.driver.config(self.operator)?;
        let mut capabilities = vec!["files"];
        capabilities.extend(self.driver.capacity().map(|_| "capacity"));
        Ok(json!({
            "protocol": PROTOCOL,
            "name": config.driver.name,
            "version": config.driver.version,
            "capabilities": capabilities,
            "builds_dir": config.builds_dir,
            "cache_dir": config.cache_dir,
        }))
    }

    fn acquire(&self) -> Result<Value, Refusal> {
        let capacity = self.driver.capacity().unwrap_or(usize::MAX);
        let mut leases = lock(&self.leases);
        if leases.held.len() >= capacity {
            let message = format!("all places are taken, of {capacity}");
            return Err(Refusal::new("no_capacity", message));
        }
        leases.granted += 1;
        let lease = leases.granted.to_string();
        leases.held.insert(lease.clone());
        Ok(json!({ "lease": lease }))
    }

    fn prepare(&self, call: &Call, params: Prepare) -> Result<Value, Refusal> {
        let log = |line: &str| call.log(line);
        let stage = Stage::new(call.stop_request(), self.driver.limits().prepare, &log);
        let mut job = self.operator.clone();
        job.variables = params.job.variables;
        job.variables
            .insert("CI_JOB_ID".to_owned(), params.job.id.to_string());
        job.variables
            .insert("CI_JOB_NAME".to_owned(), params.job.name);
        if let Some(image) = params.job.image {
            job.variables.insert("CI_JOB_IMAGE".to_owned(), image);
        }
        let name = self.driver.name(&job)?;
        let config = self.driver.config(&job)?;
        self.environments
            .prepare(&params.environment, name, job, &stage)?;
        let Dirs {
            builds_dir,
            cache_dir,
            project_dir,
            temp_dir,
        } = &params.dirs;
        let parent = project_dir
            .rsplit_once('/')
            .map_or("/", |(parent, _)| parent);
        let make = format!(
            "mkdir -p -- {} {} {} {temp} && chmod 700 {temp}",
            quote(builds_dir),
            quote(cache_dir),
            quote(parent),
            temp = quote(temp_dir),
        );
        self.exec(
            call,
            &params.environment,
            &make,
            &mut io::empty(),
            &Messages::default(),
        )?;
        let shell = params.shell.unwrap_or(config.shell);
        Ok(json!({ "hostname": config.hostname.unwrap_or_default(), "shell": shell }))
    }

    fn run(&self, call: &Call, params: &Run, payload: &[u8]) -> Result<Value, Refusal> {
        let log = |line: &str| call.log(line);
        let stage = Stage::new(call.stop_request(), UNLIMITED, &log);
        let target = self.target(&params.environment, &params.stage, &stage)?;
        let text = script(params, payload)?;
        // A shell reads its commands from a pipe byte by byte, which takes minutes for large files.
        let command = format!("{} -c 'eval \"$(cat || echo exit 1)\"'", params.shell);
        let ended = target.exec(&command, &mut Cursor::new(text), call, &stage)?;
        if ended != Ended::Exited(0)
            && params.stage.starts_with("step_")
            && let Some(environment) = self.environments.get(&params.environment)
        {
            environment.has_failed.store(true, Ordering::Relaxed);
        }
        Ok(match ended {
            Ended::Exited(code) => json!({ "exit_code": code }),
            Ended::Signaled(signal) => json!({ "signal": signal }),
        })
    }

    /// Runs a command of our own, whose failure is one of the call.
    fn exec(
        &self,
        call: &Call,
        environment: &str,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &Messages<'_>,
    ) -> Result<(), Refusal> {
        let log = |line: &str| call.log(line);
        let stage = Stage::new(call.stop_request(), UNLIMITED, &log);
        let target = self.target(environment, "files", &stage)?;
        match target.exec(command, input, output, &stage)? {
            Ended::Exited(0) => Ok(()),
            _ if stage.stop.level().is_some() => Err(Failure::Stopped.into()),
            _ => Err(Refusal::new("failed", output.text())),
        }
    }

    fn target(
        &self,
        environment: &str,
        script: &str,
        stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Refusal> {
        let unknown = || {
            Refusal::new(
                "unknown",
                format!("no environment {environment:?} is prepared"),
            )
        };
        let found = self.environments.get(environment).ok_or_else(unknown)?;
        let record = lock(&found.record);
        let record = record.as_ref().ok_or_else(unknown)?;
        Ok(self.driver.connect(&found.name, script, record, stage)?)
    }
}

/// Returns what a shell reads: variables, files, and the script as one word, so that all is read before anything starts.
fn script(params: &Run, payload: &[u8]) -> Result<String, Refusal> {
    let short = || Refusal::new("failed", "the payload is shorter than its parts");
    let mut rest = payload;
    let mut take = |size: usize| -> Result<&[u8], Refusal> {
        let (part, after) = rest.split_at_checked(size).ok_or_else(short)?;
        rest = after;
        Ok(part)
    };
    let script = String::from_utf8_lossy(take(params.script_size)?).into_owned();
    let temp_dir = quote(&params.temp_dir);
    let mut text = format!("(umask 077; mkdir -p -- {temp_dir}) || exit 1\n");
    for file in &params.files {
        let path = quote(&format!("{}/{}", params.temp_dir, file.key));
        let content = printf_format(take(file.size)?);
        let _ = writeln!(
            text,
            "(umask 077; printf '{content}' >{path}) || exit 1\nexport {}={path}",
            file.key
        );
    }
    for (name, value) in &params.variables {
        let _ = writeln!(text, "export {name}={}", quote(value));
    }
    let _ = writeln!(text, "cd -- {} || exit 1", quote(&params.working_dir));
    let _ = writeln!(text, "eval {} </dev/null\nexit", quote(&script));
    Ok(text)
}

/// Returns the format of `printf` that prints these bytes, for single quotes.
fn printf_format(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'\n' | b'/' | b'.' | b'=' | b'+' => {
                format.push(char::from(*byte));
            }
            _ => {
                let _ = write!(format, "\\{byte:03o}");
            }
        }
    }
    format
}

/// Collects the messages of a command; its standard output is data of a call, or is dropped.
#[derive(Default)]
struct Messages<'c> {
    archive: Option<&'c Call>,
    text: Mutex<Vec<u8>>,
}

impl Messages<'_> {
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&lock(&self.text)).trim().to_owned();
        if text.is_empty() {
            "the command failed without a message".to_owned()
        } else {
            text
        }
    }
}

impl Output for Messages<'_> {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match (stream, self.archive) {
            (Stream::Stdout, Some(call)) => call.send_data(bytes),
            (Stream::Stdout, None) => Ok(()),
            (Stream::Stderr, _) => {
                let mut text = lock(&self.text);
                let room = (4 << 10) - text.len().min(4 << 10);
                text.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            }
        }
    }
}

impl Output for Call {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.send_output(
            match stream {
                Stream::Stdout => "stdout",
                Stream::Stderr => "stderr",
            },
            bytes,
        )
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let kind = match failure {
            Failure::System(_) => "temporary",
            Failure::Permanent(_) => "failed",
            Failure::Job(_) => "config",
            Failure::Stopped => "canceled",
        };
        Self::new(kind, failure.to_string())
    }
}

impl From<&str> for StopLevel {
    fn from(signal: &str) -> Self {
        if signal == "term" {
            Self::Term
        } else {
            Self::Kill
        }
    }
}
