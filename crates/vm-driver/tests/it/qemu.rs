//! Real machines of QEMU, made from the image that `cargo xtask test` makes.

use crate::capacity::await_line;
use crate::support::{Agent, Done, Job};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Instant, SystemTime};

/// Returns the directory of the image.
fn guest() -> PathBuf {
    std::env::var_os("RUNWRIGHT_TEST_GUEST")
        .expect("RUNWRIGHT_TEST_GUEST has an image: run the tests by `cargo xtask test`")
        .into()
}

/// Settings for QEMU, with these keys of `[qemu]` and these tables; the agent is not used.
pub(crate) fn host(qemu: &str, tables: &str) -> Agent {
    let agent = Agent::start();
    fs::create_dir(agent.path("images")).unwrap();
    symlink(guest(), agent.path("images/guest")).unwrap();
    let text = format!(
        "host = \"qemu\"\n[image]\ndefault = \"guest\"\n[ssh]\nuser = \"root\"\n[limits]\npoll = 50\n\
         [resources]\nmemory = 512\n[qemu]\n{qemu}\n{tables}\n"
    );
    fs::write(agent.path("driver.toml"), text).unwrap();
    agent
}

/// Returns the processes and directories of machines, and the states of jobs.
pub(crate) fn left(agent: &Agent) -> Vec<String> {
    let machines = fs::read_dir(agent.path("vm-driver/machines")).into_iter();
    let machines = machines.flatten().map(|it| it.unwrap().file_name());
    let machines = machines.map(|it| it.into_string().unwrap());
    let own = ["key", "key.pub", "machines", "snapshots"];
    let states = agent.stored().into_iter();
    let emulators = agent.emulators().into_iter().map(|it| it.to_string());
    emulators
        .chain(machines.filter(|it| it != "places.lock"))
        .chain(states.filter(|it| !own.contains(&it.as_str())))
        .collect()
}

pub(crate) fn assert_no_machine(agent: &Agent) {
    assert_eq!(left(agent), Vec::<String>::new());
}

/// Returns what the kernel chose when it booted: machines that start from one memory have it in common.
fn boot_id(job: &Job<'_>) -> String {
    job.run("cat /proc/sys/kernel/random/boot_id")
        .succeeds()
        .text()
}

/// Prepares a job, and returns the seconds to its first command.
fn seconds_to_first_command(job: &Job<'_>) -> f64 {
    let begun = Instant::now();
    job.prepare();
    job.run("true").succeeds();
    begun.elapsed().as_secs_f64()
}

/// Has the driver start the emulator by a script that looks at the arguments with this branch of `case`.
fn change_emulator(agent: &Agent, branch: &str) {
    let emulator = agent.path("emulator");
    let text = format!("#!/bin/sh\ncase \"$*\" in {branch} esac\nexec qemu-system-x86_64 \"$@\"\n");
    fs::write(&emulator, text).unwrap();
    fs::set_permissions(&emulator, PermissionsExt::from_mode(0o755)).unwrap();
    let key = format!("[qemu]\nprogram = \"{}\"", emulator.display());
    agent.edit_settings("[qemu]", &key);
}

/// Returns the seconds by which the clock of a job's machine is wrong.
fn wrong_seconds(job: &Job<'_>) -> u64 {
    let time = job.run("date +%s").succeeds().text();
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    time.trim().parse::<u64>().unwrap().abs_diff(now)
}

#[test]
fn second_machine_starts_from_memory() {
    let agent = host("most = 2", "[most]\nmemory = 1024");
    // The memory is years old. KVM would give the machine the time of this host.
    change_emulator(
        &agent,
        "*-incoming*) set -- \"$@\" -cpu max,kvmclock=off;; \
         *-append*) set -- \"$@\" -cpu max,kvmclock=off -rtc base=2020-01-01T00:00:00;;",
    );
    let (first, second) = (agent.job(1), agent.job(2));
    let cold = seconds_to_first_command(&first);
    let warm = seconds_to_first_command(&second);
    eprintln!(
        "first machine: {cold:.1} s, second: {warm:.1} s, {:.2}x",
        warm / cold
    );
    let recorded = boot_id(&first);
    assert_eq!(boot_id(&second), recorded);

    // Two machines: neither sees the other's files, and both know the time.
    first
        .run("mkdir -p /builds && echo first >/builds/own")
        .succeeds();
    second.run("test ! -e /builds/own").succeeds();
    for job in [&first, &second] {
        let wrong = wrong_seconds(job);
        assert!(wrong < 60, "{wrong}");
    }

    // A job compiles something.
    let script =
        "printf 'int main(void) { return 7; }' >/tmp/a.c && gcc -o /tmp/a /tmp/a.c; /tmp/a";
    second.run(script).build_failure();
    assert_eq!(fs::read_to_string(second.exit_code_file()).unwrap(), "7");

    // The host is full.
    agent.edit_settings("poll = 50", "poll = 50\nprepare = 2");
    let text = agent.job(3).call(&["prepare"]).system_failure();
    assert!(text.contains("the host is full: 2 machines run"), "{text}");
    for id in 1..=3 {
        agent.job(id).cleanup();
    }

    // Other resources do not fit the memory, and neither does damaged memory. Here it was recorded with a KVM that may be unusable.
    agent.edit_settings("prepare = 2", "prepare = 600");
    for snapshot in fs::read_dir(agent.path("vm-driver/snapshots")).unwrap() {
        let file = snapshot.unwrap().path().join("machine.json");
        let recorded = fs::read_to_string(&file).unwrap();
        fs::write(file, recorded.replace("\"tcg\"", "\"kvm\"")).unwrap();
    }
    let other = agent.job(4).with("CUSTOM_ENV_VM_MEMORY", "640");
    other.prepare();
    assert_ne!(boot_id(&other), recorded);
    assert!(wrong_seconds(&other) > 1 << 20, "the emulator is changed");
    other.cleanup();
    for snapshot in fs::read_dir(agent.path("vm-driver/snapshots")).unwrap() {
        fs::write(snapshot.unwrap().path().join("memory"), "damaged").unwrap();
    }
    let text = agent.job(5).call(&["prepare"]).succeeds().text();
    assert!(text.contains("it cannot start from memory"), "{text}");
    assert_ne!(boot_id(&agent.job(5)), recorded);

    // A memory that is removed before the start is none.
    agent.edit_settings("most = 2", "most = 1");
    let mut child = agent.job(6).command(&["prepare"]).spawn().unwrap();
    await_line(&mut child, "the host is full: 1 machines run");
    fs::remove_dir_all(agent.path("vm-driver/snapshots")).unwrap();
    agent.job(5).cleanup();
    let text = Done::of(child.wait_with_output().unwrap())
        .succeeds()
        .text();
    assert!(text.contains("it cannot start from memory"), "{text}");
    agent.job(6).cleanup();
    assert_no_machine(&agent);
}

#[test]
fn machine_with_other_resources_boots() {
    let agent = host("snapshots = false", "[most]\nmemory = 1024");
    // KVM fails.
    let case = "*accel=kvm*) echo 'no KVM today' >&2; exit 1;;";
    change_emulator(&agent, case);
    let job = agent.job(1).with("CUSTOM_ENV_VM_MEMORY", "768");
    let text = job.call(&["prepare"]).succeeds().text();
    let reasons: Vec<_> = text
        .lines()
        .filter(|it| it.contains("without KVM"))
        .collect();
    // Where there is no KVM that could fail, the device is named.
    let is_reason = |it: &str| it.contains("no KVM today") || it.contains("/dev/kvm");
    assert!(matches!(reasons[..], [line] if is_reason(line)), "{text}");

    let text = job
        .run("sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo")
        .succeeds()
        .text();
    let megabytes = text.trim().parse::<u64>().unwrap() >> 10;
    assert!((640..=768).contains(&megabytes), "{megabytes}");
    // Its process dies.
    let script = job.script("echo started; sleep 300");
    let mut child = job
        .command(&["run", &script, "build_script"])
        .spawn()
        .unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
    let pid =
        fs::read_to_string(agent.path(&format!("vm-driver/machines/{}/pid", job.name()))).unwrap();
    crate::support::program("kill")
        .args(["-KILL", pid.trim()])
        .status()
        .unwrap();
    let text = Done::of(child.wait_with_output().unwrap()).system_failure();
    assert!(text.contains("was lost while a script ran"), "{text}");
    let text = job.run("true").system_failure();
    assert!(text.contains("the machine has stopped"), "{text}");
    job.cleanup();

    let text = agent
        .job(2)
        .with("CUSTOM_ENV_CI_JOB_IMAGE", "../guest")
        .call(&["prepare"])
        .build_failure();
    assert!(text.contains("there is no image \"../guest\""), "{text}");
    agent.job(2).cleanup();
    assert_no_machine(&agent);
}

#[test]
fn kills_leave_one_machine() {
    let agent = host("", "");
    // The image is recorded first.
    agent.job(1).prepare();
    agent.job(1).cleanup();
    for round in 0..6 {
        let job = agent.job(2);
        let mut child = job.command(&["prepare"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(40 + round * 170));
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 3 < 2 {
            job.prepare();
            assert_eq!(agent.emulators().len(), 1);
            job.run("true").succeeds();
        }
        job.cleanup();
        // An emulator that the killed driver was starting finds no disk, and ends.
        wait_until(|| left(&agent).is_empty());
    }
}

#[test]
fn interrupted_recording_leaves_nothing() {
    let agent = host("", "");
    let snapshots = agent.path("vm-driver/snapshots");
    let memories = || -> Vec<_> {
        let found = fs::read_dir(&snapshots).into_iter().flatten();
        found.map(|it| it.unwrap().path()).collect()
    };
    let begin = |id| {
        let mut driver = agent.job(id).command(&["prepare"]).spawn().unwrap();
        await_line(&mut driver, "the image boots once");
        driver
    };
    let interrupt = |mut driver: Child, signal: &str| {
        let pid = driver.id().to_string();
        let kill = &mut crate::support::program("kill");
        kill.args([signal, &pid]).status().unwrap();
        driver.wait().unwrap();
    };
    for signal in ["-KILL", "-TERM"] {
        let driver = begin(1);
        assert_eq!((agent.emulators().len(), memories().len()), (1, 1));
        interrupt(driver, signal);
        wait_until(|| agent.emulators().is_empty() && memories().is_empty());
    }

    // R-VM-14: a job that waits for the memory records it itself when the one that does so is killed.
    let driver = begin(1);
    let mut second = agent.job(2).command(&["prepare"]).spawn().unwrap();
    await_line(&mut second, "wait for the pull of guest");
    interrupt(driver, "-KILL");
    await_line(&mut second, "the image boots once");
    Done::of(second.wait_with_output().unwrap()).succeeds();
    agent.job(2).run("true").succeeds();
    assert_eq!((agent.emulators().len(), memories().len()), (1, 1));

    // Another user has another key. What was stored for the old one goes when no machine was made from it.
    let old = memories();
    agent.edit_settings("user = \"root\"", "user = \"other\"");
    interrupt(begin(3), "-KILL");
    wait_until(|| memories() == old);
    agent.job(2).cleanup();
    let driver = begin(3);
    assert!(!memories().contains(&old[0]));
    interrupt(driver, "-TERM");
    wait_until(|| agent.emulators().is_empty() && memories().is_empty());
    for id in [1, 3] {
        agent.job(id).cleanup();
    }
    assert_no_machine(&agent);
}

pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed().as_secs() < 30);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
