//! The stages without a real host, and the client of the agent without the stages.

use crate::support::Agent;
use driver_toolkit::{
    Cleanup, Driver, Failure, JobContext, NotReady, Record, Stage, Stop, Store, Wait,
};
use serde_json::json;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use vm_driver::{
    Address, Connections, JeballtoHost, Machine, Resources, Settings, VmDriver, VmHost, VmState,
};

const MINUTE: Duration = Duration::from_mins(1);

/// The calls of a host.
type Calls = Arc<Mutex<Vec<&'static str>>>;

/// A host in memory, whose machines have no network.
#[derive(Debug, Default)]
struct Memory {
    calls: Calls,
    is_running: Mutex<bool>,
}

impl Memory {
    fn note<T>(&self, call: &'static str, answer: T) -> T {
        self.calls.lock().unwrap().push(call);
        answer
    }
}

impl VmHost for Memory {
    fn capacity(&self) -> Option<usize> {
        None
    }

    fn has_image(&self, _image: &str) -> Result<bool, NotReady> {
        self.note("has image", Ok(false))
    }

    fn pull(
        &self,
        _image: &str,
        _progress: &dyn Fn(&str),
        _stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        self.note("pull", Ok(()))
    }

    fn find(&self, _name: &str) -> Result<Option<String>, NotReady> {
        self.note("find", Ok(None))
    }

    fn create(&self, name: &str, _image: &str) -> Result<String, NotReady> {
        self.note("create", Ok(name.to_owned()))
    }

    fn set_resources(&self, _id: &str, _resources: &Resources) -> Result<(), NotReady> {
        self.note("set resources", Ok(()))
    }

    fn start(&self, _id: &str, _stage: &Stage<'_>) -> Result<(), NotReady> {
        *self.is_running.lock().unwrap() = true;
        self.note("start", Ok(()))
    }

    fn state(&self, _id: &str) -> Result<VmState, NotReady> {
        let is_running = *self.is_running.lock().unwrap();
        Ok(if is_running {
            VmState::Running
        } else {
            VmState::Stopped
        })
    }

    fn ssh_address(&self, _id: &str) -> Result<Option<Address>, NotReady> {
        Ok(None)
    }

    fn enable_ssh(&self, _id: &str) -> Result<Address, NotReady> {
        self.note("enable SSH", Err(NotReady::never("it has no network")))
    }

    fn disable_ssh(&self, _id: &str) -> Result<(), NotReady> {
        self.note("disable SSH", Ok(()))
    }

    fn stop(&self, _id: &str) -> Result<(), NotReady> {
        self.note("stop", Ok(()))
    }

    fn delete(&self, _id: &str) -> Result<(), NotReady> {
        self.note("delete", Ok(()))
    }
}

fn settings(text: &str) -> Settings {
    toml::from_str(&format!("host = \"jeballto\"\n{text}")).unwrap()
}

#[test]
fn stages_work_with_any_host() {
    let directory = tempfile::tempdir().unwrap();
    let host = Memory::default();
    let calls = Arc::clone(&host.calls);
    let driver = VmDriver {
        host: Box::new(host),
        settings: settings("[image]\ndefault = \"base\"\n[resources]\ncpus = 2"),
        store: Store::open(directory.path()).unwrap(),
        connections: Connections::default(),
    };
    let stop = Stop::new();
    let stage = Stage::new(&stop, MINUTE, &|_| {});
    let record: Record = driver.store().lock("ci-1", MINUTE, &stage).unwrap();
    // R-VM-37: nothing of an agent is needed, and nothing of SSH before a machine has an address.
    let failed = driver.prepare("ci-1", &JobContext::default(), &record, &stage);
    assert_eq!(
        failed,
        Err(Failure::permanent("enable SSH: it has no network"))
    );
    let id = "ci-1".to_owned();
    assert_eq!(record.load::<Machine>().unwrap(), Some(Machine { id }));
    let mut cleanup = Cleanup::new(stage);
    driver.cleanup("ci-1", &record, &mut cleanup);
    cleanup.finish().unwrap();
    // The image is looked for again when this process has its lock.
    assert_eq!(
        *calls.lock().unwrap(),
        [
            "has image",
            "has image",
            "pull",
            "find",
            "create",
            "set resources",
            "start",
            "enable SSH",
            "disable SSH",
            "stop",
            "delete"
        ]
    );
}

#[test]
fn client_of_the_agent_works_alone() {
    let agent = Agent::start();
    let mut context = JobContext::default();
    let token = ("JEBALLTO_TOKEN".to_owned(), "secret".to_owned());
    context.environment.extend([token]);
    let url = format!("[jeballto]\nurl = \"http://127.0.0.1:{}\"", agent.port);
    let host = JeballtoHost::new(&settings(&url).jeballto, &context).unwrap();
    let stop = Stop::new();
    let stage = Stage::new(&stop, MINUTE, &|_| {});
    // R-VM-37: no state, no lock and no script is involved.
    assert_eq!(host.has_image("base"), Ok(false));
    host.pull("base", &|_| {}, &stage).unwrap();
    assert_eq!(host.find("ci-1"), Ok(None));
    let id = host.create("ci-1", "base").unwrap();
    assert_eq!(host.find("ci-1"), Ok(Some(id.clone())));
    assert_eq!(host.state(&id), Ok(VmState::Stopped));
    agent.set(&json!({ "limit": 0 }));
    let full = host.start(&id, &stage);
    assert!(
        matches!(&full, Err(NotReady::NotYet { reason, .. }) if reason.contains("the host is full")),
        "{full:?}"
    );
    agent.set(&json!({ "limit": 1 }));
    host.start(&id, &stage).unwrap();
    let running = || match host.state(&id)? {
        VmState::Running => Ok(()),
        other => Err(NotReady::not_yet(format!("{other:?}"))),
    };
    let wait = Wait {
        limit: MINUTE,
        pause: Duration::from_millis(10),
    };
    wait.until("run", &stage, running).unwrap();
    assert_eq!(host.ssh_address(&id), Ok(None));
    let address = host.enable_ssh(&id).unwrap();
    assert_eq!(host.ssh_address(&id), Ok(Some(address)));
    host.disable_ssh(&id).unwrap();
    host.stop(&id).unwrap();
    wait.until("delete", &stage, || host.delete(&id)).unwrap();
    // What is absent needs no removal.
    for removed in [host.disable_ssh(&id), host.stop(&id), host.delete(&id)] {
        assert_eq!(removed, Ok(()));
    }
    assert_eq!(agent.machines().len(), 0);
}
