use super::host::HostVariables;
use super::job_key::{JobKey, KeyMaker, Part};
use super::mentions::{JobTexts, refers_to};
use super::options::{ReuseMode, ReuseOptions};
use super::secret::secret;
use super::store::ReuseStore;
use super::unfit::Unfit;
use super::variables::{Meaning, meaning};
use crate::history::Notices;
use crate::history::state::{ProjectState, StateDir};
use crate::run::RunOptions;
use executor_core::job::Job;
use executor_core::variable::JobVariable;
use executor_core::{Cancellation, RunContext, RunnerConfig};
use git::{Git, common_dir, ref_state, toplevel};
use job_runner::{ArtifactStore, FileContent, Snapshot, TreeContents};
use parking_lot::Mutex;
use pipeline_insight::affected::InputPattern;
use process::{NeverStop, Supervisor};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::sync::OnceCell;

/// What all pipelines of a run know to take jobs of their project from earlier runs.
pub(crate) struct ProjectReuse {
    pub(super) mode: ReuseMode,
    pub(super) store: ReuseStore,
    notices: Notices,
    /// What has been told: one job is enough to name for each reason.
    told: Mutex<HashSet<String>>,
    project: PathBuf,
    options: ReuseOptions,
    secret: [u8; 32],
    host: HostVariables,
    supervisor: Supervisor,
    all_files: OnceLock<[u8; 32]>,
    tags: OnceLock<Option<BTreeMap<String, String>>>,
    refs: OnceLock<Option<BTreeMap<String, String>>>,
    repository: OnceCell<Option<Vec<Vec<u8>>>>,
}

/// What a repository has besides objects and refs that a job's own repository gets as well.
const OF_THE_REPOSITORY: [&str; 3] = ["config", "info/exclude", "shallow"];

/// What a key is made of besides the job itself.
pub(super) struct Around<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) artifacts: &'a dyn ArtifactStore,
    pub(super) context: &'a RunContext,
    pub(super) cancellation: &'a Cancellation,
}

/// Prepares a run to take jobs from earlier runs, if that is wanted and can be done.
pub(crate) fn of_run(
    root: &StateDir,
    state: &ProjectState,
    options: &RunOptions,
    supervisor: &Supervisor,
) -> Option<Arc<ProjectReuse>> {
    let mut reuse = options.reuse.clone();
    match (reuse.mode, &options.continues) {
        (ReuseMode::Off, _) => return None,
        // Who goes on with a run wants what is left of it to run.
        (_, Some(_)) => reuse.mode = ReuseMode::Refresh,
        (ReuseMode::On | ReuseMode::Refresh, None) => {}
    }
    let (root, notices) = (root.path(), &options.notices);
    match ProjectReuse::prepare(root, state, reuse, supervisor, notices) {
        Ok(reuse) => Some(Arc::new(reuse)),
        Err(error) => {
            notices.tell(&format!("no job is reused: {error}"));
            None
        }
    }
}

impl ProjectReuse {
    /// Prepares it for a run, whose state is in `root`.
    ///
    /// # Errors
    ///
    /// When nothing can be kept here.
    fn prepare(
        root: &Path,
        state: &ProjectState,
        options: ReuseOptions,
        supervisor: &Supervisor,
        notices: &Notices,
    ) -> io::Result<Self> {
        let store = state.reuse();
        store.make()?;
        let secret = secret(root, store.content())?;
        Ok(Self {
            mode: options.mode,
            store,
            notices: notices.clone(),
            told: Mutex::default(),
            project: state.root().to_owned(),
            options,
            secret,
            host: HostVariables::capture(),
            supervisor: supervisor.clone(),
            all_files: OnceLock::new(),
            tags: OnceLock::new(),
            refs: OnceLock::new(),
            repository: OnceCell::new(),
        })
    }

    /// Tells why a job runs, unless that was told of another one.
    pub(super) fn tell(&self, job: &str, reason: &str) {
        let mut told = self.told.lock();
        if told.insert(reason.to_owned()) {
            self.notices.tell(&format!("{job} {reason}"));
        }
    }

    /// Returns whether it is about the project whose top this is.
    pub(crate) fn is_of(&self, project: &Path) -> bool {
        self.project == project
    }

    /// Returns what the files hold that jobs get. It is asked before any job runs.
    pub(super) async fn contents(
        &self,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<Arc<TreeContents>, Unfit> {
        let known = self.store.known_contents();
        let processes = self.supervisor.tree();
        let store = self.store.content();
        let contents = snapshot
            .contents(store, &known, &processes, cancellation)
            .await;
        contents.map_err(|error| Unfit::Unreadable(executor_core::chain(&error)))
    }

    /// Returns the key of a job.
    ///
    /// # Errors
    ///
    /// When it always runs.
    pub(super) async fn key(&self, job: &Job, around: &Around<'_>) -> Result<JobKey, Unfit> {
        let contents = self.contents(around.snapshot, around.cancellation).await?;
        let config = &*around.context.config;
        let texts = JobTexts::of(job);
        if let Some(unfit) = Unfit::of(job, config, &texts) {
            return Err(unfit);
        }
        let patterns = self.patterns(&job.job_info.name);
        let needed = needed(job, around.artifacts).await?;
        let mut maker = KeyMaker::new(&self.secret, &job.job_info.name);
        maker.part("runner", |part| {
            part.add(env!("CARGO_PKG_VERSION").as_bytes());
            part.add(std::env::consts::OS.as_bytes());
            part.add(std::env::consts::ARCH.as_bytes());
            part.add(config.executor.as_bytes());
            part.add(format!("{:?}", config.shell).as_bytes());
            part.add(self.options.executor_setup.as_bytes());
        });
        maker.part("script", |part| {
            part.json(&job.steps);
            part.json(&job.hooks);
        });
        maker.part("image", |part| {
            part.json(&job.image);
            part.json(&job.services);
        });
        maker.part("artifacts and caches", |part| {
            part.json(&job.artifacts);
            part.json(&job.cache);
        });
        let is_declared = patterns.is_some();
        maker.part("variables", |part| {
            variables(part, job, config, &texts, is_declared);
        });
        maker.part("environment of this host", |part| {
            part.add(self.host.user().as_bytes());
            for (name, value) in self.host.noticed(&texts) {
                part.add(name);
                part.add(value);
            }
        });
        maker.part("artifacts of other jobs", |part| {
            for (name, content) in &needed {
                part.add(name.as_bytes());
                part.add(content.as_bytes());
            }
        });
        let files = match &patterns {
            Some(patterns) => digest(&contents, Some(patterns)),
            None => *self.all_files.get_or_init(|| digest(&contents, None)),
        };
        maker.part("files", |part| {
            part.add(if is_declared { b"some" } else { b"all" });
            part.add(&files);
        });
        let history = self.history(&contents, &texts, is_declared)?;
        let repository = self.repository(&texts).await?;
        maker.part("history", |part| {
            for said in repository {
                part.add(said);
            }
            for (name, object) in history {
                part.add(name.as_bytes());
                part.add(object.as_bytes());
            }
        });
        Ok(maker.finish())
    }

    /// Returns the patterns of the files that a job reads; nothing when those are all. What no pattern
    /// can be is no way to leave files out.
    fn patterns(&self, job: &str) -> Option<Vec<InputPattern>> {
        let inputs = self.options.inputs(job)?;
        let patterns = inputs.iter().map(|text| InputPattern::new(text));
        patterns.collect::<Result<_, _>>().ok()
    }

    /// Returns what a job may see of the history of its files: the tags, from which programs make
    /// versions, or all refs if it uses git itself.
    fn history(
        &self,
        contents: &TreeContents,
        texts: &JobTexts,
        is_declared: bool,
    ) -> Result<Vec<(String, String)>, Unfit> {
        let uses_git = texts.have_word("git");
        if uses_git && !contents.repositories.is_empty() {
            return Err(Unfit::History);
        }
        let below = match (uses_git, is_declared) {
            (true, _) => "refs",
            (false, false) => "refs/tags",
            (false, true) => return Ok(Vec::new()),
        };
        // Once for the run: its jobs have repositories of their own.
        let known = if uses_git { &self.refs } else { &self.tags };
        let state = known.get_or_init(|| ref_state(&self.project, below));
        let state = state.as_ref().ok_or(Unfit::History)?;
        // Which branch it is says a variable.
        let noticed = state.iter().filter(|(name, _)| uses_git || *name != "HEAD");
        Ok(noticed
            .map(|(name, object)| (name.clone(), object.clone()))
            .collect())
    }

    /// Returns what a job that uses git may see of the repository besides its refs: what is in the index,
    /// where the history is cut off, and the settings. Times that the index notes are none of it.
    async fn repository(&self, texts: &JobTexts) -> Result<&[Vec<u8>], Unfit> {
        if !texts.have_word("git") {
            return Ok(&[]);
        }
        let read = || async {
            let top = toplevel(&self.project)?;
            let common = common_dir(&top)?;
            let list = ["ls-files", "--stage", "-v", "-z"];
            let processes = self.supervisor.tree();
            let index = Git::local(&processes, &top).output(&list, &NeverStop).await;
            let mut said = vec![index.ok()?];
            for name in OF_THE_REPOSITORY {
                said.push(match fs::read(common.join(name)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    read => read.ok()?,
                });
            }
            Some(said)
        };
        let said = self.repository.get_or_init(read).await;
        said.as_deref().ok_or(Unfit::History)
    }
}

/// Adds the variables that say what the job is told.
fn variables(
    part: &mut Part,
    job: &Job,
    config: &RunnerConfig,
    texts: &JobTexts,
    is_declared: bool,
) {
    let all = || config.environment.iter().chain(&job.variables);
    let told = || all().filter(|it| meaning(&it.key) == Meaning::Told);
    let is_used =
        |name: &str| texts.name(name) || told().any(|variable| refers_to(&variable.value, name));
    let counts = |variable: &&JobVariable| match meaning(&variable.key) {
        Meaning::Told => true,
        Meaning::Run => false,
        Meaning::Commit => !is_declared || is_used(&variable.key),
    };
    all()
        .filter(counts)
        .for_each(|variable| part.json(variable));
}

/// Returns the jobs whose artifacts a job gets, each with a digest of what these hold.
async fn needed(job: &Job, artifacts: &dyn ArtifactStore) -> Result<Vec<(String, String)>, Unfit> {
    let mut needed = Vec::new();
    for dependency in &job.dependencies {
        let tree = artifacts.tree(dependency.id).await;
        let tree = tree.map_err(|error| Unfit::Unreadable(executor_core::chain(&error)))?;
        let content = tree.map_or_else(|| "none".to_owned(), |tree| tree.timeless().to_string());
        needed.push((dependency.name.clone(), content));
    }
    Ok(needed)
}

/// Returns a digest of the files that fit any of these patterns, or of all.
fn digest(contents: &TreeContents, patterns: Option<&[InputPattern]>) -> [u8; 32] {
    use std::os::unix::ffi::OsStrExt as _;
    let fits = |file: &&FileContent| {
        let path = file.path.to_string_lossy();
        patterns.is_none_or(|patterns| patterns.iter().any(|pattern| pattern.is_match(&path)))
    };
    let mut hasher = blake3::Hasher::new();
    for file in contents.files.iter().filter(fits) {
        let Some(content) = &file.content else {
            continue;
        };
        let path = file.path.as_os_str().as_bytes();
        hasher.update(&(path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update(&file.mode.to_le_bytes());
        hasher.update(content.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

impl fmt::Debug for ProjectReuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ProjectReuse");
        debug.field("mode", &self.mode);
        debug
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}
