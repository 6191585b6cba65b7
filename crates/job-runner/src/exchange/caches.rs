//! What the stages of caches send to helper commands and receive from them.

use super::calls::{Calls, call};
use super::packing::{pack_all, unpack_all};
use super::{HelperWork, failed};
use crate::cache::{CacheError, CacheFiles, CacheKey, CacheStore, cached_paths, with_own_modes};
use crate::directories::JobDirectory;
use crate::options::HelperServer;
use crate::stages::Stages;
use archive::{Format, Level};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, chain};
use sha2::{Digest, Sha256};
use shells::{HelperArgument, HelperCall, HelperGroup, HelperRule};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A cache to restore or to save.
#[derive(Debug, Clone)]
pub(crate) struct HelperCache {
    /// The keys in the order in which they are tried; the first is the one for saving.
    pub(crate) keys: Vec<CacheKey>,
    pub(crate) paths: Vec<String>,
    pub(crate) untracked: bool,
}

/// The settings of all caches of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HelperCacheSettings {
    pub(crate) format: Format,
    pub(crate) level: Level,
    pub(crate) timeout: Duration,
}

impl Stages<'_, '_> {
    /// Runs the stage that restores these caches.
    pub(crate) async fn restore_by_helper(
        &mut self,
        caches: &[HelperCache],
        settings: HelperCacheSettings,
        attempts: u32,
        setup: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut calls = self.calls().await?;
        let mut work = HelperWork::default();
        work.helper.purpose = "Extracting cache";
        for (number, cache) in caches.iter().enumerate() {
            let mut tried = Vec::new();
            for (at, key) in cache.keys.iter().enumerate() {
                let mut arguments =
                    self.cache_arguments(&mut calls, "cache-extractor", key, number, settings);
                if let Some(path) = self.cache_path(&format!("{number}-{at}")) {
                    self.offer_cache(&mut work, key, &path, setup).await;
                    self.add_url(&mut calls, &mut arguments, &path);
                }
                let heading = format!("Checking cache for {}...", key.shown());
                tried.push(call(heading, arguments));
            }
            work.helper.groups.push(first_of(
                tried,
                "Successfully extracted cache",
                "Failed to extract cache",
            ));
        }
        work.environment = calls.environment;
        self.fetch_by_helper(BuildStage::RestoreCache, work, attempts, setup)
            .await
    }

    /// Puts a cache of the runner's store where the helper command finds it. One that cannot be restored is left out.
    async fn offer_cache(
        &mut self,
        work: &mut HelperWork,
        key: &CacheKey,
        path: &str,
        setup: &Cancellation,
    ) {
        let Some(store) = self.build.options.caches.clone() else {
            return;
        };
        match self.pack_cache(store, key, path, setup).await {
            Ok(Some(file)) => {
                work.slots.downloads.insert(path.to_owned(), file);
            }
            Ok(None) => {}
            Err(error) => {
                let text = format!("cache {} is not restored: {}", key.shown(), chain(&*error));
                self.build.log.warning_line(&text);
            }
        }
    }

    async fn pack_cache(
        &mut self,
        store: Arc<dyn CacheStore>,
        key: &CacheKey,
        path: &str,
        setup: &Cancellation,
    ) -> Result<Option<std::path::PathBuf>, executor_core::BoxError> {
        if !store.contains(key).await {
            return Ok(None);
        }
        let name = path.split('/').nth(2).unwrap_or_default().to_owned();
        let exchange = self.exchange().await?;
        let (directory, file) = (
            exchange.path(&format!("cache-{name}")),
            exchange.path(&format!("cache-{name}.zip")),
        );
        fs::create_dir_all(&directory)?;
        let Some(_) = store.restore(key, &directory, setup).await? else {
            return Ok(None);
        };
        pack_all(&directory, &file, setup).await?;
        Ok(Some(file))
    }

    /// Runs the stage that saves these caches, and keeps those that arrive here.
    pub(crate) async fn save_by_helper(
        &mut self,
        stage: BuildStage,
        caches: &[HelperCache],
        settings: HelperCacheSettings,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut calls = self.calls().await?;
        let mut work = HelperWork::default();
        work.helper.purpose = "Creating cache";
        for (number, cache) in caches.iter().enumerate() {
            let key = &cache.keys[0];
            let mut arguments =
                self.cache_arguments(&mut calls, "cache-archiver", key, number, settings);
            calls.options(&mut arguments, "path", &cache.paths);
            if cache.untracked {
                arguments.push(HelperArgument::Text("--untracked".to_owned()));
            }
            if let Some(path) = self.cache_path(&number.to_string()) {
                work.slots.uploads.insert(path.clone(), number.to_string());
                self.add_url(&mut calls, &mut arguments, &path);
            }
            let heading = format!("Creating cache {}...", key.shown());
            let group = first_of(
                vec![call(heading, arguments)],
                "Created cache",
                "Failed to create cache",
            );
            work.helper.groups.push(group);
        }
        work.environment = calls.environment;
        let (ran, received) = self.run_helper(stage, work, cancellation).await;
        for upload in received {
            let Some(cache) = upload
                .name
                .parse()
                .ok()
                .and_then(|it: usize| caches.get(it))
            else {
                continue;
            };
            let name = format!("received-cache-{}", upload.name);
            let host = self.exchange().await?.path(&name);
            let directory = JobDirectory {
                named: host.clone(),
                host,
            };
            let kept = self.keep_cache(
                &upload.file,
                &directory,
                &cache.keys[0],
                settings,
                cancellation,
            );
            if let Err(error) = kept.await {
                let text = format!(
                    "cache {} is not saved: {}",
                    cache.keys[0].shown(),
                    chain(&error)
                );
                self.build.log.warning_line(&text);
            }
            let _ = process::remove_tree_off_thread(&directory.host).await;
        }
        ran
    }

    async fn keep_cache(
        &mut self,
        file: &Path,
        directory: &JobDirectory,
        key: &CacheKey,
        settings: HelperCacheSettings,
        cancellation: &Cancellation,
    ) -> Result<(), CacheError> {
        let Some(store) = self.build.options.caches.clone() else {
            return Ok(());
        };
        let unpacked = unpack_all(file, directory, cancellation).await;
        let collected = unpacked.map_err(|source| CacheError::Other {
            message: "unpack it".to_owned(),
            source: Some(failed("unpack a cache")(source).into()),
        })?;
        let files = CacheFiles {
            project: directory.host.clone(),
            paths: cached_paths(with_own_modes(directory, collected)),
            are_as_restored: false,
            format: settings.format,
            level: settings.level,
        };
        store.save(key, files, cancellation).await.map(drop)
    }

    fn keeps_in_environment(&self) -> bool {
        self.build.options.helper.server == HelperServer::GitLab
    }

    /// Returns the path of a cache's address, if there is an endpoint.
    fn cache_path(&self, name: &str) -> Option<String> {
        let exchange = self.build.exchange.as_ref()?;
        let token = exchange.endpoint.as_ref()?.token();
        Some(format!("/cache/{name}/{token}"))
    }

    fn add_url(&self, calls: &mut Calls, arguments: &mut Vec<HelperArgument>, path: &str) {
        let exchange = self.build.exchange.as_ref();
        if let Some(endpoint) = exchange.and_then(|it| it.endpoint.as_ref()) {
            arguments.push(HelperArgument::Text("--url".to_owned()));
            arguments.push(calls.secret(&endpoint.url(path)));
        }
    }

    /// Returns the arguments that name the file of a cache. With an endpoint it is temporary; else it is where GitLab
    /// Runner has it.
    fn cache_arguments(
        &self,
        calls: &mut Calls,
        command: &str,
        key: &CacheKey,
        number: usize,
        settings: HelperCacheSettings,
    ) -> Vec<HelperArgument> {
        let dirs = self.environment.workspace.dirs();
        let mut arguments = vec![HelperArgument::Text(command.to_owned())];
        let mut options = |name: &str, value: String| calls.options(&mut arguments, name, [&value]);
        if self.keeps_in_environment() {
            let project = self.expanded.get("CI_PROJECT_PATH").unwrap_or_default();
            let parent = Path::new(&dirs.cache_dir).join(project);
            let file = |name: &str| self.relative_to_project(&parent.join(name).join("cache.zip"));
            options("file", file(key.text()));
            if command == "cache-archiver" {
                options("alternate-file", file(&hashed(key.text())));
            }
        } else {
            let temporary = Path::new(&dirs.temp_dir).join(format!("cache-{number}.zip"));
            options("file", temporary.display().to_string());
        }
        options("timeout", (settings.timeout.as_secs() / 60).to_string());
        arguments
    }
}

fn first_of(calls: Vec<HelperCall>, success: &'static str, failure: &'static str) -> HelperGroup {
    HelperGroup {
        calls,
        rule: HelperRule::First { success, failure },
    }
}

fn hashed(key: &str) -> String {
    format!("{:x}", Sha256::digest(key.as_bytes()))
}
