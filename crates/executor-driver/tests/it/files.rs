//! Output and files of any size.

use crate::support::{TestJob, changed};
use executor_core::prelude::*;
use executor_testkit::CommandBuilder;
use std::io::Cursor;
use std::path::Path;
use tokio::io::AsyncReadExt;

/// Returns bytes without a pattern.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_arrive_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("noise");
    let bytes = noise(50_000_000);
    std::fs::write(&file, &bytes).unwrap();
    let mut job = TestJob::prepared(changed("pass")).await;
    let result = job.run(&format!("cat {}", file.display())).await.unwrap();
    assert_eq!(result.stdout_bytes, 50_000_000);
    assert!(job.output() == bytes, "the output differs");
    job.end().await.unwrap();
}

/// A reader that does not read stops the driver, not the runner's memory.
#[tokio::test(flavor = "multi_thread")]
async fn slow_reader_of_files_stops_the_driver() {
    let methods = "\
blocked = []
def call_get(self, call, params, payload):
    def send(header, payload, sent=[0], real=call.send):
        if call.room < len(payload): self.blocked.append(str(sent[0]))
        sent[0] += len(payload)
        real(header, payload)
    call.send = send
    return host.Host.call_get(self, call, params, payload)
def call_status(self, call, params, payload):
    return {'environments': self.blocked}";
    let mut job = TestJob::prepared(changed(methods)).await;
    job.run("head -c 8000000 /dev/zero > zeros").await.unwrap();
    let files = job.executor.abilities().file_transfer.unwrap();
    let paths = ["zeros".to_owned()];
    let mut archive = files
        .get(&job.working_dir, &paths, &Cancellation::new())
        .await
        .unwrap();
    let blocked = loop {
        let held = job.provider.held().await.unwrap();
        if let Some(at) = held.first() {
            break at.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        }
    };
    assert!(blocked <= 1 << 20, "{blocked}");
    let mut read = Vec::new();
    archive.read_to_end(&mut read).await.unwrap();
    assert!(read.len() > 8_000_000, "{}", read.len());
    job.end().await.unwrap();
}

/// A reader that gives up ends the call, also one that waits for room.
#[tokio::test(flavor = "multi_thread")]
async fn archive_that_is_not_read_ends_in_the_driver() {
    let methods = "\
def call_status(self, call, params, payload):
    others = [it for it in call.connection.calls.values() if it is not call]
    return {'environments': ['waits' if it.room < 65536 else 'sends' for it in others]}";
    let mut job = TestJob::prepared(changed(methods)).await;
    job.run("head -c 8000000 /dev/zero > zeros").await.unwrap();
    let files = job.executor.abilities().file_transfer.unwrap();
    let paths = ["zeros".to_owned()];
    let go_on = Cancellation::new();
    let archive = files.get(&job.working_dir, &paths, &go_on);
    let archive = archive.await.unwrap();
    while job.provider.held().await.unwrap() != ["environment waits"] {
        tokio::task::yield_now().await;
    }
    drop(archive);
    while !job.provider.held().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    job.end().await.unwrap();
}

/// A project chooses the names of its variables.
#[tokio::test(flavor = "multi_thread")]
async fn file_variable_is_never_a_file_elsewhere() {
    let mut job = TestJob::prepared(changed("pass")).await;
    for key in ["../up", "/tmp/absolute", ".hidden", ""] {
        let command = CommandBuilder::new("true").working_dir(&job.working_dir);
        let command = command.file(key, "content").build();
        let refused = job.executor.run(command, &Cancellation::new()).await;
        let message = refused.unwrap_err().chain();
        let words = format!("invalid file variable {key:?}: expected a file name");
        assert!(message.contains(&words), "{message}");
    }
    job.end().await.unwrap();
}

/// Only a result ends a transfer: other frames, which have no meaning there, are not taken for success.
#[tokio::test(flavor = "multi_thread")]
async fn noise_does_not_end_a_transfer() {
    let methods = "\
def call_put(self, call, params, payload):
    while sum(map(len, call.data)) < 1 << 20: time.sleep(0.01)
    call.connection.send({'id': call.id, 'data': {}}, b'noise')
    raise host.Refused('the disk is full')";
    let job = TestJob::prepared(changed(methods)).await;
    let files = job.executor.abilities().file_transfer.unwrap();
    let archive = Box::new(Cursor::new(noise(2_000_000)));
    let refused = files
        .put(&job.working_dir, archive, &Cancellation::new())
        .await;
    let message = refused.unwrap_err().chain();
    assert!(message.contains("the disk is full"), "{message}");
    job.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_cannot_leave_its_directory() {
    let mut job = TestJob::prepared(changed("pass")).await;
    let script = "mkdir in; echo evil > evil; tar -cPf archive.tar ../builds/evil; cat archive.tar";
    job.run(script).await.unwrap();
    let files = job.executor.abilities().file_transfer.unwrap();
    let archive = Box::new(Cursor::new(job.output()));
    let target = format!("{}/in", job.working_dir);
    let refused = files.put(&target, archive, &Cancellation::new()).await;
    let message = refused.unwrap_err().chain();
    assert!(message.contains("outside"), "{message}");
    job.end().await.unwrap();
}

/// At the end of its input the driver removes what it holds, and its directory is removed with it.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_leaves_nothing() {
    let mut job = TestJob::prepared(changed("pass")).await;
    job.run("touch here").await.unwrap();
    let directory = Path::new(&job.working_dir).parent().unwrap().to_owned();
    assert!(directory.join("builds/here").exists());
    job.provider
        .shutdown(std::time::Duration::from_secs(20))
        .await
        .unwrap();
    assert!(!directory.exists());
    let error = job.run("true").await.unwrap_err();
    assert!(!error.is_temporary(), "{}", error.chain());
}

/// A driver that does not read an archive has lost it, however small it is.
#[tokio::test(flavor = "multi_thread")]
async fn archive_that_the_driver_does_not_read_is_an_error() {
    let methods = "\
def call_put(self, call, params, payload):
    return {}";
    let job = TestJob::prepared(changed(methods)).await;
    let files = job.executor.abilities().file_transfer.unwrap();
    for size in [1024, 5_000_000] {
        let archive = Box::new(Cursor::new(noise(size)));
        let go_on = Cancellation::new();
        let sent = files.put(&job.working_dir, archive, &go_on);
        let error = sent.await.unwrap_err().chain();
        assert!(error.contains("before it had acknowledged"), "{error}");
    }
    job.end().await.unwrap();
}
