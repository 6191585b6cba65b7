//! The generated code matches the `.proto` files.

use std::fs;
use std::path::{Path, PathBuf};

/// If set, the test writes the code instead of comparing it.
const WRITE: &str = "RUNWRIGHT_WRITE_WIRE";

const PROTOS: [&str; 2] = ["runwright/steps/v1/steps.proto", "proto/step.proto"];

/// The file names of the generator, and those of this crate.
const FILES: [(&str, &str); 2] = [
    ("runwright.steps.v1.rs", "v1.rs"),
    ("proto.rs", "upstream.rs"),
];

/// Messages with a handwritten `Debug` in `src/wire/debug.rs`, since their values are secret.
const HOLD_SECRETS: [&str; 8] = [
    "runwright.steps.v1.Variable",
    "runwright.steps.v1.Masking",
    "runwright.steps.v1.RunRequest",
    "runwright.steps.v1.StepResult",
    "runwright.steps.v1.Wish",
    "runwright.steps.v1.Wish.Git",
    "proto.Variable",
    "proto.RunRequest",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Drops attributes that silence lints: the module of the file has its own expectations.
fn without_allow(code: &str) -> String {
    let mut text =
        String::from("// @generated from the `.proto` of the same name. See `tests/it/wire.rs`.\n");
    let mut inside = false;
    for line in code.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("//!") || trimmed.starts_with("// This file is @generated") {
            continue;
        }
        inside |= trimmed.starts_with("#![allow(") || trimmed.starts_with("#[allow(");
        if !inside {
            text.push_str(line);
            text.push('\n');
        }
        inside &= !trimmed.ends_with(")]");
    }
    text
}

#[test]
fn generated_code_matches_the_protos() {
    let out = tempfile::tempdir().unwrap();
    let descriptors = protox::compile(PROTOS, [here("proto")]).unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .btree_map(".")
        .out_dir(out.path())
        .emit_rerun_if_changed(false)
        .skip_debug(HOLD_SECRETS)
        .compile_fds(descriptors)
        .unwrap();
    for (generated, ours) in FILES {
        let code = fs::read_to_string(out.path().join(generated)).unwrap();
        let code = without_allow(&code);
        let path = here("src/wire").join(ours);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&path, &code).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == code, "{ours} is old: run this test with {WRITE}=1");
    }
}
