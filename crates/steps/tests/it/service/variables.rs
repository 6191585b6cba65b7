//! The data of a job as files, environment and masks.

use std::fs;
use std::os::unix::fs::MetadataExt;

use steps::wire::v1;

use super::support::{Served, follow, plain};

fn variable(key: &str, value: &str) -> v1::Variable {
    v1::Variable {
        key: key.to_owned(),
        value: value.to_owned(),
        ..v1::Variable::default()
    }
}

#[tokio::test]
async fn job_sets_directory_environment_and_files() {
    // R-STEP-28
    // R-STEP-29
    // R-STEP-32
    let mut served = Served::start().await;
    let build_dir = served.path("builds/project");
    let file = v1::Variable {
        file: true,
        ..variable("CERT", "$A content\n")
    };
    let raw = v1::Variable {
        raw: true,
        ..variable("RAW", "$A")
    };
    let variables = vec![
        variable("A", "1"),
        variable("B", "<$A $CERT $HOME>"),
        file,
        raw,
    ];
    let script = r#"pwd; echo "$A $B $RAW"; cat "$CERT"; echo "$CERT""#;
    let mut request = served.request("1", script);
    request.job = Some(v1::Job {
        variables,
        build_dir: build_dir.display().to_string(),
        ..v1::Job::default()
    });
    let (log, _) = served.run(request).await;
    let build = build_dir.display();
    let home = std::env::var("HOME").unwrap_or_default();
    // The path of the file is that of GitLab Runner.
    let path = format!("{build}.tmp/CERT");
    assert_eq!(
        log,
        format!("{build}\n1 <1 {path} {home}> $A\n$A content\n{path}\n")
    );
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    served.stop().await;
}

#[tokio::test]
async fn client_without_a_job_sends_defaults() {
    // R-STEP-27
    // R-STEP-30
    // R-STEP-37
    let mut served = Served::start().await;
    let mut request = served.request("1", "");
    request.steps =
        super::support::steps_of(&[("a", "pwd; echo $X"), ("b", "pwd; echo hunter2 $X")]);
    request.env = [("X".to_owned(), "$HOME".to_owned())].into();
    request.masking = Some(v1::Masking {
        phrases: vec!["hunter2".to_owned()],
        ..v1::Masking::default()
    });
    let (log, _) = served.run(request).await;
    let work = served.path("work");
    let work = work.display();
    assert_eq!(log, format!("{work}\n$HOME\n{work}\n[MASKED] $HOME\n"));
    served.stop().await;
}

#[tokio::test]
async fn log_contains_no_secret() {
    // R-STEP-16
    // R-STEP-36
    // R-STEP-35
    let mut served = Served::start().await;
    let secret = v1::Variable {
        masked: true,
        raw: true,
        ..variable("S", "correct-horse")
    };
    let script = r#"printf 'correct-'; sleep 0.3; printf 'horse\n'; echo "$S" >&2; echo acme-1234 glpat-abcdef"#;
    let mut request = served.request("1", script);
    request.job = Some(v1::Job {
        variables: vec![secret],
        token_prefixes: vec!["acme-".to_owned()],
        ..v1::Job::default()
    });
    served.client.run(request).await.unwrap();
    let log = follow(&mut served.client, "1", 0).await;
    let mut lines: Vec<String> = plain(&log).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(
        lines,
        ["[MASKED]", "[MASKED]", "acme-[MASKED] glpat-[MASKED]"]
    );
    served.stop().await;
}

#[tokio::test]
async fn service_environment_is_inherited_as_configured() {
    let names = async |inherit| {
        let mut served = Served::with(|options| options.inherit = inherit).await;
        let (log, _) = served
            .run(served.request("1", "echo ${CARGO_PKG_NAME:-none} $PATH"))
            .await;
        served.stop().await;
        log
    };
    // Cargo sets it for tests, and it is not in the list.
    let path = std::env::var("PATH").unwrap();
    assert_eq!(
        names(steps::Inherit::All).await,
        concat!(env!("CARGO_PKG_NAME"), " ").to_owned() + &path + "\n"
    );
    assert_eq!(
        names(steps::Inherit::Listed).await,
        format!("none {path}\n")
    );
}

#[tokio::test]
async fn log_equals_the_trace_pipelines_output() {
    // R-STEP-39
    // R-STEP-41
    let output = "a hunter2 b\nglpat-abc?private_token=xyz\rprogress\r\nHUNTER2 aHVudGVyMg== end";
    let mut served = Served::start().await;
    fs::create_dir_all(served.path("work")).unwrap();
    fs::write(served.path("work/output"), output).unwrap();
    let mut request = served.request("1", "exec cat output");
    request.masking = Some(v1::Masking {
        phrases: vec!["hunter2".to_owned()],
        ..v1::Masking::default()
    });
    served.client.run(request).await.unwrap();
    let log = follow(&mut served.client, "1", 0).await;
    let spool = trace::Spool::create(served.path("runner")).unwrap();
    let runner = trace::TracePipeline::builder()
        .masks(trace::MaskRules::new().secret("hunter2"))
        .spool(spool)
        .start();
    runner.write(executor_core::TraceStream::STDOUT, output.as_bytes());
    runner.finish();
    let expect = fs::read(served.path("runner")).unwrap();
    // Only the times differ.
    let behind_time = |log: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(log).into_owned();
        let lines = text.split_terminator('\n');
        lines.map(|line| line[27..].to_owned()).collect()
    };
    assert_eq!(behind_time(&log), behind_time(&expect));
    served.stop().await;
}
