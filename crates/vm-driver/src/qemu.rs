//! Machines of QEMU on this host, one process each.

mod memory;

use crate::host::{Address, Resources, VmHost, VmState};
use crate::qemu_files::{Description, Files, failed, remove, run, with_end};
use crate::qmp;
use crate::settings::{Qemu, Settings};
use driver_toolkit::{Failure, FileLock, NotReady, Stage, program, quote};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// How long a memory may take to be written or read.
const MEMORY_LIMIT: Duration = Duration::from_mins(5);

/// Machines of QEMU on this host.
///
/// A machine is a directory with its disk, which has only the differences from the image, and a process. An image is
/// `NAME.qcow2`, or a directory `NAME` with `disk.qcow2` and, to boot a kernel directly, `kernel`, `initrd` and `cmdline`.
#[derive(Debug)]
pub struct QemuHost {
    settings: Qemu,
    defaults: Resources,
    /// The directory of the machines.
    machines: PathBuf,
    /// The directory of the recorded memories.
    snapshots: PathBuf,
    key: PathBuf,
    user: String,
    /// The version of QEMU, once it is known.
    version: OnceLock<String>,
}

impl QemuHost {
    /// Returns the host; nothing is created yet.
    ///
    /// Without an `identity-file`, the settings get one in the state directory; the file is created with the first machine.
    pub fn new(settings: &mut Settings) -> Self {
        let key = settings
            .ssh
            .identity_file
            .get_or_insert_with(|| settings.state_dir.join("key"));
        Self {
            settings: settings.qemu.clone(),
            defaults: settings.resources,
            machines: settings.state_dir.join("machines"),
            snapshots: settings.state_dir.join("snapshots"),
            key: key.clone(),
            user: settings.ssh.user.clone(),
            version: OnceLock::new(),
        }
    }

    fn files(&self, name: &str) -> Files {
        Files(self.machines.join(name))
    }

    /// Returns the directory or the disk of an image.
    fn image(&self, image: &str) -> Result<PathBuf, NotReady> {
        let is_name = !image.is_empty()
            && image
                .split('/')
                .all(|part| !matches!(part, "" | "." | ".."));
        let path = self.settings.images.join(image);
        let disk = self.settings.images.join(format!("{image}.qcow2"));
        match (is_name, path.join("disk.qcow2").is_file(), disk.is_file()) {
            (true, true, _) => Ok(path),
            (true, _, true) => Ok(disk),
            _ => Err(NotReady::Never(Failure::job(format!(
                "there is no image {image:?}"
            )))),
        }
    }

    /// Returns the public half of the key, which machines accept. The first call makes the key if it is ours to make.
    fn public_key(&self) -> Result<String, NotReady> {
        if !self.key.exists() {
            self.make_key()?;
        }
        let path = with_end(&self.key, ".pub");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => run(program("ssh-keygen")
                .args(["-y", "-P", "", "-f"])
                .arg(&self.key))?,
            text => text.map_err(failed("read", &path))?,
        };
        Ok(text.trim().to_owned())
    }

    fn make_key(&self) -> Result<(), NotReady> {
        let Some(lock) = FileLock::try_acquire(&with_end(&self.key, ".lock"))? else {
            return Err(NotReady::not_yet("another process makes the SSH key"));
        };
        if !self.key.exists() {
            let made = with_end(&self.key, ".new");
            let halves = [with_end(&made, ".pub"), made.clone()];
            for left in &halves {
                // What a process that died has left.
                let _ = fs::remove_file(left);
            }
            run(program("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&made))?;
            for (half, path) in halves
                .iter()
                .zip([with_end(&self.key, ".pub"), self.key.clone()])
            {
                fs::rename(half, &path).map_err(failed("write", &path))?;
            }
        }
        Ok(lock.remove()?)
    }

    fn cpus(&self) -> u32 {
        self.defaults.cpus.unwrap_or(1)
    }

    fn memory(&self) -> u32 {
        self.defaults.memory.unwrap_or(1024)
    }

    /// Describes a machine that boots.
    fn describe(&self, image: PathBuf) -> Description {
        let (cpus, memory) = (self.cpus(), self.memory());
        Description {
            image,
            cpus,
            memory,
            port: 0,
            snapshot: None,
            accelerator: None,
            started: false,
        }
    }

    /// Creates the directory of a machine, with a disk on top of that of the image or the snapshot.
    fn make(&self, files: &Files, description: &Description) -> Result<(), NotReady> {
        let made = files.unfinished();
        // What a process that died has left.
        remove(&made.0)?;
        let seed = made.at("seed");
        fs::create_dir_all(&seed).map_err(failed("create", &seed))?;
        let public = self.public_key()?;
        // Cloud-init reads these from a disk with the label `cidata`.
        let user = serde_json::json!({ "disable_root": false, "ssh_authorized_keys": [public] });
        let name = files.0.file_name().unwrap_or_default().to_string_lossy();
        for (file, text) in [
            ("user-data", format!("#cloud-config\n{user}\n")),
            (
                "meta-data",
                format!("instance-id: {name}\nlocal-hostname: {name}\n"),
            ),
        ] {
            fs::write(seed.join(file), text).map_err(failed("write", &seed))?;
        }
        let below = description.snapshot.as_ref();
        let below = below.map_or_else(|| disk_of(&description.image), |it| it.join("disk.qcow2"));
        let mut create = program("qemu-img");
        create
            .args(["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b"])
            .arg(below)
            .arg(made.at("disk.qcow2"));
        run(&mut create)?;
        made.write(description)?;
        remove(&files.0)?;
        fs::rename(&made.0, &files.0).map_err(failed("write", &files.0))
    }

    /// Starts the process of a machine with KVM if that works, else without.
    fn launch(
        &self,
        files: &Files,
        description: &mut Description,
        stage: &Stage<'_>,
    ) -> Result<(), NotReady> {
        if let Some(accelerator) = description.accelerator.clone() {
            if accelerator == "kvm" {
                usable_kvm()?;
            }
            return self.launch_with(&accelerator, files, description);
        }
        // On a host that is a virtual machine itself, KVM may be there and fail.
        let launched = usable_kvm().and_then(|()| self.launch_with("kvm", files, description));
        let accelerator = match launched {
            Ok(()) => "kvm",
            Err(reason) => {
                stage.log(format!("the machine runs without KVM, slowly: {reason}"));
                files.end()?;
                self.launch_with("tcg", files, description)?;
                "tcg"
            }
        };
        description.accelerator = Some(accelerator.to_owned());
        files.write(description)
    }

    /// Starts the process of a machine. With a snapshot, it goes on where that was taken.
    fn launch_with(
        &self,
        accelerator: &str,
        files: &Files,
        description: &mut Description,
    ) -> Result<(), NotReady> {
        let path = |name: &str| files.at(name).display().to_string();
        let mut command = program(&self.settings.program);
        command.args([
            "-machine",
            &format!("q35,accel={accelerator}"),
            "-cpu",
            "max",
            "-nodefaults",
            "-display",
            "none",
        ]);
        command.args([
            "-smp",
            &description.cpus.to_string(),
            "-m",
            &description.memory.to_string(),
        ]);
        command.args([
            "-drive",
            &format!(
                "file={},if=virtio,format=qcow2,cache=unsafe",
                path("disk.qcow2")
            ),
        ]);
        command.args([
            "-drive",
            &format!(
                "driver=vvfat,dir={},label=cidata,read-only=on,if=virtio",
                path("seed")
            ),
        ]);
        // QEMU takes a free port, so no other program can take it in between.
        command.args([
            "-netdev",
            "user,id=net,hostfwd=tcp:127.0.0.1:0-:22",
            "-device",
            "virtio-net-pci,netdev=net",
        ]);
        command.args([
            "-device",
            "virtio-rng-pci",
            "-device",
            "virtio-balloon-pci",
            "-device",
            "virtio-serial-pci",
        ]);
        command.args(["-serial", &format!("file:{}", path("console"))]);
        // The path of a socket may have 107 bytes only.
        command.current_dir(&files.0);
        command.args(["-qmp", "unix:qmp,server=on,wait=off"]);
        if description.image.is_dir() {
            let at = |name: &str| description.image.join(name);
            for (option, file) in [("-kernel", at("kernel")), ("-initrd", at("initrd"))] {
                if file.exists() {
                    command.arg(option).arg(file);
                }
            }
            if let Ok(text) = fs::read_to_string(at("cmdline")) {
                command.args(["-append", text.trim()]);
            }
        }
        if let Some(snapshot) = &description.snapshot {
            let memory = quote(&snapshot.join("memory").display().to_string());
            command.args(["-incoming", &format!("exec:cat {memory}")]);
        }
        command
            .args(["-daemonize", "-pidfile"])
            .arg(files.at("pid"));
        run(&mut command)?;
        if description.snapshot.is_some() {
            qmp::resume(&files.at("qmp"), MEMORY_LIMIT)
                .map_err(|error| Failure::system(format!("start from memory: {error}")))?;
        }
        description.port = qmp::forwarded_port(&files.at("qmp"), MEMORY_LIMIT)
            .map_err(|error| Failure::system(format!("ask QEMU for its port: {error}")))?;
        Ok(())
    }
}

/// Checks that KVM runs on the processor. A KVM in software, as some virtual machines have it, starts QEMU's machines, but these
/// hang in their firmware or when they continue from memory.
fn usable_kvm() -> Result<(), NotReady> {
    let device = Path::new("/dev/kvm");
    File::options()
        .write(true)
        .open(device)
        .map_err(failed("open", device))?;
    let processor = Path::new("/proc/cpuinfo");
    let text = fs::read_to_string(processor).map_err(failed("read", processor))?;
    if text
        .split_whitespace()
        .any(|it| matches!(it, "vmx" | "svm"))
    {
        return Ok(());
    }
    let reason = "/dev/kvm is a KVM in software: the processor has neither VT-x nor AMD-V";
    Err(Failure::system(reason).into())
}

/// Returns the disk of an image.
fn disk_of(image: &Path) -> PathBuf {
    if image.is_dir() {
        image.join("disk.qcow2")
    } else {
        image.to_owned()
    }
}

impl VmHost for QemuHost {
    fn capacity(&self) -> Option<usize> {
        Some(self.settings.most)
    }

    fn has_image(&self, image: &str) -> Result<bool, NotReady> {
        let image = self.image(image)?;
        Ok(!self.settings.snapshots || self.snapshot(&image)?.exists())
    }

    fn pull(&self, image: &str, progress: &dyn Fn(&str), stage: &Stage<'_>) -> Result<(), Failure> {
        let image = self.image(image)?;
        let snapshot = self.snapshot(&image)?;
        self.record(&image, &snapshot, progress, stage)
    }

    fn find(&self, name: &str) -> Result<Option<String>, NotReady> {
        let files = self.files(name);
        // A process that died has not finished it.
        remove(&files.unfinished().0)?;
        Ok(files.read()?.map(|_| name.to_owned()))
    }

    fn create(&self, name: &str, image: &str) -> Result<String, NotReady> {
        let image = self.image(image)?;
        let mut description = self.describe(image);
        if self.settings.snapshots {
            let snapshot = self.snapshot(&description.image)?;
            // Without one it boots: another process may have removed it.
            if let Some(recorded) = Files(snapshot.clone()).read()? {
                // What has stored a memory can read it.
                description.accelerator = recorded.accelerator;
                description.snapshot = Some(snapshot);
            }
        }
        self.make(&self.files(name), &description)?;
        Ok(name.to_owned())
    }

    fn set_resources(&self, id: &str, resources: &Resources) -> Result<(), NotReady> {
        let files = self.files(id);
        let mut description = files
            .read()?
            .ok_or_else(|| Failure::system("the machine is gone"))?;
        let (cpus, memory) = (
            resources.cpus.unwrap_or(description.cpus),
            resources.memory.unwrap_or(description.memory),
        );
        if (cpus, memory) != (description.cpus, description.memory) {
            // A stored memory fits one machine only.
            description = Description {
                cpus,
                memory,
                snapshot: None,
                // That of the memory, which may not work any more.
                accelerator: None,
                ..description
            };
            self.make(&files, &description)?;
        }
        Ok(())
    }

    fn start(&self, id: &str, stage: &Stage<'_>) -> Result<(), NotReady> {
        let files = self.files(id);
        let lock = FileLock::try_acquire(&self.machines.join("places.lock"))?;
        let Some(_lock) = lock else {
            return Err(NotReady::not_yet("another machine starts"));
        };
        let Some(mut description) = files.read()? else {
            return Err(Failure::system("the machine is gone").into());
        };
        // A start that was interrupted.
        files.end()?;
        let others = fs::read_dir(&self.machines).map_err(failed("read", &self.machines))?;
        let running = others
            .flatten()
            .filter(|it| Files(it.path()).process().is_some())
            .count();
        if running >= self.settings.most {
            return Err(NotReady::not_yet(format!(
                "the host is full: {running} machines run"
            )));
        }
        // The memory fits an unused disk only.
        let made = match description.snapshot {
            Some(_) => self.make(&files, &description),
            None => Ok(()),
        };
        if let Err(reason) = made.and_then(|()| self.launch(&files, &mut description, stage)) {
            if description.snapshot.take().is_none() {
                return Err(reason);
            }
            stage.log(format!(
                "the machine boots, since it cannot start from memory: {reason}"
            ));
            files.end()?;
            description.accelerator = None;
            self.make(&files, &description)?;
            self.launch(&files, &mut description, stage)?;
        }
        description.started = true;
        files.write(&description)
    }

    fn state(&self, id: &str) -> Result<VmState, NotReady> {
        let files = self.files(id);
        match files.read()? {
            None => Ok(VmState::Failed("the machine is gone".to_owned())),
            Some(it) if it.started && files.process().is_some() => Ok(VmState::Running),
            Some(_) => Ok(VmState::Stopped),
        }
    }

    fn ssh_address(&self, id: &str) -> Result<Option<Address>, NotReady> {
        let files = self.files(id);
        let found = files.read()?.filter(|_| files.process().is_some());
        Ok(found.map(|it| Address {
            host: "127.0.0.1".to_owned(),
            port: it.port,
        }))
    }

    fn enable_ssh(&self, id: &str) -> Result<Address, NotReady> {
        self.ssh_address(id)?
            .ok_or_else(|| Failure::system("the machine has stopped").into())
    }

    fn disable_ssh(&self, _id: &str) -> Result<(), NotReady> {
        // The port ends with the machine.
        Ok(())
    }

    fn stop(&self, id: &str) -> Result<(), NotReady> {
        self.files(id).end()
    }

    fn delete(&self, id: &str) -> Result<(), NotReady> {
        self.files(id).remove()
    }

    fn on_start(&self, id: &str) -> Result<Option<String>, NotReady> {
        let description = self.files(id).read()?;
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        // Its clock stood while its memory was stored.
        Ok(description
            .and_then(|it| it.snapshot)
            .map(|_| format!("{{ date -u -s @{now} || sudo -n date -u -s @{now}; }} >/dev/null")))
    }
}
