use super::{InstanceSettings, LayeredValue, SECTIONS, SectionShape, SettingOrigin, SettingValue};
use gitlab_api::Instance;
use scheduler::ProcessMode;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use web::{Origin, Url};

/// The settings of the user and, if read, of a project.
///
/// Settings of servers, caches and other projects have fields of their own. [`said`](Self::said) returns all values,
/// [`effective`](Self::effective) those in force, and [`job`](Self::job) those of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The file they come from; `None` if it does not exist.
    pub file: Option<PathBuf>,
    /// The path of the missing file, if it does not exist.
    pub absent: Option<PathBuf>,
    /// The GitLab of projects without a remote on a GitLab.
    pub gitlab: Option<Instance>,
    /// The settings of individual GitLabs.
    pub instances: Vec<InstanceSettings>,
    /// The settings of included files.
    pub include: IncludeSettings,
    /// The settings of job caches.
    pub cache: CacheSettings,
    /// The settings for what jobs leave in container engines.
    pub garbage: GarbageSettings,
    /// The checkouts of other projects, by their paths on the GitLab. Jobs may start pipelines of these projects.
    pub projects: BTreeMap<String, PathBuf>,
    /// The process mode of resource groups that do not use the default.
    pub resource_groups: BTreeMap<String, ProcessMode>,
    /// The number of runs of a project to keep, with their logs and artifacts.
    pub kept_runs: Option<NonZeroUsize>,
    /// All values, weakest first.
    pub(super) said: Vec<LayeredValue>,
}

/// The user's settings for job caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// The size limit of all caches together, in bytes; without one, no cache is kept.
    pub size: Option<u64>,
}

/// The user's settings for the images and volumes that jobs leave in container engines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GarbageSettings {
    /// Their size limit together, in bytes.
    pub disk_budget: Option<u64>,
    /// How long an unused one is kept.
    pub keep_unused_for: Option<Duration>,
    /// Patterns of images that are never removed.
    pub keep_images: Vec<String>,
}

impl GarbageSettings {
    /// The keys of `[docker]` that belong here, rather than to the way jobs run.
    pub const KEYS: [&'static str; 3] = ["disk-budget", "keep-unused-for", "keep-images"];
}

/// The user's settings for included files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncludeSettings {
    /// The URL of the templates.
    pub templates: Option<Url>,
    /// How long a copy of a changeable file is used without asking the server again.
    pub max_age: Option<Duration>,
    /// Hosts that includes may use with plain `http`.
    pub allow_http: Vec<String>,
    /// Private hosts and networks that includes may use.
    pub allow_private: Vec<String>,
}

impl Settings {
    /// Returns the directory of the user's file, where relative paths of drivers start: never a project, whose files are its own.
    ///
    /// `None` if there is no file.
    pub fn directory(&self) -> Option<PathBuf> {
        let file = std::path::absolute(self.file.as_deref()?).ok()?;
        file.parent().map(Path::to_owned)
    }

    /// Returns all values, weakest first.
    pub fn said(&self) -> &[LayeredValue] {
        &self.said
    }

    /// Returns the values in force: the strongest of each setting, in the order of the table.
    pub fn effective(&self) -> Vec<&LayeredValue> {
        let mut holds: Vec<&LayeredValue> = Vec::new();
        for said in &self.said {
            let is_same = |other: &&LayeredValue| {
                (other.section.name, other.key.name, &other.of)
                    == (said.section.name, said.key.name, &said.of)
            };
            match holds.iter().position(is_same) {
                Some(at) => holds[at] = said,
                None => holds.push(said),
            }
        }
        holds.sort_by_key(|said| said.position());
        holds
    }

    /// Returns the values in force of one section, with their keys.
    pub fn section(&self, name: &str) -> Vec<(&'static str, &SettingValue)> {
        self.section_of(name, None)
    }

    /// Returns the values in force of one of several sections with the same name; see [`members`](Self::members).
    pub fn section_of(&self, name: &str, of: Option<&str>) -> Vec<(&'static str, &SettingValue)> {
        let said = self.effective().into_iter();
        let said = said.filter(|said| said.section.name == name && said.of.as_deref() == of);
        said.map(|said| (said.key.name, &said.value)).collect()
    }

    /// Returns the names or numbers of all sections with this name, in the order of the file.
    pub fn members(&self, name: &str) -> Vec<&str> {
        let mut members: Vec<&str> = Vec::new();
        for said in self.said.iter().filter(|said| said.section.name == name) {
            if let Some(of) = said.of.as_deref().filter(|of| !members.contains(of)) {
                members.push(of);
            }
        }
        members
    }

    /// Returns the values in force for options, strongest first. It omits settings that yield to a given option or to
    /// a stronger setting.
    pub fn options(&self, is_given: &dyn Fn(&str) -> bool) -> Vec<&LayeredValue> {
        let mut said = self.effective();
        said.retain(|said| said.section.name == "run");
        said.sort_by_key(|said| Reverse(said.origin.rank()));
        let mut holds: Vec<&LayeredValue> = Vec::new();
        for said in said {
            if contradiction(said, &holds, is_given).is_none() {
                holds.push(said);
            }
        }
        holds
    }

    /// Returns the values in force when these options are given, including all built-in values of sections that occur
    /// once. A setting that yields is unset, and its origin is that of the option or setting it yields to.
    pub fn all(&self, is_given: &dyn Fn(&str) -> bool) -> Vec<LayeredValue> {
        let options = self.options(is_given);
        let mut all: Vec<LayeredValue> = self.effective().into_iter().cloned().collect();
        for said in all.iter_mut().filter(|said| said.section.name == "run") {
            let holds = |it: &&LayeredValue| it.key.name == said.key.name;
            if !options.iter().any(holds)
                && let Some(origin) = contradiction(said, &options, is_given)
            {
                (said.value, said.origin) = (SettingValue::Unset, origin);
            }
        }
        for section in SECTIONS.iter().filter(|it| it.shape == SectionShape::Once) {
            for key in section.keys {
                let is_it = |said: &LayeredValue| {
                    (said.section.name, said.key.name) == (section.name, key.name)
                };
                if !all.iter().any(is_it) {
                    all.push(LayeredValue::built_in(section, key));
                }
            }
        }
        all.sort_by_key(LayeredValue::position);
        all
    }

    /// Returns the settings of a GitLab: those for its exact URL, or else those for its server.
    pub fn instance(&self, instance: &Instance) -> Option<&InstanceSettings> {
        let exact = self.instances.iter().find(|it| it.instance == *instance);
        exact.or_else(|| self.at(instance.origin()))
    }

    /// Returns the checkout of a project. Like GitLab, it ignores the letter case of paths.
    pub fn project(&self, path: &str) -> Option<&Path> {
        let all = self.projects.iter();
        let mut like = all.filter(|(known, _)| known.eq_ignore_ascii_case(path));
        let exact = self.projects.get(path);
        let found = exact.or_else(|| like.next().map(|(_, checkout)| checkout));
        found.map(PathBuf::as_path)
    }

    /// Returns whether jobs with an image may run on this machine itself, in the project with this root.
    pub fn allows_host_images(&self, root: &Path) -> bool {
        let is_set = |said: &&LayeredValue| {
            (said.section.name, said.key.name) == ("host", "images")
                && said.of.as_deref().is_some_and(|of| Path::new(of) == root)
        };
        let said = self.said.iter().find(is_set);
        said.is_some_and(|said| said.value == SettingValue::Flag(true))
    }

    fn at(&self, origin: &Origin) -> Option<&InstanceSettings> {
        let mut entries = self.instances.iter();
        entries.find(|it| it.instance.origin() == origin)
    }

    /// Returns the certificate files to trust in addition to the system's.
    pub fn authorities(&self) -> Vec<PathBuf> {
        let files = self.instances.iter();
        let mut files: Vec<PathBuf> = files.filter_map(|it| it.authority.clone()).collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Returns the origin of the option or setting that `said` yields to, if any.
fn contradiction(
    said: &LayeredValue,
    stronger: &[&LayeredValue],
    is_given: &dyn Fn(&str) -> bool,
) -> Option<SettingOrigin> {
    let mut others = said.key.yields_to.iter();
    others.find_map(|other| {
        if is_given(other) {
            return Some(SettingOrigin::Option((*other).to_owned()));
        }
        let mut all = stronger.iter();
        let other = all.find(|it| it.key.name == *other && it.value != SettingValue::Flag(false));
        other.map(|it| it.origin.clone())
    })
}
