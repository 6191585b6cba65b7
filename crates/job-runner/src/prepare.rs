use crate::attempts;
use crate::build::{Build, Settings};
use crate::caught::caught;
use crate::early::EarlySources;
use crate::limit::{Expired, Limit, canceled_means_aborted, within};
use crate::remove::Parents;
use crate::sources::{Sources, in_place};
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildError, Cancellation, Executor, HumanDuration, JobTrace, PrepareOptions,
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
    /// Gets an environment: a new executor for each try, as long as errors are temporary.
    ///
    /// # Errors
    ///
    /// That of the last try, whose executor is cleaned up then.
    ///
    /// # Cancellation
    ///
    /// Ends the try, and there is no further one.
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
            attempts::rest(pause, &self.cancellation).await;
        }
    }

    /// Attaches to the environment that an earlier process has prepared, in one try.
    ///
    /// # Errors
    ///
    /// When there is none any more; its rest is cleaned up then.
    pub(crate) async fn prepare_again(
        &mut self,
        settings: &Settings,
    ) -> Result<Prepared, BuildError> {
        let header = format!(
            "Going on with the job in its \"{}\" environment",
            self.context.config.executor
        );
        let (_section, limits) = self.begin_preparing(&header, settings);
        self.prepare_once(settings, &limits).await
    }

    /// Opens the section of the log, which ends with the first of the results, and starts the clocks.
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
        if let Some(noting) = &self.noting {
            data.push(noting.observer());
        }
        let create = async { provider.create(&data) };
        let mut executor = caught(&*self.log, create).await?;
        self.active.follow(executor.stage_cell());
        let shell = executor.shell().clone();
        let mut planned = None;
        // Who goes on has the sources already.
        if !self.goes_on() {
            self.log
                .system_line(&format!("Using the {} shell", shell.dialect));
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
                        early = self.begin_early(settings, &shell, workspace);
                    }
                }
            }
            prepare.await
        };
        let prepare = canceled_means_aborted(prepare, &self.cancellation, &setup);
        let prepared = caught(&*self.log, within(prepare, limits.on(&setup))).await;
        let suits = |early: &EarlySources| match &prepared {
            Ok(environment) => early.are_for(environment, self),
            Err(_) => false,
        };
        if early.as_ref().is_some_and(suits) {
            self.early = early;
        } else if let Some(early) = early {
            let parents = match prepared {
                // The environment may be there.
                Ok(_) => Parents::Kept,
                Err(_) => Parents::Removed,
            };
            self.discard_early(early, parents).await;
        }
        match prepared {
            Ok(environment) => Ok(Prepared {
                executor,
                environment,
            }),
            Err(error) => {
                self.cleanup(&mut *executor).await;
                Err(error)
            }
        }
    }

    fn prepare_options(&self, settings: &Settings) -> Result<PrepareOptions, BuildError> {
        let in_place = match &self.options.sources {
            Sources::InPlace(directory) => {
                in_place::check(directory)?;
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

/// How long all tries together may take.
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
