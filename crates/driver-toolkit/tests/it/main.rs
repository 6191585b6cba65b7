//! Tests of what `vm-driver` does not use, and of errors that it does not meet.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod slurm;

use driver_toolkit::{
    Batch, BatchState, BatchTarget, Ended, ExitCodes, Failure, FileLock, NotReady, Output, Stage,
    State, Stop, StopLevel, Store, StoreError, Stream, Target, ThisHost, Wait, pull_once,
};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_mins(1);

/// A log that a test reads.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn quickly() -> Wait {
    Wait {
        limit: MINUTE,
        pause: Duration::from_millis(1),
    }
}

#[test]
fn reason_for_waiting_is_shown_when_it_changes() {
    let (log, stop) = (Log::default(), Stop::new());
    let add = |line: &str| log.add(line);
    let stage = Stage::new(&stop, MINUTE, &add);
    let mut reasons = ["full", "full", "full", "starting", "full"].iter();
    let result = quickly().until("start it", &stage, || match reasons.next() {
        Some(reason) => Err(NotReady::not_yet(reason)),
        None => Ok(7),
    });
    assert_eq!(result, Ok(7));
    assert_eq!(
        log.lines(),
        ["start it: full", "start it: starting", "start it: full"]
    );

    let never = quickly().until::<()>("start it", &stage, || Err(NotReady::never("broken")));
    assert_eq!(never, Err(Failure::permanent("start it: broken")));
    // The deadline of the stage counts, and so does a request to stop.
    let late = Stage::new(&stop, Duration::ZERO, &add);
    let late = quickly().until::<()>("start it", &late, || Err(NotReady::not_yet("full")));
    let text = late.unwrap_err().to_string();
    assert!(
        text.starts_with("start it: not ready after 0.0 s: full"),
        "{text}"
    );
    stop.request(StopLevel::Term);
    let stopped = quickly().until::<()>("start it", &stage, || Err(NotReady::not_yet("full")));
    assert_eq!(stopped, Err(Failure::Stopped));
}

#[test]
fn exit_codes_are_those_of_the_runner() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("code");
    let codes = ExitCodes {
        build_failure: 10,
        system_failure: 20,
    };
    for (result, expected, written) in [
        (Ok(Ended::Exited(0)), 0, None),
        (Ok(Ended::Exited(3)), 10, Some("3")),
        (Ok(Ended::Signaled(9)), 10, Some("137")),
        (Err(Failure::job("no image")), 10, None),
        (Err(Failure::system("no host")), 20, None),
        (Err(Failure::permanent("no token")), 20, None),
        (Err(Failure::Stopped), 20, None),
    ] {
        let _ = fs::remove_file(&file);
        assert_eq!(
            codes.report(&result, Some(&file)),
            Ok(expected),
            "{result:?}"
        );
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), written);
    }
    let nowhere = directory.path().join("missing/code");
    assert!(codes.report(&Ok(Ended::Exited(3)), Some(&nowhere)).is_err());
}

#[test]
fn failed_pull_is_tried_by_the_next_job() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (log, stop) = (Log::default(), Stop::new());
    let add = |line: &str| log.add(line);
    let stage = Stage::new(&stop, MINUTE, &add);
    let absent = || Ok(false);
    let failed = pull_once(&store, "i", MINUTE, &stage, absent, |_| {
        Err(Failure::system("no space"))
    });
    assert_eq!(failed, Err(Failure::system("no space")));
    pull_once(&store, "i", MINUTE, &stage, absent, |progress| {
        progress("half");
        Ok(())
    })
    .unwrap();
    assert_eq!(log.lines(), ["half"]);
    // Whether it is there is waited for.
    let busy = || Err(NotReady::not_yet("busy"));
    let late = pull_once(&store, "i", Duration::ZERO, &stage, busy, |_| Ok(()));
    let text = late.unwrap_err().to_string();
    assert!(
        text.starts_with("look for the image: not ready after 0.0 s: busy"),
        "{text}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Server {
    address: String,
}

impl State for Server {
    const VERSION: u32 = 2;
}

#[test]
fn state_is_private_whole_and_held_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("states")).unwrap();
    let record = store.try_lock("ci-1").unwrap().unwrap();
    // R-VM-37
    assert_eq!(record.load::<Server>().unwrap(), None);
    let address = "10.0.0.7".to_owned();
    let server = Server { address };
    record.save(&server).unwrap();
    assert!(store.try_lock("ci-1").unwrap().is_none());
    assert_eq!(store.names().unwrap(), ["ci-1"]);
    let path = store.path("ci-1.json");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(record);
    let record = store.try_lock("ci-1").unwrap().unwrap();
    assert_eq!(record.load().unwrap(), Some(server));
    fs::write(&path, "{\"version\": 3}").unwrap();
    let newer = record.load::<Server>();
    assert!(
        matches!(newer, Err(StoreError::Newer { found: 3, .. })),
        "{newer:?}"
    );
    fs::write(&path, "{\"version\": 2, \"state\": 7}").unwrap();
    let damaged = record.load::<Server>();
    assert!(
        matches!(damaged, Err(StoreError::Damaged { .. })),
        "{damaged:?}"
    );
    record.remove().unwrap();
    assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 0);
}

#[test]
fn lock_is_given_up_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let (log, stop) = (Log::default(), Stop::new());
    let add = |line: &str| log.add(line);
    let stage = Stage::new(&stop, MINUTE, &add);
    let held = FileLock::try_acquire(&path).unwrap().unwrap();
    held.note("pulls layer 3");
    let limit = Duration::from_secs(1);
    let refused = FileLock::acquire(&path, "wait for the image", limit, &stage);
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("wait for the image: not ready") && text.ends_with("pulls layer 3"),
        "{text}"
    );
    assert_eq!(log.lines(), ["wait for the image: pulls layer 3"]);
    held.remove().unwrap();
    assert!(!path.exists());
    // What a killed holder has left is not shown as progress.
    fs::write(&path, "pulls layer 3").unwrap();
    let _held = FileLock::try_acquire(&path).unwrap().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

/// A batch system with one queue, on this host.
struct Queue {
    child: Mutex<Option<Child>>,
    /// How the system answers before it runs a job.
    queued: Mutex<u32>,
}

#[expect(clippy::disallowed_methods, reason = "a batch system starts programs")]
impl Batch for Queue {
    fn submit(&self, script: &Path, log: &Path) -> Result<String, Failure> {
        let log = fs::File::create(log).map_err(Failure::system)?;
        // Not the script itself: a child of another test may still have it open for writing.
        let mut command = Command::new("sh");
        let child = command
            .arg(script)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        *self.child.lock().unwrap() = Some(child.map_err(Failure::system)?);
        Ok("17".to_owned())
    }

    fn state(&self, _id: &str) -> Result<BatchState, NotReady> {
        let mut queued = self.queued.lock().unwrap();
        if *queued > 0 {
            *queued -= 1;
            return Ok(BatchState::Queued("priority".to_owned()));
        }
        let mut child = self.child.lock().unwrap();
        match child.as_mut().unwrap().try_wait().unwrap() {
            None => Ok(BatchState::Running),
            Some(status) => Ok(BatchState::Ended(status.to_string())),
        }
    }

    fn cancel(&self, _id: &str) -> Result<(), Failure> {
        let mut child = self.child.lock().unwrap();
        let child = child.as_mut().unwrap();
        child
            .kill()
            .and_then(|()| child.wait())
            .map_err(Failure::system)?;
        Ok(())
    }
}

#[derive(Default)]
struct Kept(Mutex<Vec<u8>>);

impl Output for Kept {
    fn write(&self, _stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn queue(directory: &Path) -> BatchTarget<Queue> {
    let batch = Queue {
        child: Mutex::default(),
        queued: Mutex::new(3),
    };
    BatchTarget {
        pause: Duration::from_millis(5),
        grace: Duration::from_millis(50),
        ..BatchTarget::new(batch, directory)
    }
}

#[test]
fn batch_job_is_followed_to_its_end() {
    let (directory, signs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = queue(directory.path());
    let (log, stop) = (Log::default(), Stop::new());
    let seen = signs.path().join("seen");
    let add = |line: &str| {
        log.add(line);
        if line.ends_with(" runs") {
            fs::write(&seen, "").unwrap();
        }
    };
    let stage = Stage::new(&stop, MINUTE, &add);
    let output = Kept::default();
    let script = format!(
        "echo one; while [ ! -e '{}' ]; do sleep 0.01; done; echo two >&2; exit 3",
        seen.display()
    );
    let ended = target.exec("sh", &mut script.as_bytes(), &output, &stage);
    let ended = ended.unwrap();
    assert_eq!(
        (ended, output.text().as_str()),
        (Ended::Exited(3), "one\ntwo\n")
    );
    let mut lines = log.lines();
    // It may end between the looks at its exit code and at its state.
    lines.pop_if(|it| it.starts_with("the batch job 17 has ended: "));
    assert_eq!(
        lines,
        [
            "the batch job 17 is queued: priority",
            "the batch job 17 runs"
        ]
    );

    // Its node died.
    let mut script: &[u8] = b"kill -9 $PPID";
    let text = target
        .exec("sh", &mut script, &output, &stage)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("17 ended without an exit code: signal: 9"),
        "{text}"
    );

    // A request to stop cancels it.
    let mut script: &[u8] = b"echo ready; exec sleep 300";
    let output = Kept::default();
    let begun = Instant::now();
    let stopped = thread::scope(|scope| {
        scope.spawn(|| {
            while output.text().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            stop.request(StopLevel::Term);
        });
        target.exec("exec sh", &mut script, &output, &stage)
    });
    assert_eq!(stopped, Err(Failure::Stopped));
    assert!(begun.elapsed() < MINUTE);
    assert!(
        target
            .batch
            .child
            .lock()
            .unwrap()
            .as_mut()
            .unwrap()
            .try_wait()
            .unwrap()
            .is_some()
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A batch job that has ended, whose log is seen only in part at first, as over NFS.
#[derive(Default)]
struct SeenLate {
    log: Mutex<PathBuf>,
    kept: Kept,
}

impl Batch for &SeenLate {
    fn submit(&self, script: &Path, log: &Path) -> Result<String, Failure> {
        log.clone_into(&mut self.log.lock().unwrap());
        fs::write(log, "one\n").map_err(Failure::system)?;
        fs::write(script.with_file_name("code"), "3 8\n").map_err(Failure::system)?;
        Ok("17".to_owned())
    }

    fn state(&self, _id: &str) -> Result<BatchState, NotReady> {
        panic!("its exit code is there");
    }

    fn cancel(&self, _id: &str) -> Result<(), Failure> {
        panic!("it has ended");
    }
}

impl Output for SeenLate {
    /// What is open is the part; the next one that opens the log sees all of it.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.kept.write(stream, bytes)?;
        let log = self.log.lock().unwrap();
        let whole = log.with_file_name("whole");
        fs::write(&whole, "one\ntwo\n")?;
        fs::rename(whole, &*log)
    }
}

#[test]
fn exit_code_of_a_batch_job_waits_for_its_output() {
    let directory = tempfile::tempdir().unwrap();
    let (log, stop, late) = (Log::default(), Stop::new(), SeenLate::default());
    let add = |line: &str| log.add(line);
    let stage = Stage::new(&stop, MINUTE, &add);
    let target = BatchTarget {
        pause: Duration::from_millis(5),
        grace: Duration::from_millis(50),
        // A driver that was killed has left files in it, so it is one for each job.
        ..BatchTarget::new(&late, directory.path().join("of/a/job"))
    };
    let ended = target.exec("sh", &mut io::empty(), &late, &stage);
    assert_eq!(ended, Ok(Ended::Exited(3)));
    assert_eq!(late.kept.text(), "one\ntwo\n");
    assert_eq!(log.lines(), [""; 0]);

    // The rest never arrives.
    let output = Kept::default();
    let ended = target.exec("sh", &mut io::empty(), &output, &stage);
    assert_eq!(ended, Ok(Ended::Exited(3)));
    assert_eq!(output.text(), "one\n");
    let line = "the last 4 bytes of its output do not arrive";
    assert_eq!(log.lines(), [line]);
}

#[test]
fn command_on_this_host_leaves_no_process_and_waits_for_none() {
    let stop = Stop::new();
    let silent = |_: &str| {};
    let stage = Stage::new(&stop, MINUTE, &silent);
    let output = Kept::default();
    // One is in the background, and one in a session of its own, which holds the output.
    let script = "sleep 3600 >/dev/null 2>&1 & echo $!; setsid sleep 50 & echo done; exit 3";
    let begun = Instant::now();
    let ended = ThisHost.exec(script, &mut io::empty(), &output, &stage);
    assert_eq!(ended, Ok(Ended::Exited(3)));
    assert!(begun.elapsed() < Duration::from_secs(30));
    let text = output.text();
    let (background, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest, "done\n");
    let is_gone = || {
        let stat = fs::read_to_string(format!("/proc/{background}/stat"));
        stat.map_or(true, |it| it.contains(") Z "))
    };
    // The kernel may take a moment to end it.
    let killed = Instant::now();
    while !is_gone() {
        assert!(killed.elapsed() < MINUTE, "{text}");
        thread::sleep(Duration::from_millis(5));
    }
}
