use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder,
};
use executor_docker::Engine;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

/// A container of a test, removed however the test ends.
pub(crate) struct Scratch {
    pub(crate) engine: Engine,
    pub(crate) id: String,
}

/// Returns a name that no other test uses.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("runwright-test-{what}-{}-{next}", std::process::id())
}

/// Creates a container, and removes it with its anonymous volumes after `test`.
pub(crate) async fn with_container<T>(
    engine: &Engine,
    body: ContainerCreateBody,
    test: impl AsyncFnOnce(&Scratch) -> T,
) -> T {
    let name = unique("create");
    let options = CreateContainerOptionsBuilder::default().name(&name).build();
    let created = engine.api().create_container(Some(options), body).await;
    let scratch = Scratch {
        engine: engine.clone(),
        id: created.unwrap().id,
    };
    let result = AssertUnwindSafe(test(&scratch)).catch_unwind().await;
    let options = RemoveContainerOptionsBuilder::default()
        .force(true)
        .v(true)
        .build();
    let removed = engine
        .api()
        .remove_container(&scratch.id, Some(options))
        .await;
    match result {
        Ok(value) => {
            removed.unwrap();
            value
        }
        Err(panic) => resume_unwind(panic),
    }
}

impl Scratch {
    /// Starts the container, waits for its end, and returns its exit code and all of its output.
    pub(crate) async fn run(&self) -> (i64, String) {
        let api = self.engine.api();
        api.start_container(&self.id, None).await.unwrap();
        let mut ends = api.wait_container(&self.id, None);
        let code = match ends.next().await.unwrap() {
            Ok(end) => end.status_code,
            Err(bollard::errors::Error::DockerContainerWaitError { code, .. }) => code,
            Err(error) => panic!("{error}"),
        };
        let options = LogsOptionsBuilder::default()
            .stdout(true)
            .stderr(true)
            .build();
        let lines = api
            .logs(&self.id, Some(options))
            .try_collect::<Vec<_>>()
            .await;
        let output = lines.unwrap().iter().map(ToString::to_string).collect();
        (code, output)
    }
}
