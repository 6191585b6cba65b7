use crate::attempts;
use crate::build::{Build, Settings};
use crate::directories::Parents;
use crate::early::EarlySources;
use crate::limit::{Expired, Limit, abort_when_canceled, within};
use crate::panics::catch_panic;
use crate::resume::NoteWriter;
use crate::sources::{Sources, check_in_place};
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildError, Cancellation, Executor, HumanDuration, JobStop, JobTrace, PrepareOptions,
    PreparedEnvironment, StopLevel,
};
use std::path::Path;
use std::sync::Arc;
use tokio::time::Instant;
use trace::SectionGuard;

/// An executor and the environment it has prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) environment: PreparedEnvironment,
}

impl Build<'_> {
    /// Prepares an environment, with a new executor for each attempt, while errors are temporary.
    ///
    /// # Errors
    ///
    /// The error of the last attempt, whose executor is cleaned up.
    ///
    /// # Cancellation
    ///
    /// Ends the current attempt, and no other follows.
    pub(crate) async fn prepare(&mut self, settings: &Settings) -> Result<Prepared, BuildError> {
        let header = format!(
            "Preparing the \"{}\" executor",
            self.context.config.executor
        );
        let (_section, limits) = self.begin_preparing(&header, settings);
        let mut attempt = 1;
        loop {
            match self.prepare_once(settings, &limits).await {
                Err(error) if error.is_temporary() && attempt < self.options.prepare_attempts => {
                    self.log
                        .warning_line(&format!("failed to prepare: {}", error.chain()));
                }
                other => return other,
            }
            attempt += 1;
            let pause = self.options.prepare_pause;
            self.log
                .system_line(&format!("Trying again in {}...", HumanDuration(pause)));
            attempts::pause(pause, &self.cancellation).await;
        }
    }

    /// Attaches to the environment that an earlier process prepared, in one attempt.
    ///
    /// # Errors
    ///
    /// When it no longer exists; its leftovers are cleaned up.
    pub(crate) async fn reattach(&mut self, settings: &Settings) -> Result<Prepared, BuildError> {
        let header = format!(
            "Resuming the job in its \"{}\" environment",
            self.context.config.executor
        );
        let (_section, limits) = self.begin_preparing(&header, settings);
        self.prepare_once(settings, &limits).await
    }

    /// Opens the section of the log, which ends when the guard is dropped, and starts the clocks.
    fn begin_preparing<'s>(
        &self,
        header: &str,
        settings: &'s Settings,
    ) -> (SectionGuard, Limits<'s>) {
        let section = self.log.section("prepare_executor", header);
        self.active.set_stage("prepare_executor");
        let started = Instant::now();
        (section, Limits { settings, started })
    }

    async fn prepare_once(
        &mut self,
        settings: &Settings,
        limits: &Limits<'_>,
    ) -> Result<Prepared, BuildError> {
        self.cancellation.check()?;
        let mut options = self.prepare_options(settings)?;
        let provider = &self.context.provider;
        let mut data = self.context.data.clone();
        if let Some(observer) = self.note_writer.as_ref().and_then(NoteWriter::observer) {
            data.push(observer);
        }
        data.push(JobStop(self.cancellation.clone()));
        let create = async { provider.create(&data) };
        let mut executor = catch_panic(&*self.log, create).await?;
        self.active.follow(executor.stage_cell());
        let shell = executor.shell().clone();
        let mut planned = None;
        // A resumed job has its sources already.
        if !self.is_resumed() {
            planned = self.planned_workspace(&shell);
        }
        options.planned.clone_from(&planned);
        let setup = self.cancellation.child();
        let mut early = None;
        let prepare = async {
            let mut prepare = executor.prepare(options, &setup);
            if let Some(planned) = planned {
                tokio::select! {
                    biased;
                    prepared = &mut prepare => return prepared,
                    workspace = planned.announced() => {
                        early = self.start_early(settings, &shell, workspace);
                    }
                }
            }
            prepare.await
        };
        let prepare = abort_when_canceled(prepare, &self.cancellation, &setup);
        let prepared = catch_panic(&*self.log, within(prepare, limits.on(&setup))).await;
        let fits = |early: &EarlySources| match &prepared {
            Ok(environment) => early.fit(environment, self),
            Err(_) => false,
        };
        if early.as_ref().is_some_and(fits) {
            self.early = early;
        } else if let Some(early) = early {
            let parents = match prepared {
                // The environment may use them.
                Ok(_) => Parents::Kept,
                Err(_) => Parents::Removed,
            };
            self.discard_early(early, parents).await;
        }
        match prepared {
            Ok(environment) => {
                if !self.is_resumed() {
                    // Not before, since a driver chooses it while it prepares.
                    self.log
                        .system_line(&format!("Using the {} shell", environment.shell.dialect));
                }
                Ok(Prepared {
                    executor,
                    environment,
                })
            }
            Err(error) => {
                self.cleanup(&mut *executor).await;
                Err(error)
            }
        }
    }

    fn prepare_options(&self, settings: &Settings) -> Result<PrepareOptions, BuildError> {
        let in_place = match &self.options.sources {
            Sources::InPlace(directory) => {
                check_in_place(directory)?;
                Some(path_text(directory)?)
            }
            _ => None,
        };
        let trace: Arc<dyn JobTrace> = Arc::clone(&self.log) as _;
        Ok(PrepareOptions {
            config: Arc::clone(&self.context.config),
            job: Arc::clone(&self.job),
            variables: Arc::clone(&settings.variables),
            trace,
            slot: self.context.slot,
            project_dir: in_place,
            planned: None,
        })
    }
}

fn path_text(path: &Path) -> Result<String, BuildError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| BuildError::config(format!("the path {} is not text", path.display())))
}

/// The time limits of all attempts together.
struct Limits<'a> {
    settings: &'a Settings,
    started: Instant,
}

impl Limits<'_> {
    fn on(&self, setup: &Cancellation) -> Vec<Limit> {
        let limit = |at, phase, limit| Limit {
            at,
            stops: setup.clone(),
            level: StopLevel::Abort,
            expired: Expired { phase, limit },
        };
        let Settings {
            timeouts,
            deadlines,
            ..
        } = self.settings;
        let own = timeouts
            .prepare
            .map(|own| limit(self.started + own, "prepare", own));
        let job = limit(deadlines.work_ends(), "execution", timeouts.job);
        own.into_iter().chain([job]).collect()
    }
}
