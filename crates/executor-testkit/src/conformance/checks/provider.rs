//! Checks of the provider.

use crate::conformance::check::{Outcome, ensure, failed};
use crate::conformance::session::Opening;
use crate::conformance::suite::Suite;
use executor_core::{ConfigInfo, ExecutorData, FeaturesInfo};
use std::sync::Arc;

/// Repeated calls have equal results, and features are only added.
pub(in super::super) async fn provider_is_stable(suite: Arc<Suite>) -> Outcome {
    let provider = &suite.provider;
    let describe = || {
        let mut config_info = ConfigInfo::default();
        provider.config_info(&suite.options.config, &mut config_info);
        Ok((suite.features()?, config_info, provider.default_shell()))
    };
    let first = describe()?;
    ensure!(first.2.is_some(), "there is no default shell");
    for _ in 0..100 {
        if let Err(error) = provider.can_create() {
            return failed(format!("can_create: {error}"));
        }
        let again = describe()?;
        ensure!(again == first, "it returned {first:?} and then {again:?}");
    }
    let mut all = FeaturesInfo {
        trace_checksum: true,
        two_phase_job_commit: true,
        ..FeaturesInfo::default()
    };
    let before = all;
    if let Err(error) = provider.features(&mut all) {
        return failed(format!("features: {error}"));
    }
    ensure!(
        all.union(before) == all,
        "it removed features: {:?} became {:?}",
        before.names(),
        all.names()
    );
    Ok(())
}

/// Creating executors starts no process and opens no file.
pub(in super::super) async fn create_allocates_nothing(suite: Arc<Suite>) -> Outcome {
    const MANY: usize = 1000;
    // Other tests in this process open files and start processes too, but not hundreds in every round.
    const ROUNDS: usize = 3;
    let mut opened = OpenResources::default();
    for _ in 0..ROUNDS {
        let before = OpenResources::now();
        let mut executors = Vec::with_capacity(MANY);
        for _ in 0..MANY {
            match suite.provider.create(&ExecutorData::new()) {
                Ok(executor) => executors.push(executor),
                Err(_) if executors.is_empty() => {
                    // `create` needs the data of `acquire`, which may have capacity for one job only.
                    return create_with_capacity(&suite).await;
                }
                Err(error) => return failed(format!("create: {}", error.chain())),
            }
        }
        opened = OpenResources::now().since(&before);
        if opened.files.max(opened.children) < MANY / 4 {
            return Ok(());
        }
    }
    failed(format!(
        "{MANY} executors opened {} files and started {} processes",
        opened.files, opened.children
    ))
}

async fn create_with_capacity(suite: &Arc<Suite>) -> Outcome {
    let opening = Opening::new(suite).await?;
    for _ in 0..100 {
        if let Err(error) = suite.provider.create(&opening.data) {
            let reason = format!("create: {}", error.chain());
            return opening.end(failed(reason)).await;
        }
    }
    opening.end(Ok(())).await
}

/// The resources of this process; zero where they are unknown.
#[derive(Default)]
struct OpenResources {
    files: usize,
    children: usize,
}

impl OpenResources {
    fn now() -> Self {
        let entries = |path: &str| std::fs::read_dir(path).into_iter().flatten().flatten();
        let children = entries("/proc/self/task").map(|task| {
            let list = std::fs::read_to_string(task.path().join("children"));
            list.unwrap_or_default().split_whitespace().count()
        });
        Self {
            files: entries("/proc/self/fd").count(),
            children: children.sum(),
        }
    }

    fn since(self, before: &Self) -> Self {
        Self {
            files: self.files.saturating_sub(before.files),
            children: self.children.saturating_sub(before.children),
        }
    }
}
