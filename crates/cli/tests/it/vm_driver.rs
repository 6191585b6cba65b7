//! The driver for virtual machines: `runwright driver check`, and the project of its guide as a whole job.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests start the agent of the driver's tests, and what a job has made"
)]

use crate::project::Project;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Returns a path that `cargo xtask test` prepares.
fn prepared(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable);
    path.unwrap_or_else(|| panic!("{variable} is missing: run the tests by `cargo xtask test`"))
        .into()
}

fn driver() -> String {
    prepared("RUNWRIGHT_TEST_VM_DRIVER").display().to_string()
}

fn of_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The agent of the driver's tests, whose machines are SSH servers. It ends, with its machines, when this is dropped.
struct Agent(Child);

impl Agent {
    /// Starts the agent, and writes `driver.toml` beside its files.
    fn start(root: &Path) -> Self {
        let mut child = Command::new("python3")
            .arg(of_repository("crates/vm-driver/tests/it/agent.py"))
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut port).unwrap();
        let address = format!("127.0.0.1:{}", port.trim());
        let agent = Self(child);
        // Checks start more machines than it allows.
        let (body, mut answer) = ("{\"limit\": 100}", [0; 12]);
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /test HTTP/1.1\r\nhost: agent\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        fs::write(root.join("token"), "secret\n").unwrap();
        let settings = format!(
            "host = \"jeballto\"\nbuilds-dir = \"{root}/builds\"\ncache-dir = \"{root}/cache\"\n\
             [image]\ndefault = \"base\"\n[ssh]\nuser = \"root\"\nidentity-file = \"user\"\n\
             [limits]\npoll = 20\n[jeballto]\nurl = \"http://{address}\"\ntoken-file = \"token\"\n",
            root = root.display()
        );
        fs::write(root.join("driver.toml"), settings).unwrap();
        agent
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs all checks; `last` is the last word of the driver's command.
fn check(protocol: &str, last: &str) {
    let project = Project::with_pipeline("job: {script: ['true']}\n");
    let root = project.scratch().join("agent");
    fs::create_dir(&root).unwrap();
    let _agent = Agent::start(&root);
    let settings = root.join("driver.toml").display().to_string();
    let command = [&driver(), "--config", &settings, last];
    let options = ["--jobs", "5", "--protocol", protocol, "--"];
    let words = [&["driver", "check"][..], &options, &command].concat();
    let done = project.runwright(&words).expect_code(0);
    assert!(done.stdout.contains(" passed, 0 failed, "), "{done:?}");
    let state = fs::read_dir(root.join("vm-driver")).unwrap();
    assert_eq!(state.count(), 0);
}

#[test]
fn driver_check_is_clean_in_the_typed_protocol() {
    check("typed", "serve");
}

#[test]
fn driver_check_is_clean_in_the_custom_protocol() {
    check("custom", "{}");
}

/// Two jobs share a virtual machine of a fleet, which waits for its command and is gone afterwards.
#[test]
fn jobs_share_a_virtual_machine_of_a_fleet() {
    if !executor_testkit::is_turn(0, 2) {
        return;
    }
    let pipeline = "\
first: {script: ['echo 1 > /tmp/shared', cat /proc/sys/kernel/random/boot_id]}
second: {needs: [first], script: ['echo shared $(cat /tmp/shared /tmp/ready)']}
";
    let project = Project::with_pipeline(pipeline);
    let home = project.home();
    fs::create_dir_all(home.join("images")).unwrap();
    symlink(prepared("RUNWRIGHT_TEST_GUEST"), home.join("images/debian")).unwrap();
    fs::write(
        home.join("config.toml"),
        "[machines]\nconfig = \"fleet.toml\"\n",
    )
    .unwrap();
    let fleet = format!(
        "[[runners]]\nexecutor = \"instance\"\n[runners.autoscaler]\nplugin = {:?}\n\
         max_instances = 1\ninstance_ready_command = \"test -e /tmp/ready || {{ echo 2 > /tmp/ready; false; }}\"\n\
         [[runners.autoscaler.policy]]\nidle_time = \"5m\"\n\
         [runners.autoscaler.plugin_config]\nhost = \"qemu\"\nimage = {{ default = \"debian\" }}\n\
         ssh = {{ user = \"root\" }}\nresources = {{ memory = 512 }}\nlimits = {{ poll = 50 }}\n",
        driver()
    );
    fs::write(home.join("fleet.toml"), fleet).unwrap();
    let done = project.runwright(&["run", "--executor", "instance"]);
    let done = done.expect_code(0).expect_text("second | shared 1 2");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(!done.stdout.contains(boot.trim()), "{done:?}");
    let machines = fs::read_dir(home.join("vm-fleet/machines")).unwrap();
    let machines = machines.map(|it| it.unwrap().file_name());
    assert_eq!(machines.collect::<Vec<_>>(), ["places.lock"]);
}

/// A machine of QEMU gets the sources, compiles them, and gives the program back.
#[test]
fn project_of_the_guide_is_compiled_in_a_virtual_machine() {
    if !executor_testkit::is_turn(1, 2) {
        return;
    }
    let example = of_repository("examples/vm-driver");
    let pipeline = fs::read_to_string(example.join("project/.gitlab-ci.yml")).unwrap();
    let project = Project::with_pipeline(&pipeline);
    let source = fs::read_to_string(example.join("project/hello.c")).unwrap();
    project.write("hello.c", &source);
    project.commit();
    let images = project.home().join("images");
    fs::create_dir_all(&images).unwrap();
    symlink(prepared("RUNWRIGHT_TEST_GUEST"), images.join("debian")).unwrap();
    let settings = project.home().join("vm-driver.toml");
    fs::copy(example.join("vm-driver.toml"), &settings).unwrap();
    let command = [
        &driver(),
        "--config",
        &settings.display().to_string(),
        "serve",
    ];
    let text = format!("[driver]\ncommand = {command:?}\n");
    fs::write(project.home().join("config.toml"), text).unwrap();

    let done = project
        .runwright(&["run", "--executor", "driver"])
        .expect_code(0);
    let done = done.expect_text("compile | compiled in a virtual machine");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let of_host = format!("compile | {kernel}");
    assert!(!done.stdout.contains(&of_host), "{done:?}");
    let machines = fs::read_dir(project.home().join("vm-driver/machines")).unwrap();
    let machines = machines.map(|it| it.unwrap().file_name());
    assert_eq!(machines.collect::<Vec<_>>(), ["places.lock"]);

    let made = project.scratch().join("made");
    let output = made.display().to_string();
    let extract = ["artifacts", "compile", "--output", &output];
    project.runwright(&extract).expect_code(0);
    let printed = Command::new(made.join("hello")).output().unwrap().stdout;
    assert_eq!(printed, b"compiled in a virtual machine\n");
}
