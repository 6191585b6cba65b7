//! A driver whose jobs survive it.

use crate::support::{TestJob, changed};
use executor_core::{ExitCode, StageStatus, TraceStream};
use std::fs;

/// A driver of a far machine: a directory plays the machine, and what a script prints is in files there.
///
/// It dies twice while it sends them, at odd places.
fn far_machine(machine: &str) -> String {
    format!(
        "\
capabilities = ['reconnect']
machine = {machine:?}
def call_prepare(self, call, params, payload):
    return {{'shell': 'sh'}}
def call_run(self, call, params, payload):
    with open(self.machine + '/started', 'a') as file: print(params['run'], file=file)
    host.subprocess.run(['sh', '-c', payload, 'sh'],
        stdout=open(self.machine + '/stdout', 'wb'), stderr=open(self.machine + '/stderr', 'wb'))
    self.forward(call, 0, 0, die=True)
def call_follow(self, call, params, payload):
    if params['run'] not in open(self.machine + '/started').read(): raise host.Refused('no such run', 'unknown')
    with open(self.machine + '/follows', 'a') as file: print(params['stdout'], params['stderr'], file=file)
    follows = open(self.machine + '/follows').read().count('\\n')
    return self.forward(call, params['stdout'], params['stderr'], die=follows < 2)
def forward(self, call, stdout, stderr, die):
    for name, at in ('stderr', stderr), ('stdout', stdout):
        with open(self.machine + '/' + name, 'rb') as file:
            file.seek(at)
            count = 0
            while chunk := file.read(12345):
                call.send({{'output': {{'stream': name}}}}, chunk)
                count += 1
                if die and count == 3: os._exit(1)
    return {{'exit_code': 7}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn script_is_followed_in_a_new_driver() {
    let machine = tempfile::tempdir().unwrap();
    let methods = far_machine(machine.path().to_str().unwrap());
    let mut job = TestJob::prepared(changed(&methods)).await;
    let result = job.run("echo problem >&2; seq 100000").await.unwrap();
    assert_eq!(result.status, StageStatus::Exited(ExitCode(7)));
    assert!(job.output() == fs::read(machine.path().join("stdout")).unwrap());
    assert_eq!(job.trace.bytes(TraceStream::STDERR), b"problem\n");
    let lines = |name: &str| fs::read_to_string(machine.path().join(name)).unwrap();
    assert_eq!(lines("started").lines().count(), 1);
    assert_eq!(lines("follows"), "37035 8\n74070 8\n");
    job.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_script_is_not_started_again() {
    let machine = tempfile::tempdir().unwrap();
    let dies = "\ndef call_run(self, call, params, payload):\n    open(self.machine + '/started', 'w').close(); os._exit(1)";
    let methods = far_machine(machine.path().to_str().unwrap()) + dies;
    let mut job = TestJob::prepared(changed(&methods)).await;
    let error = job.run("true").await.unwrap_err();
    assert_eq!(error.chain(), "driver: follow: no such run");
    assert!(!error.is_temporary());
    job.end().await.unwrap();
}
