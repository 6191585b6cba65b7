use super::{InstanceSettings, LayeredValue, SECTIONS, SectionShape, SettingOrigin, SettingValue};
use gitlab_api::Instance;
use scheduler::ProcessMode;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use web::{Origin, Url};

/// What the user wants to be so, and, where it was read, what a project says of itself.
///
/// What is said of servers, caches and other projects is in fields of its own. All that was said is in
/// [`said`](Self::said), what holds in [`effective`](Self::effective), and what is said of a job in
/// [`job`](Self::job).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The file they are from; absent when there is none.
    pub file: Option<PathBuf>,
    /// Where one would be, when there is none.
    pub absent: Option<PathBuf>,
    /// The GitLab of projects whose remote names none.
    pub gitlab: Option<Instance>,
    /// What is said about single GitLabs.
    pub instances: Vec<InstanceSettings>,
    /// What is said about included files.
    pub include: IncludeSettings,
    /// What is said about the caches of jobs.
    pub cache: CacheSettings,
    /// What is said about what jobs leave in container engines.
    pub garbage: GarbageSettings,
    /// Where other projects are checked out, by their paths on the GitLab: those that jobs may start
    /// pipelines of.
    pub projects: BTreeMap<String, PathBuf>,
    /// Who is next in resource groups, where that is not whoever came first.
    pub resource_groups: BTreeMap<String, ProcessMode>,
    /// How many runs of a project are kept, with their logs and artifacts.
    pub kept_runs: Option<NonZeroUsize>,
    /// All that files say, what is weaker first.
    pub(super) said: Vec<LayeredValue>,
}

/// The user's settings about the caches of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// How many bytes all caches together may have; with none, none is kept.
    pub size: Option<u64>,
}

/// The user's settings about the images and volumes that jobs leave in container engines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GarbageSettings {
    /// How many bytes they may have together.
    pub disk_budget: Option<u64>,
    /// How long one is kept that no job uses.
    pub keep_unused_for: Option<Duration>,
    /// Images that stay, as patterns.
    pub keep_images: Vec<String>,
}

impl GarbageSettings {
    /// The keys below `[docker]` that say this, and nothing of how jobs run.
    pub const KEYS: [&'static str; 3] = ["disk-budget", "keep-unused-for", "keep-images"];
}

/// The user's settings about included files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncludeSettings {
    /// Where templates are.
    pub templates: Option<Url>,
    /// How long what may change is good without asking again.
    pub max_age: Option<Duration>,
    /// Hosts that files may name with plain `http`.
    pub allow_http: Vec<String>,
    /// Hosts and networks that files may name although they are private.
    pub allow_private: Vec<String>,
}

impl Settings {
    /// Returns all that files say, what is weaker first.
    pub fn said(&self) -> &[LayeredValue] {
        &self.said
    }

    /// Returns what holds: of all that is said of a setting the strongest, in the order of the table.
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

    /// Returns what holds of one section, by its keys.
    pub fn section(&self, name: &str) -> Vec<(&'static str, &SettingValue)> {
        let said = self.effective().into_iter();
        let said = said.filter(|said| said.section.name == name && said.of.is_none());
        said.map(|said| (said.key.name, &said.value)).collect()
    }

    /// Returns what holds of options, what is stronger first: without the settings that yield to an
    /// option that is given, or to a setting that is stronger.
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

    /// Returns what holds where these options are given, with what is built in: of sections that are
    /// there once, all keys. A setting that yields is not set, by what it yields to.
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

    /// Returns what is said about a GitLab: what was said about its very address, else about its
    /// server.
    pub fn instance(&self, instance: &Instance) -> Option<&InstanceSettings> {
        let exact = self.instances.iter().find(|it| it.instance == *instance);
        exact.or_else(|| self.at(instance.origin()))
    }

    /// Returns where a project is checked out. GitLab tells no upper case from lower case in paths.
    pub fn project(&self, path: &str) -> Option<&Path> {
        let all = self.projects.iter();
        let mut like = all.filter(|(known, _)| known.eq_ignore_ascii_case(path));
        let exact = self.projects.get(path);
        let found = exact.or_else(|| like.next().map(|(_, checkout)| checkout));
        found.map(PathBuf::as_path)
    }

    fn at(&self, origin: &Origin) -> Option<&InstanceSettings> {
        let mut entries = self.instances.iter();
        entries.find(|it| it.instance.origin() == origin)
    }

    /// Returns the files with certificates that are trusted besides the system's.
    pub fn authorities(&self) -> Vec<PathBuf> {
        let files = self.instances.iter();
        let mut files: Vec<PathBuf> = files.filter_map(|it| it.authority.clone()).collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Returns where the option or the setting is from that a setting yields to.
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
