//! An image for the tests of virtual machines, made from Debian packages as a user makes one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;

/// The environment variable with the directory of the image.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_TEST_GUEST";

/// What jobs of the tests use in the machine.
const PACKAGES: [&str; 2] = ["gcc", "libc6-dev"];

/// Makes the image below the target folder, unless it is there, and returns its directory.
///
/// # Errors
///
/// Fails when the packages cannot be fetched.
pub(crate) fn provide(root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let image = target.join("guest").join("debian");
    if image.join("disk.qcow2").is_file() {
        return Ok(image);
    }
    println!("test: making a virtual machine from Debian packages");
    std::fs::create_dir_all(target.join("guest")).context("create a directory for the machine")?;
    let mut make = Command::new(root.join("examples/vm-driver/make-image"));
    make.arg(&image)
        .args(PACKAGES)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    run::run(&mut make).context("make a virtual machine")?;
    Ok(image)
}
