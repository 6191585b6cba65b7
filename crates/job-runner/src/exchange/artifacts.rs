//! Stages of artifacts that start the helper command.

use super::calls::{Calls, call};
use super::packing::{pack_all, unpack_all};
use super::{HelperWork, failed};
use crate::artifacts::{ArtifactStore, StoredArtifact};
use crate::directories::JobDirectory;
use crate::finalise::artifact_failed;
use crate::options::HelperServer;
use crate::stages::Stages;
use executor_core::job::{Artifact, ArtifactFormat, Dependency};
use executor_core::{BuildError, BuildStage, Cancellation};
use shells::{HelperArgument, HelperGroup, HelperRule, HelperStage};
use std::fs;

impl Stages<'_, '_> {
    /// Runs the stage that downloads these artifacts.
    pub(crate) async fn download_by_helper(
        &mut self,
        store: Option<&dyn ArtifactStore>,
        dependencies: &[Dependency],
        setup: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut calls = self.calls().await?;
        let mut work = HelperWork::default();
        let mut downloads = Vec::new();
        for dependency in dependencies {
            let id = dependency.id;
            let mut server = Calls::server();
            if let Some(store) = store {
                let exchange = self.exchange().await?;
                let (directory, file) = (
                    exchange.path(&format!("job-{id}")),
                    exchange.path(&format!("job-{id}.zip")),
                );
                fs::create_dir_all(&directory).map_err(failed("create a directory for files"))?;
                let fetched = store.fetch(dependency, &directory, setup).await;
                fetched.map_err(|error| artifact_failed("fetch artifacts", error, setup))?;
                pack_all(&directory, &file, setup)
                    .await
                    .map_err(failed("pack artifacts"))?;
                let path = format!("/api/v4/jobs/{id}/artifacts");
                work.slots.downloads.insert(path, file);
            } else {
                server.token = calls.secret(dependency.token.expose());
            }
            let heading = format!("Downloading artifacts for {} ({id})...", dependency.name);
            let arguments = server.arguments("artifacts-downloader", id);
            downloads.push(call(heading, arguments));
        }
        work.helper = HelperStage {
            purpose: "Artifacts downloading",
            groups: vec![HelperGroup {
                calls: downloads,
                rule: HelperRule::All,
            }],
            ..HelperStage::default()
        };
        work.environment = calls.environment;
        let files: Vec<_> = work.slots.downloads.values().cloned().collect();
        let attempts = self.attempts("ARTIFACT_DOWNLOAD_ATTEMPTS");
        let done = self
            .fetch_by_helper(BuildStage::DownloadArtifacts, work, attempts, setup)
            .await;
        for file in files {
            // Removed with the directory otherwise.
            let _ = fs::remove_file(file);
        }
        done
    }

    /// Runs the stage that uploads these artifacts, and saves those that arrive here.
    pub(crate) async fn upload_by_helper(
        &mut self,
        stage: BuildStage,
        artifacts: &[Artifact],
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut calls = self.calls().await?;
        let is_local = self.build.options.helper.server == HelperServer::Endpoint;
        let id = self.build.job.id;
        let mut work = HelperWork::default();
        work.helper.purpose = "Uploading artifacts";
        for artifact in artifacts {
            let arguments = self.upload_arguments(&mut calls, artifact, is_local)?;
            work.helper.groups.push(HelperGroup {
                calls: vec![call("Uploading artifacts...", arguments)],
                rule: HelperRule::All,
            });
        }
        let path = format!("/api/v4/jobs/{id}/artifacts");
        work.slots
            .uploads
            .insert(path, StoredArtifact::ARCHIVE.to_owned());
        work.environment = calls.environment;
        let (mut result, received) = self.run_helper(stage, work, cancellation).await;
        let Some(store) = self.build.options.artifacts.clone() else {
            return result;
        };
        for (number, upload) in received.into_iter().enumerate() {
            // A report that was not asked for is not kept.
            let Some(artifact) = artifacts.iter().find(|it| it.artifact_type == upload.name) else {
                continue;
            };
            let directory = JobDirectory {
                host: self.exchange().await?.path(&format!("received-{number}")),
                named: self.environment.workspace.dirs().project_dir.clone().into(),
            };
            let saved = match unpack_all(&upload.file, &directory, cancellation).await {
                Ok(collected) => {
                    self.keep_collected(
                        &*store,
                        artifact,
                        &directory.host,
                        collected.paths,
                        cancellation,
                    )
                    .await
                }
                Err(error) => Err(failed("unpack artifacts")(error)),
            };
            let _ = process::remove_tree_off_thread(&directory.host).await;
            match saved {
                Err(error) if result.is_err() => self.warn_not_kept(&error),
                saved => result = result.and(saved),
            }
        }
        result
    }

    fn upload_arguments(
        &self,
        calls: &mut Calls,
        artifact: &Artifact,
        is_local: bool,
    ) -> Result<Vec<HelperArgument>, BuildError> {
        let mut arguments = Calls::server().arguments("artifacts-uploader", self.build.job.id);
        let fixed = ["--timeout", "1h0m0s", "--response-header-timeout", "10m0s"];
        arguments.extend(fixed.map(|it| HelperArgument::Text(it.to_owned())));
        let paths = self.expand_all("a path of artifacts", &artifact.paths)?;
        let exclude = self.expand_all("a path of artifacts:exclude", &artifact.exclude)?;
        let name = self.expand_all(
            "the name of artifacts",
            std::slice::from_ref(&artifact.name),
        )?;
        calls.options(&mut arguments, "path", &paths);
        calls.options(&mut arguments, "exclude", &exclude);
        if artifact.untracked {
            arguments.push(HelperArgument::Text("--untracked".to_owned()));
        }
        calls.options(
            &mut arguments,
            "name",
            name.iter().filter(|it| !it.is_empty()),
        );
        let expire_in = [artifact.expire_in.clone()];
        calls.options(
            &mut arguments,
            "expire-in",
            expire_in.iter().filter(|it| !it.is_empty()),
        );
        // The other formats have no names of files, or none of directories.
        let format = match artifact.artifact_format {
            _ if is_local => "zip",
            ArtifactFormat::Zip => "zip",
            ArtifactFormat::Gzip => "gzip",
            ArtifactFormat::Raw => "raw",
            ArtifactFormat::TarZstd => "tarzstd",
            ArtifactFormat::ZipZstd => "zipzstd",
        };
        calls.options(&mut arguments, "artifact-format", [&format.to_owned()]);
        calls.options(&mut arguments, "artifact-type", [&artifact.artifact_type]);
        Ok(arguments)
    }
}
