//! Sources of a working tree: collected on this host, and fetched by the helper command as one archive.

use super::Slots;
use super::calls::{Calls, Server, call};
use super::packing::pack_all;
use super::{HelperWork, failed};
use crate::source_filler::has_sources;
use crate::sources::{Inputs, Sources};
use crate::stages::{Stages, script_of};
use executor_core::{BuildError, BuildStage, Cancellation, StageResult};
use fail_point::fail_point;
use shells::{GitPlan, HelperGroup, HelperRule, HelperStage, JobScripts};
use std::fs;

impl Stages<'_, '_> {
    /// Runs the script that fetches the sources: with git, or as an archive of the working tree.
    pub(crate) async fn sources_by_script(
        &mut self,
        fetch: &Cancellation,
    ) -> Result<(), BuildError> {
        let (job, sources) = (&self.build.job, &self.build.options.sources);
        let is_tree = match sources {
            Sources::Snapshot(_) => has_sources(sources, None, job, &self.expanded),
            Sources::Worktree(_) => {
                return Err(BuildError::config(
                    "a worktree needs an environment whose files this host can reach; run without `--isolation worktree`",
                ));
            }
            Sources::Git(_) | Sources::InPlace(_) | Sources::None => false,
        };
        if !is_tree {
            return self.sources_by_git(fetch).await;
        }
        let open = self.open(BuildStage::GetSources, self.sources_heading());
        let work = async {
            self.offer_sources(fetch).await?;
            let Some(script) = script_of(&self.scripts, &BuildStage::GetSources)? else {
                return Ok(None);
            };
            let result = self.execute(BuildStage::GetSources, script.into_text(), fetch);
            Ok(Some(result.await?))
        };
        let result: Result<Option<StageResult>, BuildError> = work.await;
        self.clear_helper();
        let judged = match &result {
            Ok(Some(result)) => self.judge(result),
            _ => Ok(()),
        };
        let succeeded = result.is_ok() && judged.is_ok();
        self.close(
            open,
            result.as_ref().ok().and_then(Option::as_ref),
            succeeded,
        );
        result.and(judged)
    }

    /// Runs the script for git. A driver is called for it also when there is nothing to fetch, as by GitLab Runner.
    async fn sources_by_git(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        let stage = BuildStage::GetSources;
        let script = match script_of(&self.scripts, &stage)? {
            None if self.needs_helper() => {
                let scripts = JobScripts {
                    sources: GitPlan::skipped(),
                    ..self.scripts.clone()
                };
                script_of(&scripts, &stage)?
            }
            script => script,
        };
        let Some(script) = script else {
            return Ok(());
        };
        self.text_stage(stage, script.into_text(), fetch).await
    }

    /// Collects the files of a working tree for the script.
    async fn offer_sources(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        let mut calls = self.calls().await?;
        let inside = self.environment.workspace.dirs().clone();
        let exchange = self.exchange().await?;
        let host = exchange.host_dirs(&inside);
        let (archive, id) = (exchange.path("sources.zip"), self.build.job.id);
        let Some(endpoint) = self
            .build
            .exchange
            .as_ref()
            .and_then(|it| it.endpoint.as_ref())
        else {
            return Err(BuildError::config(
                "the files of a working tree need an environment whose files this host can reach",
            ));
        };
        let url = endpoint.url("/sources");
        // An earlier attempt may have left some.
        let _ = fs::remove_file(&archive);
        fail_point!(
            "job_runner::exchange::sources",
            fs::create_dir_all(&host.project_dir)
        )
        .map_err(failed("create a directory for files"))?;
        self.fetch(fetch, &Inputs::default()).await?;
        let packed = pack_all(host.project_dir.as_ref(), &archive, fetch).await;
        self.build.detach().await?;
        fetch.check()?;
        packed.map_err(failed("pack the files of the working tree"))?;
        let server = Server {
            url: calls.secret(&url),
            ..Calls::server()
        };
        let arguments = server.arguments("artifacts-downloader", id);
        let group = HelperGroup {
            calls: vec![call("Downloading the working tree...", arguments)],
            rule: HelperRule::All,
        };
        let slots = Slots {
            downloads: [(format!("/sources/api/v4/jobs/{id}/artifacts"), archive)].into(),
            ..Slots::default()
        };
        self.set_helper(HelperWork {
            helper: HelperStage {
                purpose: "Downloading the working tree",
                required_for: Some("the files of the working tree come through it"),
                into_empty_directory: true,
                groups: vec![group],
            },
            environment: calls.environment,
            slots,
        });
        Ok(())
    }
}
