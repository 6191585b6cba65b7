//! Capacity that is reserved before a job is requested.

use crate::support::{SHORT, changed};
use executor_core::prelude::*;
use executor_core::{AcquireError, CancelCause};
use executor_testkit::runner_config;
use std::time::Duration;

/// Two boards, and a third request that waits where a test asks for it.
const BOARDS: &str = "\
capabilities = ['capacity']
leases = set()
def call_acquire(self, call, params, payload):
    if params['runner'] == 'slow':
        self.leases.add('waiting')
        while not call.stopped: time.sleep(0.01)
        self.leases.discard('waiting')
    free = {'left', 'right'} - self.leases
    if not free: raise host.Refused('both boards are busy', 'no_capacity')
    lease = min(free)
    self.leases.add(lease)
    return {'lease': lease}
def call_release(self, call, params, payload):
    self.leases.discard(params['lease'])
def call_prepare(self, call, params, payload):
    result = host.Host.call_prepare(self, call, params, payload)
    return {**result, 'hostname': params['lease']}
def call_status(self, call, params, payload):
    return {'leases': sorted(self.leases)}";

#[tokio::test(flavor = "multi_thread")]
async fn capacity_is_reserved_and_released() {
    let provider = executor_driver::provider(changed(BOARDS));
    let config = runner_config("boards");
    let go_on = Cancellation::new();
    let left = provider.acquire(&config, &go_on).await.unwrap();
    let right = provider.acquire(&config, &go_on).await.unwrap();
    assert_eq!(
        provider.held().await.unwrap(),
        ["lease left", "lease right"]
    );
    let none = provider.acquire(&config, &go_on).await;
    assert!(
        matches!(none, Err(AcquireError::NoFreeExecutor)),
        "{none:?}"
    );
    provider.release(&config, left).await;
    let left = provider.acquire(&config, &go_on).await.unwrap();

    let mut executor = provider.create(&left).unwrap();
    let options = executor_testkit::OptionsBuilder::new().build();
    let environment = executor.prepare(options, &go_on).await.unwrap();
    assert_eq!(environment.hostname, "left");
    executor.cleanup().await.unwrap();
    provider.release(&config, left).await;
    provider.release(&config, right).await;
    assert!(provider.held().await.unwrap().is_empty());
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn canceled_request_reserves_nothing() {
    let provider = executor_driver::provider(changed(BOARDS));
    let stop = Cancellation::new();
    let mut slow = runner_config("boards");
    "slow".clone_into(&mut slow.name);
    let (acquired, ()) = tokio::join!(provider.acquire(&slow, &stop), async {
        while provider.held().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel(CancelCause::Shutdown);
    });
    assert!(
        matches!(acquired, Err(AcquireError::Canceled(CancelCause::Shutdown))),
        "{acquired:?}"
    );
    assert!(provider.held().await.unwrap().is_empty());
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}

/// A request that is not given up in time may still reserve something.
#[tokio::test(flavor = "multi_thread")]
async fn late_lease_is_released() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("over");
    let methods = format!(
        "capabilities = ['capacity']\n\
         seen = []\n\
         def call_acquire(self, call, params, payload):\n    \
             self.seen.append('asked')\n    \
             while not os.path.exists({mark:?}): time.sleep(0.01)\n    \
             return {{'lease': 'late'}}\n\
         def call_release(self, call, params, payload):\n    self.seen.append('released ' + params['lease'])\n\
         def call_status(self, call, params, payload):\n    return {{'leases': self.seen}}"
    );
    let mut config = changed(&methods);
    config.stop_timeout = SHORT;
    let provider = executor_driver::provider(config);
    let runner = runner_config("boards");
    let stop = Cancellation::new();
    let (acquired, ()) = tokio::join!(provider.acquire(&runner, &stop), async {
        while provider.held().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel(CancelCause::Shutdown);
    });
    assert!(
        matches!(acquired, Err(AcquireError::Canceled(CancelCause::Shutdown))),
        "{acquired:?}"
    );
    std::fs::write(mark, "").unwrap();
    while provider.held().await.unwrap() != ["lease asked", "lease released late"] {
        tokio::task::yield_now().await;
    }
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}
