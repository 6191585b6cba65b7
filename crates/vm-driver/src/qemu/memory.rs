//! Memories of booted images, from which machines start.

use super::{MEMORY_LIMIT, QemuHost, disk_of};
use crate::qemu_files::{Description, Files, Guard, failed, run, with_end};
use crate::qmp;
use driver_toolkit::{Failure, NotReady, SshHost, Stage, Wait, program, resource_name};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// How long a machine may take to boot when its memory is recorded.
const BOOT_LIMIT: Duration = Duration::from_mins(15);

/// How long a process may take to end after its memory is stored.
const END_LIMIT: Duration = Duration::from_mins(1);

impl QemuHost {
    /// Returns the directory of the recorded memory of an image.
    ///
    /// It is another one when the image, the resources, the key or QEMU change.
    pub(super) fn snapshot(&self, image: &Path) -> Result<PathBuf, NotReady> {
        let mut parts = vec![
            image.display().to_string(),
            self.cpus().to_string(),
            self.memory().to_string(),
            self.user.clone(),
            self.public_key()?,
            self.version()?.to_owned(),
        ];
        let of_kernel = ["kernel", "initrd", "cmdline"].map(|it| image.join(it));
        for file in [disk_of(image)].iter().chain(&of_kernel) {
            let metadata = match file.metadata() {
                Err(_) if of_kernel.contains(file) => continue,
                metadata => metadata.map_err(failed("read", file))?,
            };
            let changed = metadata.modified().map_err(failed("read", file))?;
            let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
            parts.push(format!("{}-{}", metadata.len(), changed.as_nanos()));
        }
        let parts = parts.join("\n");
        Ok(self.snapshots.join(resource_name(&["memory", &parts])))
    }

    fn version(&self) -> Result<&str, NotReady> {
        if let Some(version) = self.version.get() {
            return Ok(version);
        }
        let version = run(program(&self.settings.program).arg("--version"))?;
        Ok(self.version.get_or_init(|| version))
    }

    /// Boots a machine of an image and stores its memory and disk.
    pub(super) fn record(
        &self,
        image: &Path,
        snapshot: &Path,
        progress: &dyn Fn(&str),
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        let mut description = self.describe(image.to_owned());
        self.remove_others(&description, snapshot)?;
        // The guard of a process that died may still remove its own.
        let partial = Files(with_end(snapshot, &format!(".{:08x}", fastrand::u32(..))));
        let guard = Guard::start(&partial)?;
        self.make(&partial, &description)?;
        self.boot_and_store(&partial, &mut description, progress, stage)?;
        guard.release();
        fs::rename(&partial.0, snapshot).map_err(failed("write", snapshot))?;
        Ok(())
    }

    /// Removes what a process has left that died while it recorded a memory, and the memories that the new one replaces: those of the
    /// same image and resources, but of another version of QEMU, another key and so on. One that a machine was made from stays for now.
    fn remove_others(&self, new: &Description, snapshot: &Path) -> Result<(), NotReady> {
        let used = entries(&self.machines)
            .filter_map(|it| it.read().ok()??.snapshot)
            .collect::<Vec<_>>();
        let recording = with_end(snapshot, ".");
        let recording = recording.as_os_str().as_encoded_bytes();
        for left in entries(&self.snapshots) {
            let is_unfinished = left.0.as_os_str().as_encoded_bytes().starts_with(recording);
            let is_replaced = |it: Description| {
                (it.image, it.cpus, it.memory) == (new.image.clone(), new.cpus, new.memory)
            };
            let is_old = || left.read().ok().flatten().is_some_and(is_replaced);
            if is_unfinished || (is_old() && !used.contains(&left.0)) {
                left.end()?;
                // Its guard may do so at the same time.
                let _ = left.remove();
            }
        }
        Ok(())
    }

    fn boot_and_store(
        &self,
        files: &Files,
        description: &mut Description,
        progress: &dyn Fn(&str),
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        self.launch(files, description, stage)?;
        progress("the image boots once, and its memory is stored");
        let host = SshHost {
            port: description.port,
            identity: Some(self.key.clone()),
            ..SshHost::new("127.0.0.1", &self.user)
        };
        Wait::within(BOOT_LIMIT).until("boot the image", stage, || {
            if files.process().is_none() {
                return Err(Failure::system("the machine has stopped").into());
            }
            host.check(&["sh"], stage)
        })?;
        let store = qmp::store(&files.at("qmp"), &files.at("memory"), MEMORY_LIMIT);
        store.map_err(|error| Failure::system(format!("store the memory: {error}")))?;
        // It writes its disk to the end.
        Wait::within(END_LIMIT).until("end the machine", stage, || match files.process() {
            None => Ok(()),
            Some(_) => Err(NotReady::not_yet("its process ends")),
        })
    }
}

/// Returns the files of the machines in a directory; none if it is absent.
fn entries(directory: &Path) -> impl Iterator<Item = Files> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|it| Files(it.path()))
}
