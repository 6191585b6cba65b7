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

/// Returns by how many bytes this process grows during a log of this size.
async fn growth_by(size: u64) -> u64 {
    let served = Served::start();
    let client = served.client();
    let script = format!(
        "yes 'a line of a log that is as long as lines are in most of the logs there are' | head -c {size}"
    );
    let run = served.run("1", &script);
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
    assert_eq!(result.stdout_bytes, size);
    assert_eq!(bytes.load(Ordering::Relaxed), size);
    most.load(Ordering::Relaxed).saturating_sub(before)
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_200_mb_takes_no_memory() {
    let mut grown = u64::MAX;
    for attempt in 0..3 {
        // Twice as much each time, so that memory freed by the attempt before cannot hide a collected log.
        grown = growth_by(200_000_000 << attempt).await;
        // Service, client and other tests need some memory; with its timestamps the log has 285 MB.
        if grown < 190_000_000 {
            return;
        }
    }
    panic!("{grown} bytes");
}
