//! Invalid requests.

use std::fs;

use steps::wire::v1;
use steps::wire::v1::result::{ErrorKind, State};
use tonic::Code;

use super::support::{Served, steps_of};

#[tokio::test]
async fn invalid_request_leaves_nothing() {
    // R-STEP-25
    let mut served = Served::start().await;
    let mut good = served.request("1", "true");
    good.job.get_or_insert_default().variables = vec![v1::Variable {
        key: "KEY".to_owned(),
        value: "hunter2".to_owned(),
        file: true,
        ..v1::Variable::default()
    }];
    let check = async |served: &mut Served, request: v1::RunRequest, word: &str| {
        let refused = served.client.run(request).await.expect_err(word);
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains(word), "{refused}");
        assert_eq!(served.service.requests(), 0);
        assert_eq!(
            fs::read_dir(served.path("state/requests")).unwrap().count(),
            0
        );
        // No content of a file variable is left.
        assert!(!served.path("work.tmp").exists());
    };
    let with_id = |id: &str| v1::RunRequest {
        id: id.to_owned(),
        ..good.clone()
    };
    check(&mut served, with_id(""), "id").await;
    check(&mut served, with_id("a\0b"), "id").await;
    check(&mut served, with_id(&"x".repeat(1 << 20)), "id").await;
    let with_steps = |steps: &str| v1::RunRequest {
        steps: steps.to_owned(),
        ..good.clone()
    };
    check(&mut served, with_steps(""), "no steps").await;
    check(&mut served, with_steps("[{"), "line 2").await;
    check(
        &mut served,
        with_steps("[{\"name\":\"a\",\"func\":\"x\"}]"),
        "is not a reference",
    )
    .await;
    check(
        &mut served,
        with_steps("[{\"name\":\"a\",\"script\":\"\\u0000\"}]"),
        "NUL",
    )
    .await;
    let with_step_env = r#"[{"name":"a","script":"x","env":{"C=D":"1"}}]"#;
    check(&mut served, with_steps(with_step_env), "C=D").await;
    let with_env = |key: &str, value: &str| v1::RunRequest {
        env: [(key.to_owned(), value.to_owned())].into(),
        ..good.clone()
    };
    check(&mut served, with_env("A=B", "1"), "A=B").await;
    check(&mut served, with_env("A", "a\0b"), "`A`").await;
    let with_dir = v1::RunRequest {
        work_dir: "a\0b".to_owned(),
        ..good.clone()
    };
    check(&mut served, with_dir, "NUL").await;
    let shell = Some(v1::Shell {
        argv: vec![String::new()],
    });
    check(
        &mut served,
        v1::RunRequest {
            shell,
            ..good.clone()
        },
        "shell",
    )
    .await;
    served.stop().await;
}

#[tokio::test]
async fn id_cannot_leave_the_directory() {
    let mut served = Served::start().await;
    for id in ["../x", "/abs", "..", "a b", "\u{fffd}ö"] {
        let (log, _) = served.run(served.request(id, "echo ok")).await;
        assert_eq!(log, "ok\n");
        assert_eq!(fs::read_dir(served.path("state")).unwrap().count(), 1);
        served.finish(id).await;
    }
    assert_eq!(
        fs::read_dir(served.path("state/requests")).unwrap().count(),
        0
    );
    served.stop().await;
}

#[tokio::test]
async fn offset_is_clamped_to_the_log() {
    let mut served = Served::start().await;
    served.run(served.request("1", "echo a")).await;
    let id = || "1".to_owned();
    let below = served
        .client
        .follow_logs(v1::FollowLogsRequest {
            id: id(),
            offset: -1,
        })
        .await;
    assert_eq!(below.err().unwrap().code(), Code::InvalidArgument);
    for offset in [1 << 20, i64::MAX] {
        let beyond = v1::FollowLogsRequest { id: id(), offset };
        let mut pieces = served
            .client
            .follow_logs(beyond)
            .await
            .unwrap()
            .into_inner();
        assert_eq!(pieces.message().await.unwrap(), None);
    }
    served.stop().await;
}

#[tokio::test]
async fn script_of_five_megabytes_runs() {
    let mut served = Served::start().await;
    let script = format!(
        "echo begin\n{}echo end\n",
        "# a comment of a line\n".repeat(240_000)
    );
    assert!(script.len() > 5_000_000);
    let (log, _) = served.run(served.request("1", &script)).await;
    assert_eq!(log, "begin\nend\n");
    served.stop().await;
}

#[tokio::test]
async fn first_failure_ends_ten_thousand_steps() {
    let mut served = Served::start().await;
    let mut request = served.request("1", "");
    let names: Vec<_> = (0..10_000).map(|number| format!("a{number}")).collect();
    let mut steps: Vec<_> = names.iter().map(|name| (name.as_str(), "exit 9")).collect();
    steps[0] = ("first", "echo first");
    request.steps = steps_of(&steps);
    let (log, status) = served.run(request).await;
    assert_eq!((log.as_str(), status.exit_code), ("first\n", 9));
    served.stop().await;
}

#[tokio::test]
async fn failed_start_has_a_reason() {
    let mut served = Served::start().await;
    let mut request = served.request("1", "true");
    request.shell = Some(v1::Shell {
        argv: vec!["/no/such/shell".to_owned()],
    });
    let (_, status) = served.run(request).await;
    let result = status.result.unwrap();
    assert_eq!(
        (result.state(), result.error_kind()),
        (State::Failure, ErrorKind::Start)
    );
    assert!(
        result.message.contains("/no/such/shell"),
        "{}",
        result.message
    );
    let mut request = served.request("2", "true");
    request.env = [("BIG".to_owned(), "x".repeat(1 << 20))].into();
    let (_, status) = served.run(request).await;
    assert_eq!(status.result.unwrap().error_kind(), ErrorKind::Start);
    served.stop().await;
}

#[tokio::test]
async fn file_in_place_of_the_working_directory_is_reported() {
    let mut served = Served::start().await;
    fs::write(served.path("work"), "a file").unwrap();
    let refused = served
        .client
        .run(served.request("1", "true"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("work"), "{refused}");
    served.stop().await;
}
