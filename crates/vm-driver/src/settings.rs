//! The settings of the operator, from a TOML file.

use crate::host::Resources;
use driver_toolkit::{Failure, ImagePolicy, JobContext, Limits};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that is read without `--config`, below the home directory.
const DEFAULT_FILE: &str = ".runwright/vm-driver.toml";

/// The variable of a job that names an image.
const IMAGE: &str = "VM_IMAGE";

/// The settings of the operator.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// Which host has the machines.
    pub host: HostKind,
    /// Where machines are remembered. Default: `vm-driver` beside the file.
    #[serde(default = "default_state_dir")]
    pub state_dir: PathBuf,
    /// The machine's name in the log of jobs. Default: none.
    pub hostname: Option<String>,
    /// Where jobs have their directories in a machine. Default: `/builds`.
    #[serde(default = "default_builds_dir")]
    pub builds_dir: String,
    /// Where jobs have their caches in a machine. Default: `/cache`.
    #[serde(default = "default_cache_dir")]
    pub cache_dir: String,
    /// The shell that runs scripts: `bash` or `sh`. Default: `bash`.
    #[serde(default = "default_shell")]
    pub shell: String,
    /// Variables of all jobs, which users cannot set.
    #[serde(default)]
    pub job_env: BTreeMap<String, String>,
    /// Keeps the machine of a failed job. Default: `false`.
    #[serde(default)]
    pub keep_failed: bool,
    /// Which images jobs may use.
    #[serde(default, deserialize_with = "image_policy")]
    pub image: ImagePolicy,
    /// How scripts reach a machine.
    #[serde(default)]
    pub ssh: Ssh,
    /// The resources of machines.
    #[serde(default)]
    pub resources: Resources,
    /// The most that a job may ask for with `VM_CPUS` and `VM_MEMORY` (MiB). It may not ask without.
    #[serde(default)]
    pub most: Resources,
    /// How long the stages may take, in seconds.
    #[serde(default)]
    pub limits: LimitSettings,
    /// The agent of `host = "jeballto"`.
    #[serde(default)]
    pub jeballto: Jeballto,
    /// The machines of `host = "qemu"`.
    #[serde(default)]
    pub qemu: Qemu,
}

/// A host of virtual machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// An agent with the HTTP API of Jeballto.
    Jeballto,
    /// QEMU on this host.
    Qemu,
}

/// How scripts reach a machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Ssh {
    /// The user in the machine. Default: `admin`.
    pub user: String,
    /// The private key. Default: the keys of the SSH agent; for QEMU, a key of its own in the state directory.
    pub identity_file: Option<PathBuf>,
    /// The programs that jobs need; `prepare` fails without them. Default: `bash` and `git`.
    pub tools: Vec<String>,
}

impl Default for Ssh {
    fn default() -> Self {
        Self {
            user: "admin".to_owned(),
            identity_file: None,
            tools: vec!["bash".to_owned(), "git".to_owned()],
        }
    }
}

impl Ssh {
    pub(crate) fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(String::as_str).collect()
    }
}

/// How long the stages may take, in seconds. Defaults: those of [`Limits`].
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitSettings {
    prepare: Option<u64>,
    cleanup: Option<u64>,
    lock: Option<u64>,
    /// The pause between two looks at the host, in milliseconds. Default: 1000.
    poll: Option<u64>,
}

/// An agent with the HTTP API of Jeballto.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Jeballto {
    /// Its address, without the version. Default: `http://127.0.0.1:8011`.
    pub url: String,
    /// A file with the token. Default: the variable `JEBALLTO_TOKEN` of the driver's environment.
    pub token_file: Option<PathBuf>,
    /// How many machines it runs, which is 2 on macOS. Default: not known.
    pub most: Option<usize>,
}

impl Default for Jeballto {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:8011".to_owned(),
            token_file: None,
            most: None,
        }
    }
}

/// Machines of QEMU on this host.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Qemu {
    /// The directory of the images. Default: `images` beside the file.
    pub images: PathBuf,
    /// How many machines may run. Default: 2.
    pub most: usize,
    /// Whether the memory of a booted image is stored, and machines start from it. Default: `true`.
    pub snapshots: bool,
    /// The emulator. Default: `qemu-system-x86_64`.
    pub program: String,
}

impl Default for Qemu {
    fn default() -> Self {
        Self {
            images: "images".into(),
            most: 2,
            snapshots: true,
            program: "qemu-system-x86_64".to_owned(),
        }
    }
}

fn default_state_dir() -> PathBuf {
    "vm-driver".into()
}

fn default_builds_dir() -> String {
    "/builds".to_owned()
}

fn default_cache_dir() -> String {
    "/cache".to_owned()
}

fn default_shell() -> String {
    "bash".to_owned()
}

/// Reads the policy for images, without the variable.
fn image_policy<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<ImagePolicy, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Image {
        default: Option<String>,
        #[serde(default)]
        allowed: Vec<String>,
    }
    let Image { default, allowed } = Image::deserialize(deserializer)?;
    Ok(ImagePolicy {
        default,
        allowed,
        ..ImagePolicy::default()
    })
}

impl Settings {
    /// Reads the file that the operator's arguments name with `--config FILE`, or `~/.runwright/vm-driver.toml`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is invalid, with its line and column.
    pub fn read(context: &JobContext) -> Result<Self, Failure> {
        let file = match context.arguments.as_slice() {
            [] => {
                let home = context
                    .setting("HOME")
                    .ok_or_else(|| Failure::system("HOME is not set: use --config FILE"))?;
                Path::new(home).join(DEFAULT_FILE)
            }
            [option, file] if option == "--config" => file.into(),
            other => {
                return Err(Failure::system(format!(
                    "unknown argument {:?}: expected --config FILE",
                    other.join(" ")
                )));
            }
        };
        let text = fs::read_to_string(&file)
            .map_err(|error| Failure::system(format!("read {}: {error}", file.display())))?;
        let settings: Self = toml::from_str(&text)
            .map_err(|error| Failure::system(format!("{}: {error}", file.display())))?;
        settings.checked(&file)
    }

    /// Returns the settings that a fleet has as `plugin_config`. Relative paths start at the current directory, and `state-dir` is
    /// `vm-fleet`: a sweep of what jobs have left must not find the machines of a fleet.
    ///
    /// # Errors
    ///
    /// When they are invalid.
    pub fn from_config(mut config: Value) -> Result<Self, Failure> {
        let name = "plugin_config";
        if let Value::Object(keys) = &mut config {
            keys.entry("state-dir").or_insert("vm-fleet".into());
        }
        let settings: Self = serde_json::from_value(config)
            .map_err(|error| Failure::system(format!("{name}: {error}")))?;
        settings.checked(Path::new(name))
    }

    fn checked(mut self, file: &Path) -> Result<Self, Failure> {
        for (key, directory) in [
            ("builds-dir", &self.builds_dir),
            ("cache-dir", &self.cache_dir),
        ] {
            if !directory.starts_with('/') {
                let file = file.display();
                return Err(Failure::system(format!(
                    "{file}: {key} {directory:?} is not an absolute path in the machine"
                )));
            }
        }
        if self.qemu.most == 0 || self.jeballto.most == Some(0) {
            let file = file.display();
            return Err(Failure::system(format!(
                "{file}: invalid most 0: expected the number of machines that may run, at least 1"
            )));
        }
        IMAGE.clone_into(&mut self.image.variable);
        let file = std::path::absolute(file)
            .map_err(|error| Failure::system(format!("{}: {error}", file.display())))?;
        let base = file.parent().unwrap_or(Path::new("/"));
        let beside = |path: &Path| base.join(path);
        self.state_dir = beside(&self.state_dir);
        self.ssh.identity_file = self.ssh.identity_file.as_deref().map(beside);
        self.qemu.images = beside(&self.qemu.images);
        self.jeballto.token_file = self.jeballto.token_file.as_deref().map(beside);
        Ok(self)
    }

    /// Returns the resources of a job's machine.
    ///
    /// # Errors
    ///
    /// When the job asks for more than it may have.
    pub fn resources_of(&self, job: &JobContext) -> Result<Resources, Failure> {
        let choose = |name: &str, own: Option<u32>, most: Option<u32>| {
            let Some(wanted) = job.variable(name) else {
                return Ok(own);
            };
            let Some(most) = most else {
                return Err(Failure::job(format!(
                    "{name} is set, but jobs may not choose it here"
                )));
            };
            match wanted.parse() {
                Ok(wanted @ 1..) if wanted <= most => Ok(Some(wanted)),
                _ => Err(Failure::job(format!(
                    "invalid {name} {wanted:?}: expected a number from 1 to {most}"
                ))),
            }
        };
        Ok(Resources {
            cpus: choose("VM_CPUS", self.resources.cpus, self.most.cpus)?,
            memory: choose("VM_MEMORY", self.resources.memory, self.most.memory)?,
        })
    }

    /// Returns the pause between two looks at the host.
    pub(crate) fn poll(&self) -> Duration {
        Duration::from_millis(self.limits.poll.unwrap_or(1000))
    }

    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        let seconds = |own: Option<u64>, default| own.map_or(default, Duration::from_secs);
        Limits {
            prepare: seconds(self.limits.prepare, default.prepare),
            cleanup: seconds(self.limits.cleanup, default.cleanup),
            lock: seconds(self.limits.lock, default.lock),
        }
    }
}
