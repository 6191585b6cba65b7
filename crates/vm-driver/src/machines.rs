//! The program as a plugin of a fleet: a call of the machine layer, whose machines are kept from job to job.

use crate::driver::{CALL_LIMIT, Machine, VmDriver};
use crate::qemu_files::run;
use crate::settings::Settings;
use driver_toolkit::{
    Cleanup, Driver, Failure, JobContext, NotReady, Record, Stage, Stop, program,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The version of the protocol.
const VERSION: u32 = 1;

/// How long the SSH server of a new machine may take to show its keys, in seconds.
const KEYS_LIMIT: &str = "30";

/// The calls of the protocol, which are also the argument of the program.
const CALLS: [&str; 4] = ["list", "create", "check", "remove"];

#[derive(Deserialize)]
struct Request {
    call: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    name: String,
    /// What `create` has answered.
    #[serde(default)]
    endpoint: Value,
    config: Value,
}

/// Answers the call of a fleet if the arguments of the program are one; the settings are `plugin_config`, with the keys of the file.
pub fn answer_call(
    arguments: &[String],
    new: impl FnOnce(Settings, &JobContext) -> Result<VmDriver, Failure>,
) -> Option<ExitCode> {
    let [call] = arguments else { return None };
    if !CALLS.contains(&call.as_str()) {
        return None;
    }
    let (answer, code) = match answer(new) {
        Ok(answer) => (answer, ExitCode::SUCCESS),
        Err(failure) => (json!({ "error": failure.to_string() }), ExitCode::FAILURE),
    };
    // A reader that has gone needs no answer.
    let _ = writeln!(io::stdout(), "{answer}");
    Some(code)
}

fn answer(
    new: impl FnOnce(Settings, &JobContext) -> Result<VmDriver, Failure>,
) -> Result<Value, Failure> {
    let mut text = Vec::new();
    let read = io::stdin().read_to_end(&mut text);
    read.map_err(|error| Failure::system(format!("read the request: {error}")))?;
    let invalid = |error| Failure::system(format!("invalid request: {error}"));
    let request: Value = serde_json::from_slice(&text).map_err(invalid)?;
    if request["version"] != VERSION {
        let found = &request["version"];
        return Err(Failure::system(format!(
            "version {found} of the protocol is not known: expected {VERSION}"
        )));
    }
    let request: Request = serde_json::from_value(request).map_err(invalid)?;
    // There is no job yet.
    let context = JobContext {
        variables: BTreeMap::new(),
        ..JobContext::from_env()
    };
    let driver = new(Settings::from_config(request.config)?, &context)?;
    let stop = Stop::new();
    let installed = stop.on_signals();
    installed.map_err(|error| Failure::system(format!("handle signals: {error}")))?;
    let log = |line: &str| {
        let _ = writeln!(io::stderr(), "{line}");
    };
    let (limits, name) = (driver.limits(), request.name.as_str());
    if request.call == "list" {
        let mut machines = driver.store.names()?;
        machines.retain(|it| it.starts_with(&request.prefix));
        return Ok(json!({ "machines": machines }));
    }
    if matches!(name, "" | "." | "..") || name.contains('/') {
        return Err(Failure::system(format!("invalid name {name:?}")));
    }
    let is_removal = request.call == "remove";
    let limit = if is_removal {
        limits.cleanup
    } else {
        limits.prepare
    };
    let stage = Stage::new(&stop, limit, &log);
    let record = driver.store.lock(name, limits.lock, &stage)?;
    match request.call.as_str() {
        "create" => {
            driver.prepare(name, &context, &record, &stage)?;
            endpoint(&driver, name, &record, &stage)
        }
        "check" => {
            if matches!(record.load::<Machine>(), Ok(None)) {
                // Its lock alone would be a machine in the list.
                record.remove()?;
                return Err(Failure::system(format!("there is no machine {name}")));
            }
            let address = driver.address_of(name, &record, &stage)?;
            let known = &request.endpoint["ssh"];
            if !known.is_null() && (known["host"] != address.host || known["port"] != address.port)
            {
                return Err(Failure::system("the machine has another address now"));
            }
            let mut ssh = driver.ssh(address);
            ssh.known_hosts = Some(known_hosts(&driver, name)).filter(|it| it.exists());
            match ssh.check(&driver.settings.ssh.tool_names(), &stage) {
                Ok(()) => Ok(json!({})),
                Err(reason) => Err(Failure::system(reason)),
            }
        }
        "remove" => {
            let mut cleanup = Cleanup::new(stage);
            driver.cleanup(name, &record, &mut cleanup);
            cleanup.finish()?;
            let _ = fs::remove_file(known_hosts(&driver, name));
            record.remove()?;
            Ok(json!({}))
        }
        other => Err(Failure::system(format!("unknown call {other:?}"))),
    }
}

fn known_hosts(driver: &VmDriver, name: &str) -> PathBuf {
    driver.store.path(&format!("{name}.hosts"))
}

/// Returns where jobs reach a machine, with the keys that its SSH server shows now: another server there is not taken for it.
fn endpoint(
    driver: &VmDriver,
    name: &str,
    record: &Record,
    stage: &Stage<'_>,
) -> Result<Value, Failure> {
    let address = driver.address_of(name, record, stage)?;
    let port = address.port.to_string();
    let keys = driver
        .wait(CALL_LIMIT)
        .until("read the keys of the machine", stage, || {
            // One is enough. A server without this kind shows all that it has.
            for kinds in ["ed25519", "rsa,ecdsa"] {
                let mut scan = program("ssh-keyscan");
                scan.args(["-t", kinds, "-T", KEYS_LIMIT, "-p", &port, &address.host]);
                match run(&mut scan) {
                    Ok(keys) if !keys.is_empty() => return Ok(keys),
                    Err(NotReady::Never(failure @ Failure::Permanent(_))) => {
                        return Err(failure.into());
                    }
                    _ => {}
                }
            }
            Err(NotReady::not_yet("its SSH server shows none"))
        })?;
    let file = known_hosts(driver, name);
    let written = fs::write(&file, keys);
    written.map_err(|error| Failure::system(format!("write {}: {error}", file.display())))?;
    let ssh = driver.ssh(address);
    Ok(json!({ "endpoint": { "ssh": {
        "host": ssh.host,
        "port": ssh.port,
        "user": ssh.user,
        "identity_file": ssh.identity,
        "known_hosts_file": file,
    } } }))
}
