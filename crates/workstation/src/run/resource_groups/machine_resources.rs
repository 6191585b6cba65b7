use super::group::{Group, Mark};
use async_trait::async_trait;
use content_store::Digest;
use executor_core::{Cancellation, PipelineId};
use parking_lot::Mutex;
use scheduler::{ProcessMode, ResourceError, ResourceGroups, ResourceLease, ResourceRequest};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long to wait before the next try: the first time, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// How long an announcement waits for another process, which has a group's guard for milliseconds.
const GUARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets one job of each resource group of a project run at a time on this machine, whatever run it
/// belongs to.
#[derive(Debug)]
pub struct MachineResources {
    directory: PathBuf,
    modes: HashMap<String, ProcessMode>,
    announcements: Announcements,
    /// Announcements that wait for the guard of their group.
    waiting: Mutex<JoinSet<()>>,
}

/// A group and a pipeline.
type Key = (String, u64);

/// The announcements of jobs by group and pipeline; `None` while one waits for the guard.
#[derive(Debug, Clone, Default)]
struct Announcements(Arc<Mutex<HashMap<Key, Option<Mark>>>>);

impl Announcements {
    /// Records an announcement, unless it was withdrawn meanwhile.
    fn record(&self, key: &Key, marked: io::Result<Mark>) {
        let mut all = self.0.lock();
        let Some(announced) = all.get_mut(key) else {
            return;
        };
        match marked {
            Ok(mark) => *announced = Some(mark),
            // Withdrawn and made again meanwhile.
            Err(_) if announced.is_some() => {}
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "Other runs do not wait for the jobs of this one in a resource group."
            ),
        }
    }
}

impl MachineResources {
    /// Returns the groups whose state is in `directory`, with the modes of some.
    pub fn at(directory: PathBuf, modes: HashMap<String, ProcessMode>) -> Self {
        Self {
            directory,
            modes,
            announcements: Announcements::default(),
            waiting: Mutex::default(),
        }
    }

    fn group(&self, name: &str) -> Group {
        // The name may contain the value of a variable, which need not be a valid file name.
        let digest = Digest::of(name.as_bytes()).to_string();
        Group::at(self.directory.join(digest))
    }

    fn mode(&self, name: &str) -> ProcessMode {
        self.modes.get(name).copied().unwrap_or_default()
    }

    async fn wait(
        &self,
        request: &ResourceRequest,
        cancellation: &Cancellation,
    ) -> io::Result<Option<ResourceLease>> {
        let group = self.group(&request.group);
        let mode = self.mode(&request.group);
        let mut ticket = None;
        let mut pause = FIRST_PAUSE;
        while !cancellation.is_canceled() {
            if ticket.is_none() {
                ticket = group.enqueue(request.pipeline.0)?;
            }
            if let Some(ticket) = &ticket
                && let Some(holder) = group.take(ticket, mode)?
            {
                return Ok(Some(ResourceLease::new(holder)));
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = cancellation.canceled() => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(None)
    }
}

#[async_trait]
impl ResourceGroups for MachineResources {
    fn expect(&self, group: &str, pipeline: PipelineId, expected: bool) {
        if !matches!(
            self.mode(group),
            ProcessMode::OldestFirst | ProcessMode::NewestFirst
        ) {
            return;
        }
        let key = (group.to_owned(), pipeline.0);
        if !expected {
            self.announcements.0.lock().remove(&key);
            return;
        }
        self.announcements.0.lock().insert(key.clone(), None);
        let group = self.group(group);
        match group.expect(pipeline.0, Duration::ZERO) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let announcements = self.announcements.clone();
                let mut waiting = self.waiting.lock();
                while waiting.try_join_next().is_some() {}
                waiting.spawn_blocking(move || {
                    announcements.record(&key, group.expect(key.1, GUARD_TIMEOUT));
                });
            }
            marked => self.announcements.record(&key, marked),
        }
    }

    async fn acquire(
        &self,
        request: &ResourceRequest,
        cancellation: &Cancellation,
    ) -> Result<Option<ResourceLease>, ResourceError> {
        let lease = self.wait(request, cancellation).await;
        lease.map_err(|source| ResourceError { source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::JobId;
    use process::{FileLock, LockKind};

    /// Each object has its own locks, like a process.
    fn machine(directory: &tempfile::TempDir, mode: ProcessMode) -> Arc<MachineResources> {
        let modes = HashMap::from([("prod".to_owned(), mode)]);
        Arc::new(MachineResources::at(directory.path().to_owned(), modes))
    }

    fn request(pipeline: u64) -> ResourceRequest {
        ResourceRequest {
            group: "prod".to_owned(),
            pipeline: PipelineId(pipeline),
            job: JobId(pipeline * 100),
        }
    }

    /// Longer than any machine needs.
    const AMPLE: Duration = Duration::from_mins(1);

    /// Lets pipelines request the group in this order while another holds it, and returns the order in
    /// which they get it; 0 if none gets it within `limit`.
    async fn order(
        mode: ProcessMode,
        asking: &[u64],
        expected: &[u64],
        limit: Duration,
    ) -> Vec<u64> {
        let directory = tempfile::tempdir().unwrap();
        let resources = machine(&directory, mode);
        let never = Cancellation::new();
        let held = resources
            .acquire(&request(1), &never)
            .await
            .unwrap()
            .unwrap();
        let (sender, mut got) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let queue = resources.group("prod").queue();
        for (index, &pipeline) in asking.iter().enumerate() {
            let (other, sender) = (machine(&directory, mode), sender.clone());
            tasks.spawn(async move {
                let lease = other
                    .acquire(&request(pipeline), &Cancellation::new())
                    .await;
                sender.send(pipeline).unwrap();
                drop(lease.unwrap().unwrap());
            });
            while std::fs::read_dir(&queue).unwrap().count() <= index {
                sleep(Duration::from_millis(2)).await;
            }
        }
        for &pipeline in expected {
            resources.expect("prod", PipelineId(pipeline), true);
        }
        drop(held);
        let mut order = Vec::new();
        while order.len() < asking.len() {
            let wait = tokio::time::timeout(limit, got.recv());
            match wait.await {
                Ok(pipeline) => order.extend(pipeline),
                // They wait for the expected one.
                Err(_) => order.push(0),
            }
            if order.last() == Some(&0) {
                for &pipeline in expected {
                    resources.expect("prod", PipelineId(pipeline), false);
                }
                order.push(got.recv().await.unwrap());
                order.retain(|&pipeline| pipeline != 0);
                order.insert(0, 0);
                break;
            }
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        assert_eq!(std::fs::read_dir(&queue).unwrap().count(), 0);
        order
    }

    #[tokio::test]
    async fn mode_orders_jobs_of_different_runs() {
        let asking = [6, 5, 7];
        assert_eq!(
            order(ProcessMode::Unordered, &asking, &[], AMPLE).await,
            asking
        );
        let oldest = order(ProcessMode::OldestFirst, &asking, &[], AMPLE).await;
        assert_eq!(oldest, [5, 6, 7]);
        let newest = order(ProcessMode::NewestFirst, &asking, &[], AMPLE).await;
        assert_eq!(newest, [7, 6, 5]);
        let ready = order(ProcessMode::NewestReadyFirst, &asking, &[9], AMPLE).await;
        assert_eq!(ready, [7, 6, 5]);
        let waited = order(
            ProcessMode::OldestFirst,
            &[6],
            &[2],
            Duration::from_millis(500),
        )
        .await;
        assert_eq!(waited, [0, 6], "an older run is expected");
    }

    #[tokio::test]
    async fn canceled_and_dead_requests_do_not_block() {
        let directory = tempfile::tempdir().unwrap();
        let never = Cancellation::new();
        let one = machine(&directory, ProcessMode::Unordered);
        let held = one.acquire(&request(1), &never).await.unwrap();
        let canceled = Cancellation::new();
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let (other, canceled) = (
                machine(&directory, ProcessMode::Unordered),
                canceled.clone(),
            );
            async move { other.acquire(&request(2), &canceled).await }
        });
        let queue = one.group("prod").queue();
        while std::fs::read_dir(&queue).unwrap().count() == 0 {
            sleep(Duration::from_millis(2)).await;
        }
        canceled.cancel(executor_core::CancelCause::User);
        let waited = tasks.join_next().await.unwrap();
        assert!(waited.unwrap().unwrap().is_none());
        assert_eq!(std::fs::read_dir(&queue).unwrap().count(), 0);
        // Files without a lock, as a dead process leaves them.
        std::fs::write(queue.join("0-1"), "").unwrap();
        let expected = queue.parent().unwrap().join("expected");
        std::fs::create_dir(&expected).unwrap();
        std::fs::write(expected.join("1"), "").unwrap();
        drop(held);
        let got = machine(&directory, ProcessMode::OldestFirst)
            .acquire(&request(3), &never)
            .await;
        assert!(got.unwrap().is_some());
        assert_eq!(std::fs::read_dir(&queue).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn announcement_waits_for_the_guard_off_the_async_threads() {
        let directory = tempfile::tempdir().unwrap();
        let resources = machine(&directory, ProcessMode::OldestFirst);
        let group = resources.group("prod");
        drop(group.expect(1, Duration::ZERO).unwrap());
        let root = group.queue().parent().unwrap().to_owned();
        let announced = || std::fs::read_dir(root.join("expected")).unwrap().count();
        let take_guard = || {
            let file = FileLock::open_file(&root.join("guard")).unwrap();
            let lock = FileLock::if_free(file, LockKind::Exclusive).unwrap();
            lock.expect("no other process has it")
        };
        let guard = take_guard();
        let error = group.expect(1, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
        // This test has one thread: a call that blocks would wait for itself.
        resources.expect("prod", PipelineId(1), true);
        assert_eq!(announced(), 0);
        drop(guard);
        let mut waiting = std::mem::take(&mut *resources.waiting.lock());
        waiting.join_next().await.unwrap().unwrap();
        assert_eq!(announced(), 1);
        resources.expect("prod", PipelineId(1), false);
        assert_eq!(announced(), 0);
        // One that is withdrawn while it waits is not made.
        let guard = take_guard();
        resources.expect("prod", PipelineId(1), true);
        resources.expect("prod", PipelineId(1), false);
        drop(guard);
        let mut waiting = std::mem::take(&mut *resources.waiting.lock());
        waiting.join_next().await.unwrap().unwrap();
        assert_eq!(announced(), 0);
    }

    #[tokio::test]
    async fn only_unused_groups_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let groups = || std::fs::read_dir(directory.path()).unwrap().count();
        let never = Cancellation::new();
        let one = machine(&directory, ProcessMode::OldestFirst);
        one.expect("prod", PipelineId(1), true);
        super::super::remove_unused(directory.path());
        assert_eq!(groups(), 1, "a job is expected");
        let held = one.acquire(&request(1), &never).await.unwrap();
        one.expect("prod", PipelineId(1), false);
        super::super::remove_unused(directory.path());
        assert_eq!(groups(), 1, "a job is in it");
        drop(held);
        super::super::remove_unused(directory.path());
        assert_eq!(groups(), 0);
        // It can be used again.
        assert!(one.acquire(&request(2), &never).await.unwrap().is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn removal_keeps_jobs_exclusive() {
        let directory = tempfile::tempdir().unwrap();
        let inside = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for run in 1..=4 {
            let one = machine(&directory, ProcessMode::Unordered);
            let (inside, path) = (Arc::clone(&inside), directory.path().to_owned());
            tasks.spawn(async move {
                let never = Cancellation::new();
                for _ in 0..20 {
                    let held = one.acquire(&request(run), &never).await.unwrap();
                    let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert_eq!(others, 0);
                    super::super::remove_unused(&path);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(held);
                    super::super::remove_unused(&path);
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
}
