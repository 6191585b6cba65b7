//! The images of the tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::Daemon;
use crate::run;

/// The prefix of the image names.
const PREFIX: &str = "runwright-test";

/// Creates all images.
///
/// # Errors
///
/// Fails when one of the required programs fails.
pub(crate) fn make(daemon: &Daemon, target: &Path) -> anyhow::Result<()> {
    let scratch = target.join(format!("test-images-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let made = make_in(daemon, &scratch, target);
    let _ = fs::remove_dir_all(&scratch);
    made
}

fn make_in(daemon: &Daemon, scratch: &Path, target: &Path) -> anyhow::Result<()> {
    let busybox = busybox(&scratch.join("busybox"))?;
    let set_up = ["ENV PATH=/bin", "CMD [\"sh\"]"];
    import(daemon, &busybox, "busybox:1", &set_up)?;
    let user = ["ENV PATH=/bin", "USER 1000:1000", "WORKDIR /tmp"];
    import(daemon, &busybox, "nonroot:1", &user)?;
    let hello = hello(&scratch.join("scratch"))?;
    import(daemon, &hello, "scratch:1", &["CMD [\"/hello\"]"])?;
    let debian = debian(target)?;
    load(daemon, &debian, "debian:12", &["CMD [\"bash\"]"])
}

/// Makes a root file system with a static busybox, its applets and two users.
///
/// # Errors
///
/// When there is no busybox, or a file cannot be written.
pub(crate) fn busybox(root: &Path) -> anyhow::Result<PathBuf> {
    for directory in ["bin", "etc", "root", "proc", "dev", "sys", "var", "tmp"] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    fs::write(
        root.join("etc/passwd"),
        "root:x:0:0:root:/tmp:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
    )?;
    fs::write(root.join("etc/group"), "root:x:0:\nuser:x:1000:\n")?;
    let program = ["/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .context("find busybox")?;
    fs::copy(program, root.join("bin/busybox"))?;
    let list = Command::new(program).arg("--list").output()?;
    let list = String::from_utf8_lossy(&list.stdout);
    for applet in list.lines().filter(|applet| *applet != "busybox") {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    Ok(root.to_owned())
}

/// A root file system with one static program that prints a greeting.
fn hello(root: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(root)?;
    let source = root.with_extension("rs");
    fs::write(&source, "fn main() { println!(\"hello\"); }\n")?;
    let mut rustc = Command::new("rustc");
    rustc
        .args(["--edition", "2024", "-C", "target-feature=+crt-static"])
        .args(["-C", "strip=symbols", "-o"])
        .arg(root.join("hello"))
        .arg(&source)
        .stdin(Stdio::null());
    run::run(&mut rustc)?;
    Ok(root.to_owned())
}

/// An archive of a small Debian with git and bash. It is cached in the target folder, because its packages are many
/// and rarely change.
fn debian(target: &Path) -> anyhow::Result<PathBuf> {
    let kept = target.join("test-debian-12.tar");
    if kept.is_file() {
        return Ok(kept);
    }
    println!("test: making a Debian image");
    let root = target.join(format!("test-debian-{}", std::process::id()));
    let made = debootstrap(&root, &kept);
    let _ = fs::remove_dir_all(&root);
    made.map(|()| kept)
}

fn debootstrap(root: &Path, kept: &Path) -> anyhow::Result<()> {
    let mut debootstrap = Command::new("debootstrap");
    debootstrap
        .args(["--variant=minbase", "--include=git", "bookworm"])
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    run::run(&mut debootstrap)?;
    for unused in ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc"] {
        let _ = fs::remove_dir_all(root.join(unused));
    }
    let part = kept.with_extension("part");
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(&part);
    tar.arg("--directory").arg(root).arg(".");
    run::run(tar.stdin(Stdio::null()))?;
    fs::rename(part, kept)?;
    Ok(())
}

/// Creates an image from a folder.
fn import(daemon: &Daemon, root: &Path, name: &str, changes: &[&str]) -> anyhow::Result<()> {
    let archive = root.with_extension("tar");
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(&archive);
    tar.arg("--directory").arg(root).arg(".");
    run::run(tar.stdin(Stdio::null()))?;
    load(daemon, &archive, name, changes)
}

/// Creates an image from an archive.
fn load(daemon: &Daemon, archive: &Path, name: &str, changes: &[&str]) -> anyhow::Result<()> {
    let mut import = daemon.client();
    import.arg("import");
    for change in changes {
        import.args(["--change", change]);
    }
    import.arg(archive).arg(format!("{PREFIX}/{name}"));
    let output = import.output().context("start docker")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("make the image {PREFIX}/{name}: {}", said.trim());
    }
    Ok(())
}
