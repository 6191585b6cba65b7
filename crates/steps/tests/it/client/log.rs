use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use executor_core::Cancellation;
use process::Stream;

use super::support::Served;
use crate::service::memory::held;

/// Returns the private memory of this process in bytes.
fn resident() -> u64 {
    held(std::process::id()) * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_200_mb_takes_no_memory() {
    let served = Served::start();
    let client = served.client();
    let run = served.run(
        "1",
        "yes 'a line of a log that is as long as lines are in most of the logs there are' | head -c 200000000",
    );
    let (bytes, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let before = resident();
    let noted = Arc::clone(&bytes);
    let mut sink = move |stream: Stream, text: &[u8]| {
        assert_eq!(stream, Stream::Stdout);
        noted.fetch_add(text.len() as u64, Ordering::Relaxed);
    };
    let never = Cancellation::new();
    let watch = async {
        loop {
            most.fetch_max(resident(), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let result = tokio::select! {
        ended = client.execute(&run, &mut sink, &never) => ended.unwrap(),
        () = watch => unreachable!("it never ends"),
    };
    assert_eq!(result.stdout_bytes, 200_000_000);
    assert_eq!(bytes.load(Ordering::Relaxed), 200_000_000);
    let grown = most.load(Ordering::Relaxed).saturating_sub(before);
    // This includes service, client, and other concurrent tests. With its timestamps the log has 285 MB.
    assert!(grown < 190_000_000, "{grown} bytes");
}
