use super::*;
use serde_json::{Value, json};

fn state(status: &Value) -> PodState {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": { "containers": [] }, "status": status });
    PodState::of(&serde_json::from_value(pod).unwrap())
}

fn ended(reason: &str, may_retry: bool) -> PodState {
    PodState::Ended {
        reason: reason.to_owned(),
        may_retry,
        unpulled: None,
    }
}

fn container(name: &str, state: &Value) -> Value {
    let [image, id] = ["i", "x"];
    json!({ "name": name, "ready": false, "restartCount": 0, "image": image, "imageID": id, "state": state })
}

fn state_of(name: &str, it: &Value) -> PodState {
    state(&json!({ "phase": "Pending", "containerStatuses": [container(name, it)] }))
}

fn state_with(services: &[Value], job: &[Value]) -> PodState {
    state(
        &json!({ "phase": "Running", "initContainerStatuses": services, "containerStatuses": job }),
    )
}

#[test]
fn ends_have_the_words_of_kubernetes() {
    let waiting = |reason: &str| {
        let state = json!({ "waiting": { "reason": reason, "message": "m" } });
        state_of("build", &state)
    };
    assert_eq!(waiting("ContainerCreating"), PodState::Pending(None));
    let unpulled = PodState::Ended {
        reason: "container build: ErrImagePull: m".to_owned(),
        may_retry: true,
        unpulled: Some(Unpulled {
            container: "build".to_owned(),
            image: "i".to_owned(),
            title: "container build".to_owned(),
            word: "ErrImagePull".to_owned(),
        }),
    };
    assert_eq!(waiting("ErrImagePull"), unpulled);
    assert_eq!(
        waiting("InvalidImageName"),
        ended("container build: InvalidImageName: m", false)
    );
    assert_eq!(
        state_of("build", &json!({ "running": {} })),
        PodState::Running(Vec::new())
    );
    let late = "failed to sync secret cache: timed out waiting for the condition";
    let late = json!({ "waiting": { "reason": "CreateContainerConfigError", "message": late } });
    assert_eq!(state_of("svc-0", &late), PodState::Pending(None));
    let unstarted = json!({ "terminated": { "exitCode": 128, "reason": "StartError" } });
    assert_eq!(
        state_of("build", &unstarted),
        ended("container build: StartError: exit code 128", false)
    );
    let killed = json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
    assert_eq!(
        state_of("build", &killed),
        ended("container build: OOMKilled: exit code 137", false)
    );
    let crashes = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    let beside = |job: &Value| {
        let (services, job) = (container("svc-0", &crashes), container("build", job));
        state_with(&[services], &[job])
    };
    assert_eq!(
        beside(&json!({ "running": {} })),
        PodState::Running(Vec::new())
    );
    let waiting = json!({ "waiting": { "reason": "PodInitializing" } });
    assert_eq!(
        beside(&waiting),
        ended("the service i: CrashLoopBackOff", false)
    );
    let unstarted = json!({ "terminated": { "reason": "StartError", "message": "no such file", "exitCode": 128 } });
    let unstarted = container("svc-0", &unstarted);
    assert_eq!(
        state_with(&[unstarted], &[container("build", &waiting)]),
        ended(
            "the service i: StartError: no such file: exit code 128",
            false
        )
    );
    let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
    assert_eq!(state(&evicted), ended("Evicted: low on memory", true));
    let condition = |kind: &str, value: &str| {
        let all = [json!({ "type": kind, "status": value, "reason": "R", "message": "0/1 nodes" })];
        state(&json!({ "phase": "Pending", "conditions": all }))
    };
    assert_eq!(
        condition("DisruptionTarget", "True"),
        ended("R: 0/1 nodes", true)
    );
    assert_eq!(
        condition("PodScheduled", "False"),
        PodState::Pending(Some("R: 0/1 nodes".to_owned()))
    );
    assert_eq!(condition("PodScheduled", "True"), PodState::Starting);
}

#[test]
fn container_starts_after_its_services() {
    let pod = |services: &Value, lifecycle: &Value| {
        let build = json!({ "name": "build", "lifecycle": lifecycle });
        let pod = json!({
            "metadata": {},
            "spec": { "containers": [build], "initContainers": [{ "name": "svc-0", "image": "web:1" }] },
            "status": {
                "phase": "Pending",
                "conditions": [{ "type": "PodScheduled", "status": "True" }],
                "initContainerStatuses": services,
            },
        });
        PodState::of(&serde_json::from_value(pod).unwrap())
    };
    let none = json!({});
    assert_eq!(pod(&json!([]), &none), PodState::Pending(None));
    let mut service = container("svc-0", &json!({ "running": {} }));
    let unready = PodState::Pending(Some("the service web:1 is not ready".to_owned()));
    assert_eq!(pod(&json!([service]), &none), unready);
    service["started"] = json!(true);
    assert_eq!(pod(&json!([service]), &none), PodState::Starting);
    let hook = json!({ "postStart": { "exec": { "command": ["true"] } } });
    assert_eq!(pod(&json!([service]), &hook), PodState::Pending(None));
}

#[test]
fn agent_that_ended_by_itself_was_left() {
    let completed = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    let build = container("build", &completed);
    let service = container("svc-0", &json!({ "running": {} }));
    assert_eq!(
        state_with(&[service], std::slice::from_ref(&build)),
        ended(LEFT, true)
    );
    let killed = json!({ "terminated": { "exitCode": 0, "reason": "OOMKilled" } });
    let reason = "container build: OOMKilled: exit code 0";
    assert_eq!(state_of("build", &killed), ended(reason, false));
    let of_pod = |reason: &str| {
        state(&json!({ "phase": "Failed", "reason": reason, "containerStatuses": [build] }))
    };
    assert_eq!(of_pod(""), ended(LEFT, true));
    assert_eq!(of_pod("DeadlineExceeded"), ended("DeadlineExceeded", false));
}

#[test]
fn evicted_pod_says_so_also_while_it_is_deleted() {
    let reason =
        json!({ "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI" });
    let pod = json!({
        "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" },
        "status": { "phase": "Running", "conditions": [reason] },
    });
    let evicted = PodState::of(&serde_json::from_value(pod).unwrap());
    assert_eq!(evicted, ended("EvictionByEvictionAPI", true));
}

#[test]
fn each_end_of_a_service_is_counted_once() {
    let ended = json!({ "terminated": { "reason": "Error", "exitCode": 3 } });
    let beside = |state: &Value, last: &Value, count: i32| {
        let mut service = container("svc-0", state);
        service["lastState"] = last.clone();
        service["restartCount"] = json!(count);
        let job = container("build", &json!({ "running": {} }));
        state_with(&[service], &[job])
    };
    let expected = |count| {
        let [container, title, reason] =
            ["svc-0", "the service i", "exit code 3"].map(str::to_owned);
        PodState::Running(vec![ServiceEnds {
            container,
            title,
            count,
            reason,
        }])
    };
    let (nothing, running) = (json!({}), json!({ "running": {} }));
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    assert_eq!(beside(&running, &nothing, 0), PodState::Running(Vec::new()));
    assert_eq!(beside(&ended, &nothing, 0), expected(1));
    assert_eq!(beside(&waiting, &ended, 0), expected(1));
    assert_eq!(beside(&running, &ended, 1), expected(1));
    assert_eq!(beside(&ended, &ended, 1), expected(2));
}

#[test]
fn service_that_is_not_ready_is_the_reason_and_not_one_that_ended_before() {
    let running = json!({ "running": {} });
    let mut ended = container("svc-0", &running);
    ended["restartCount"] = json!(1);
    ended["lastState"] = json!({ "terminated": { "reason": "Error", "exitCode": 3 } });
    let mut other = container("svc-1", &running);
    other["image"] = json!("web:1");
    let reason = |services: &[&Value]| {
        let status = json!({ "phase": "Pending", "initContainerStatuses": services });
        match state(&status) {
            PodState::Restarting { services, reason } => {
                assert_eq!(services.len(), 1);
                reason
            }
            state => panic!("{state:?}"),
        }
    };
    let expected = "the service i ended and is started again: exit code 3";
    assert_eq!(reason(&[&ended, &other]).as_deref(), Some(expected));
    ended["started"] = json!(true);
    let expected = "the service web:1 is not ready";
    assert_eq!(reason(&[&ended, &other]).as_deref(), Some(expected));
    other["started"] = json!(true);
    assert_eq!(reason(&[&ended, &other]), None);
}

#[test]
fn service_that_ends_before_the_job_is_named_with_its_last_output() {
    let with = |name: &str, terminated: &Value| {
        let service = container(name, &json!({ "terminated": terminated }));
        let pod = json!({
            "metadata": { "annotations": { "runwright.dev/alias.svc-0": "db" } },
            "status": { "phase": "Pending", "initContainerStatuses": [service] },
        });
        match PodState::of(&serde_json::from_value(pod).unwrap()) {
            PodState::Restarting { services, reason } => {
                let text = services[0].to_string();
                assert_eq!(reason.as_deref(), Some(&*text));
                text
            }
            state => panic!("{state:?}"),
        }
    };
    let output = "start\nno password is set\n\n";
    let failed = json!({ "exitCode": 3, "reason": "Error", "message": output });
    let expected = "the service db (i) ended and is started again: exit code 3; its last output was: no password is set";
    assert_eq!(with("svc-0", &failed), expected);
    let killed = json!({ "exitCode": 137, "reason": "OOMKilled" });
    let expected = "the service i ended and is started again: OOMKilled: exit code 137";
    assert_eq!(with("svc-1", &killed), expected);
    let completed = json!({ "exitCode": 0, "reason": "Completed" });
    let init = json!({
        "metadata": {},
        "spec": { "containers": [], "initContainers": [{ "name": "init" }] },
        "status": { "initContainerStatuses": [container("init", &json!({ "terminated": completed }))] },
    });
    let init = PodState::of(&serde_json::from_value(init).unwrap());
    assert_eq!(init, PodState::Pending(None));
    let expected = "the container mesh (i) ended and is started again: exit code 0";
    assert_eq!(with("mesh", &completed), expected);
}
