//! A client in another language, generated from the .proto alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::{Serving, errors};

/// Names a Python with gRPC.
const VARIABLE: &str = "RUNWRIGHT_TEST_PYTHON";

fn python() -> Command {
    let python = std::env::var_os(VARIABLE);
    let python = python.unwrap_or_else(|| {
        panic!("{VARIABLE} must name a Python with gRPC: `cargo xtask test -- -p runwright-steps` creates one, from PyPI")
    });
    #[expect(clippy::disallowed_methods, reason = "a client in another language")]
    let mut command = Command::new(python);
    command.stdin(Stdio::null());
    command
}

fn successful(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    output
}

/// Generates the client's code from the .proto.
fn generate(folder: &Path) {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut command = python();
    command
        .args(["-m", "grpc_tools.protoc"])
        .arg(format!("-I{}", proto.display()))
        .arg(format!("--python_out={}", folder.display()))
        .arg(format!("--grpc_python_out={}", folder.display()))
        .arg("runwright/steps/v1/steps.proto");
    successful(&mut command);
}

#[test]
fn client_generated_from_the_proto_can_use_the_service() {
    // R-STEP-02, R-STEP-37
    let root = tempfile::tempdir().unwrap();
    let (code, work) = (root.path().join("code"), root.path().join("work"));
    fs::create_dir(&code).unwrap();
    fs::create_dir(&work).unwrap();
    generate(&code);
    let serving = Serving::in_directory(&root.path().join("agent"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agent/client.py");
    let output = successful(
        python()
            .arg(script)
            .arg(&code)
            .arg(&serving.socket)
            .arg(&work),
    );
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let log = seen["log"].as_str().unwrap();
    for line in [
        "O hello from Python
",
        "O the [MASKED]
",
        "E oops
",
    ] {
        assert!(log.contains(line), "{line} in {log}");
    }
    assert!(!log.contains("hunter2"), "{log}");
    assert!(log.contains(work.to_str().unwrap()), "{log}");
    assert_eq!(seen["resumed"].as_str().unwrap(), &log[40..]);
    assert_eq!(fs::read_to_string(work.join("runs")).unwrap(), "run\n");
    assert_eq!(seen["finished"], true);
    assert_eq!(seen["exit_code"], 3);
    assert_eq!(seen["has_times"], true);
    assert_eq!(seen["listed"], serde_json::json!(["from-python"]));
    let steps: Vec<_> = seen["steps"].as_array().unwrap().iter().collect();
    assert_eq!(steps.last().unwrap()[0], "second", "{steps:?}");
    assert_eq!(seen["after"], "NOT_FOUND");
}
