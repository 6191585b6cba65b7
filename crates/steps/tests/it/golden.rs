//! The bytes on the wire, written out by hand after the numbers of the design.

use prost::Message;
use prost_types::Timestamp;
use steps::wire::{upstream, v1};

/// Checks that a message has these bytes, and that they are read as the same message.
fn check<M: Message + Default + PartialEq + std::fmt::Debug>(message: &M, expect: &[u8]) {
    assert_eq!(message.encode_to_vec(), expect);
    assert_eq!(M::decode(expect).unwrap(), *message);
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn a_request_has_the_numbers_of_the_design() {
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
fn calls_have_the_numbers_of_the_design() {
    // R-STEP-04
    check(&v1::RunResponse {}, b"");
    check(&v1::FollowStepsRequest { id: text("i") }, b"\x0a\x01i");
    let result = Some(v1::StepResult {
        status: 2,
        ..v1::StepResult::default()
    });
    check(&v1::FollowStepsResponse { result }, b"\x0a\x02\x20\x02");
    // 300 is the same as a 32-bit number and as a 64-bit one.
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
fn a_status_has_the_numbers_of_the_design() {
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
fn our_own_fields_begin_at_a_hundred() {
    let request = v1::RunRequest {
        temp_dir: text("t"),
        quiet: true,
        ..v1::RunRequest::default()
    };
    check(&request, b"\xaa\x06\x01t\xb8\x06\x01");
    check(
        &v1::Variable {
            raw: true,
            ..v1::Variable::default()
        },
        b"\xa0\x06\x01",
    );
}

#[test]
fn the_other_shape_has_its_own_numbers() {
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
