//! The bytes on the wire, written by hand from the field numbers of the design.

use prost::Message;
use prost_types::Timestamp;
use steps::wire::{upstream, v1};

/// Checks that a message has these bytes, and that they decode to the same message.
fn check<M: Message + Default + PartialEq + std::fmt::Debug>(message: &M, expect: &[u8]) {
    assert_eq!(message.encode_to_vec(), expect);
    assert_eq!(M::decode(expect).unwrap(), *message);
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn request_field_numbers_are_fixed() {
    // R-STEP-03
    let variable = v1::Variable {
        key: text("K"),
        value: text("V"),
        file: true,
        masked: true,
        ..v1::Variable::default()
    };
    check(&variable, b"\x0a\x01K\x12\x01V\x18\x01\x20\x01");
    let job = v1::Job {
        variables: vec![v1::Variable {
            key: text("K"),
            ..v1::Variable::default()
        }],
        job_id: text("j"),
        pipeline_id: text("p"),
        build_dir: text("b"),
        token_prefixes: vec![text("x"), text("y")],
    };
    check(
        &job,
        b"\x0a\x03\x0a\x01K\x12\x01j\x1a\x01p\x22\x01b\x2a\x01x\x2a\x01y",
    );
    let masking = v1::Masking {
        phrases: vec![text("s")],
        token_prefixes: vec![text("t")],
    };
    check(&masking, b"\x0a\x01s\x12\x01t");
    let request = v1::RunRequest {
        id: text("i"),
        work_dir: text("w"),
        env: [(text("E"), text("1"))].into(),
        masking: Some(v1::Masking::default()),
        job: Some(v1::Job::default()),
        steps: text("[]"),
        ..v1::RunRequest::default()
    };
    check(
        &request,
        b"\x0a\x01i\x12\x01w\x1a\x06\x0a\x01E\x12\x011\x22\x00\x2a\x00\x32\x02[]",
    );
}

#[test]
fn call_field_numbers_are_fixed() {
    // R-STEP-04
    check(&v1::RunResponse {}, b"");
    check(&v1::FollowStepsRequest { id: text("i") }, b"\x0a\x01i");
    let result = Some(v1::StepResult {
        status: 2,
        ..v1::StepResult::default()
    });
    check(&v1::FollowStepsResponse { result }, b"\x0a\x02\x20\x02");
    // 300 has the same encoding with 32 and 64 bits.
    check(
        &v1::FollowLogsRequest {
            id: text("i"),
            offset: 300,
        },
        b"\x0a\x01i\x10\xac\x02",
    );
    let data = v1::FollowLogsResponse {
        data: b"d".to_vec(),
        ..v1::FollowLogsResponse::default()
    };
    check(&data, b"\x0a\x01d");
    check(&v1::FinishRequest { id: text("i") }, b"\x0a\x01i");
    check(&v1::FinishResponse {}, b"");
}

#[test]
fn status_field_numbers_are_fixed() {
    // R-STEP-05
    let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let status = v1::Status {
        id: text("i"),
        finished: true,
        exit_code: 42,
        start_time: time(1),
        end_time: time(2),
        result: None,
    };
    check(
        &status,
        b"\x0a\x01i\x10\x01\x18\x2a\x22\x02\x08\x01\x2a\x02\x08\x02",
    );
    check(&v1::StatusRequest { id: text("i") }, b"\x0a\x01i");
    let jobs = vec![v1::Status {
        id: text("i"),
        ..v1::Status::default()
    }];
    check(&v1::StatusResponse { jobs }, b"\x0a\x03\x0a\x01i");
}

#[test]
fn own_fields_start_at_a_hundred() {
    let request = v1::RunRequest {
        timing: Some(v1::Timing {
            terminate_grace_ms: 5,
            pipe_grace_ms: 6,
            timeout_ms: 300,
        }),
        temp_dir: text("t"),
        shell: Some(v1::Shell {
            argv: vec![text("s"), text("-e")],
        }),
        quiet: true,
        instance: text("i"),
        verbatim: true,
        ..v1::RunRequest::default()
    };
    check(
        &request,
        b"\xa2\x06\x07\x08\x05\x10\x06\x18\xac\x02\xaa\x06\x01t\xb2\x06\x07\x0a\x01s\x0a\x02-e\
          \xb8\x06\x01\xc2\x06\x01i\xc8\x06\x01",
    );
    check(
        &v1::Variable {
            raw: true,
            content: b"c".to_vec(),
            ..v1::Variable::default()
        },
        b"\xa0\x06\x01\xaa\x06\x01c",
    );
    check(
        &v1::FollowLogsResponse {
            settled: true,
            open: 3,
            ..v1::FollowLogsResponse::default()
        },
        b"\xa0\x06\x01\xa8\x06\x03",
    );
    let status = v1::Status {
        result: Some(v1::Result {
            state: 3,
            ..v1::Result::default()
        }),
        ..v1::Status::default()
    };
    check(&status, b"\xa2\x06\x02\x08\x03");
}

#[test]
fn step_field_numbers_are_fixed() {
    // R-STEP-04
    let value = prost_types::Value {
        kind: Some(prost_types::value::Kind::StringValue(text("v"))),
    };
    let result = v1::StepResult {
        step: Some(v1::Step {
            name: text("n"),
            ..v1::Step::default()
        }),
        spec_definition: Some(v1::SpecDefinition::default()),
        status: 3,
        outputs: [(text("o"), value)].into(),
        exports: [(text("X"), text("1"))].into(),
        env: [(text("E"), text("2"))].into(),
        exec_result: Some(v1::step_result::ExecResult {
            command: vec![text("c")],
            work_dir: text("w"),
            exit_code: 3,
        }),
        sub_step_results: vec![v1::StepResult {
            status: 2,
            ..v1::StepResult::default()
        }],
    };
    check(
        &result,
        b"\x0a\x03\x0a\x01n\x12\x00\x20\x03\x2a\x08\x0a\x01o\x12\x03\x1a\x01v\x32\x06\x0a\x01X\x12\x011\
          \x3a\x06\x0a\x01E\x12\x012\x42\x08\x0a\x01c\x12\x01w\x18\x03\x4a\x02\x20\x02",
    );
}

#[test]
fn result_field_numbers_are_fixed() {
    let result = v1::Result {
        state: 3,
        signal: 9,
        oom_killed: true,
        duration_us: 300,
        cpu_us: 5,
        peak_memory: 6,
        stdout_bytes: 7,
        stderr_bytes: 8,
        error_kind: 1,
        message: text("m"),
        log_bytes: 11,
        killed: true,
        output_cut: true,
        log_error: text("e"),
    };
    check(
        &result,
        b"\x08\x03\x10\x09\x18\x01\x20\xac\x02\x28\x05\x30\x06\x38\x07\x40\x08\x48\x01\x52\x01m\x58\x0b\
          \x60\x01\x68\x01\x72\x01e",
    );
}

#[test]
fn own_call_numbers_are_fixed() {
    check(
        &v1::CancelRequest {
            id: text("i"),
            level: v1::cancel_request::Level::Abort.into(),
        },
        b"\x0a\x01i\x10\x02",
    );
    check(
        &v1::PutFilesRequest {
            directory: text("d"),
            data: b"b".to_vec(),
            last: true,
        },
        b"\x0a\x01d\x12\x01b\x18\x01",
    );
    check(
        &v1::GetFilesRequest {
            directory: text("d"),
            paths: vec![text("a"), text("b")],
        },
        b"\x0a\x01d\x12\x01a\x12\x01b",
    );
    let data = b"b".to_vec();
    check(&v1::GetFilesResponse { data }, b"\x0a\x01b");
    check(
        &v1::OwnRequest {
            path: text("p"),
            uid: 1000,
            gid: 1001,
        },
        b"\x0a\x01p\x10\xe8\x07\x18\xe9\x07",
    );
    check(
        &v1::HelloResponse {
            version: text("v"),
            pid: 2,
            uid: 3,
            gid: 4,
            home: text("h"),
            shells: vec![text("s"), text("t")],
            instance: text("i"),
        },
        b"\x0a\x01v\x10\x02\x18\x03\x20\x04\x2a\x01h\x32\x01s\x32\x01t\x3a\x01i",
    );
    check(&v1::CancelResponse {}, b"");
    check(&v1::HelloRequest {}, b"");
    check(&v1::PutFilesResponse {}, b"");
    check(&v1::OwnResponse {}, b"");
}

#[test]
fn host_request_field_numbers_are_fixed() {
    use v1::grant_request::{Fetched, Outcome, Published};
    use v1::wish::{Git, Oci, Publish, What};
    check(&v1::FollowWishesRequest { id: text("i") }, b"\x0a\x01i");
    let wish = |what| v1::Wish {
        what: Some(what),
        ..v1::Wish::default()
    };
    let git = v1::Wish {
        number: 7,
        directory: text("d"),
        docker_auth_config: text("c"),
        ..wish(What::Git(Git {
            url: text("u"),
            rev: text("r"),
        }))
    };
    check(
        &v1::FollowWishesResponse { wish: Some(git) },
        b"\x0a\x10\x08\x07\x12\x06\x0a\x01u\x12\x01r\x2a\x01d\x32\x01c",
    );
    let oci = Oci {
        registry: text("g"),
        repository: text("p"),
        tag: text("t"),
        platform: text("l"),
    };
    check(
        &wish(What::Oci(oci)),
        b"\x1a\x0c\x0a\x01g\x12\x01p\x1a\x01t\x22\x01l",
    );
    let publish = Publish {
        archive: text("a"),
        to_repository: text("r"),
    };
    check(&wish(What::Publish(publish)), b"\x22\x06\x0a\x01a\x12\x01r");
    let grant = |outcome| v1::GrantRequest {
        id: text("i"),
        number: 7,
        outcome: Some(outcome),
    };
    let fetched = Fetched {
        directory: text("d"),
        identity: text("y"),
    };
    check(
        &grant(Outcome::Fetched(fetched)),
        b"\x0a\x01i\x10\x07\x1a\x06\x0a\x01d\x12\x01y",
    );
    let published = Published {
        digest: text("d"),
        tags: vec![text("1"), text("2")],
    };
    check(
        &grant(Outcome::Published(published)),
        b"\x0a\x01i\x10\x07\x22\x09\x0a\x01d\x12\x011\x12\x012",
    );
    check(
        &grant(Outcome::Refused(text("w"))),
        b"\x0a\x01i\x10\x07\x2a\x01w",
    );
    check(&v1::GrantResponse {}, b"");
}

#[test]
fn upstream_field_numbers_are_fixed() {
    let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let status = upstream::Status {
        id: text("i"),
        message: text("m"),
        status: 3,
        start_time: time(1),
        end_time: time(2),
    };
    check(
        &status,
        b"\x0a\x01i\x12\x01m\x18\x03\x2a\x02\x08\x01\x32\x02\x08\x02",
    );
    let job = upstream::Job {
        build_dir: text("b"),
        ..upstream::Job::default()
    };
    check(
        &upstream::RunRequest {
            job: Some(job),
            steps: text("s"),
            ..upstream::RunRequest::default()
        },
        b"\x2a\x03\x22\x01b\x32\x01s",
    );
}
