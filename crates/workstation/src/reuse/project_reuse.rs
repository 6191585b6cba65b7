use super::host_env::HostEnv;
use super::job_key::{JobKey, KeyMaker, Part};
use super::job_texts::{JobTexts, refers_to};
use super::not_reusable::{NotReusable, ON_HOST, runs_on_host};
use super::options::{ReuseMode, ReuseOptions};
use super::secret::secret;
use super::store::ReuseStore;
use super::variable_kind::{VariableKind, kind_of};
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

/// The reusable results of a project, shared by all pipelines of a run.
pub(crate) struct ProjectReuse {
    pub(super) mode: ReuseMode,
    pub(super) store: ReuseStore,
    notices: Notices,
    /// The reasons that were shown, each for one job.
    shown: Mutex<HashSet<String>>,
    project: PathBuf,
    options: ReuseOptions,
    secret: [u8; 32],
    host_env: HostEnv,
    supervisor: Supervisor,
    all_files: OnceLock<[u8; 32]>,
    tags: OnceLock<Option<BTreeMap<String, String>>>,
    refs: OnceLock<Option<BTreeMap<String, String>>>,
    repository: OnceCell<Option<Vec<Vec<u8>>>>,
}

/// The files of a repository, besides objects and refs, that a job's repository gets.
const REPOSITORY_FILES: [&str; 3] = ["config", "info/exclude", "shallow"];

/// The inputs of a key besides the job itself.
pub(super) struct KeyContext<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) artifacts: &'a dyn ArtifactStore,
    pub(super) context: &'a RunContext,
    pub(super) cancellation: &'a Cancellation,
}

/// Returns the reusable results for a run, if they are wanted and can be used.
pub(crate) fn of_run(
    root: &StateDir,
    state: &ProjectState,
    options: &RunOptions,
    supervisor: &Supervisor,
) -> Option<Arc<ProjectReuse>> {
    let mut reuse = options.reuse.clone();
    match (reuse.mode, &options.continues) {
        (ReuseMode::Off, _) => return None,
        // A continued run runs the jobs that are left.
        (_, Some(_)) => reuse.mode = ReuseMode::Refresh,
        (ReuseMode::On | ReuseMode::Refresh, None) => {}
    }
    let (root, notices) = (root.path(), &options.notices);
    match ProjectReuse::prepare(root, state, reuse, supervisor, notices) {
        Ok(reuse) => Some(Arc::new(reuse)),
        Err(error) => {
            notices.show(&format!("no job is reused: {error}"));
            None
        }
    }
}

impl ProjectReuse {
    /// Prepares the store for a run with the state in `root`.
    ///
    /// # Errors
    ///
    /// When results cannot be stored.
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
            shown: Mutex::default(),
            project: state.root().to_owned(),
            options,
            secret,
            host_env: HostEnv::capture(),
            supervisor: supervisor.clone(),
            all_files: OnceLock::new(),
            tags: OnceLock::new(),
            refs: OnceLock::new(),
            repository: OnceCell::new(),
        })
    }

    /// Shows why a job runs, unless the reason was shown for another job.
    pub(super) fn show_reason(&self, job: &str, reason: &str) {
        if self.shown.lock().insert(reason.to_owned()) {
            self.notices.show(&format!("{job} {reason}"));
        }
    }

    /// Returns whether these are the results of the project with this root.
    pub(crate) fn is_of(&self, project: &Path) -> bool {
        self.project == project
    }

    /// Returns the digests of the files that jobs get. The first call must come before any job runs.
    pub(super) async fn contents(
        &self,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<Arc<TreeContents>, NotReusable> {
        let known = self.store.known_contents();
        let processes = self.supervisor.tree();
        let store = self.store.content();
        let contents = snapshot
            .contents(store, &known, &processes, cancellation)
            .await;
        contents.map_err(|error| NotReusable::Unreadable(executor_core::chain(&error)))
    }

    /// Returns the key of a job.
    ///
    /// # Errors
    ///
    /// When the job always runs.
    pub(super) async fn key(
        &self,
        job: &Job,
        context: &KeyContext<'_>,
    ) -> Result<JobKey, NotReusable> {
        let contents = self
            .contents(context.snapshot, context.cancellation)
            .await?;
        let config = &*context.context.config;
        let texts = JobTexts::of(job);
        if let Some(reason) = NotReusable::of(job, config, &texts) {
            return Err(reason);
        }
        let patterns = self.patterns(&job.job_info.name);
        let needed = needed(job, context.artifacts).await?;
        let mut maker = KeyMaker::new(&self.secret, &job.job_info.name);
        maker.part("runner", |part| {
            part.add(env!("CARGO_PKG_VERSION").as_bytes());
            part.add(std::env::consts::OS.as_bytes());
            part.add(std::env::consts::ARCH.as_bytes());
            let on_host = runs_on_host(job, &config.executor);
            let executor = if on_host { ON_HOST } else { &*config.executor };
            part.add(executor.as_bytes());
            part.add(format!("{:?}", config.shell).as_bytes());
            part.add(self.options.executor_setup.as_bytes());
            if !on_host {
                part.add(self.options.container_setup.as_bytes());
            }
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
            part.add(self.host_env.user().as_bytes());
            for (name, value) in self.host_env.inputs_of(&texts) {
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
            for file in repository {
                part.add(file);
            }
            for (name, object) in history {
                part.add(name.as_bytes());
                part.add(object.as_bytes());
            }
        });
        Ok(maker.finish())
    }

    /// Returns the patterns of the files that a job reads; `None` means all files, also if a pattern is invalid.
    fn patterns(&self, job: &str) -> Option<Vec<InputPattern>> {
        let inputs = self.options.inputs(job)?;
        let patterns = inputs.iter().map(|text| InputPattern::new(text));
        patterns.collect::<Result<_, _>>().ok()
    }

    /// Returns the refs that are inputs of a job: all refs if it uses git, else the tags, which programs derive
    /// versions from, unless its inputs are declared.
    fn history(
        &self,
        contents: &TreeContents,
        texts: &JobTexts,
        is_declared: bool,
    ) -> Result<Vec<(String, String)>, NotReusable> {
        let uses_git = texts.have_word("git");
        if uses_git && !contents.repositories.is_empty() {
            return Err(NotReusable::History);
        }
        let below = match (uses_git, is_declared) {
            (true, _) => "refs",
            (false, false) => "refs/tags",
            (false, true) => return Ok(Vec::new()),
        };
        // Read once for the run, since its jobs have their own repositories.
        let known = if uses_git { &self.refs } else { &self.tags };
        let state = known.get_or_init(|| ref_state(&self.project, below));
        let state = state.as_ref().ok_or(NotReusable::History)?;
        // The branch is in a variable already.
        let inputs = state.iter().filter(|(name, _)| uses_git || *name != "HEAD");
        Ok(inputs
            .map(|(name, object)| (name.clone(), object.clone()))
            .collect())
    }

    /// Returns the inputs of a job that uses git besides refs: the index without its times, the shallow boundary and
    /// the configuration.
    async fn repository(&self, texts: &JobTexts) -> Result<&[Vec<u8>], NotReusable> {
        if !texts.have_word("git") {
            return Ok(&[]);
        }
        let read = || async {
            let top = toplevel(&self.project)?;
            let common = common_dir(&top)?;
            let list = ["ls-files", "--stage", "-v", "-z"];
            let processes = self.supervisor.tree();
            let index = Git::local(&processes, &top).output(&list, &NeverStop).await;
            let mut files = vec![index.ok()?];
            for name in REPOSITORY_FILES {
                files.push(match fs::read(common.join(name)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    read => read.ok()?,
                });
            }
            Some(files)
        };
        let files = self.repository.get_or_init(read).await;
        files.as_deref().ok_or(NotReusable::History)
    }
}

/// Adds the variables that are inputs of the job.
fn variables(
    part: &mut Part,
    job: &Job,
    config: &RunnerConfig,
    texts: &JobTexts,
    is_declared: bool,
) {
    let all = || config.environment.iter().chain(&job.variables);
    let inputs = || all().filter(|it| kind_of(&it.key) == VariableKind::Input);
    let is_used =
        |name: &str| texts.name(name) || inputs().any(|variable| refers_to(&variable.value, name));
    let is_input = |variable: &&JobVariable| match kind_of(&variable.key) {
        VariableKind::Input => true,
        VariableKind::Run => false,
        VariableKind::Commit => !is_declared || is_used(&variable.key),
    };
    all()
        .filter(is_input)
        .for_each(|variable| part.json(variable));
}

/// Returns the jobs whose artifacts a job gets, with digests of their contents.
async fn needed(
    job: &Job,
    artifacts: &dyn ArtifactStore,
) -> Result<Vec<(String, String)>, NotReusable> {
    let mut needed = Vec::new();
    for dependency in &job.dependencies {
        let tree = artifacts.tree(dependency.id).await;
        let tree = tree.map_err(|error| NotReusable::Unreadable(executor_core::chain(&error)))?;
        let content = tree.map_or_else(|| "none".to_owned(), |tree| tree.timeless().to_string());
        needed.push((dependency.name.clone(), content));
    }
    Ok(needed)
}

/// Returns a digest of the files that match any pattern, or of all files.
fn digest(contents: &TreeContents, patterns: Option<&[InputPattern]>) -> [u8; 32] {
    use std::os::unix::ffi::OsStrExt as _;
    let matches = |file: &&FileContent| {
        let path = file.path.to_string_lossy();
        patterns.is_none_or(|patterns| patterns.iter().any(|pattern| pattern.is_match(&path)))
    };
    let mut hasher = blake3::Hasher::new();
    for file in contents.files.iter().filter(matches) {
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
