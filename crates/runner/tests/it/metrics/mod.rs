//! The runner seen from outside: metrics, and the pages beside them.

mod client;
mod guide;
mod pages;
mod values;

use crate::bench::Bench;
use std::net::SocketAddr;

/// Returns a bench whose runners serve metrics on any port.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.settings.listen_address = Some("127.0.0.1:0".parse().unwrap());
    bench
}

/// Returns a script that ends when [`release`] is called.
fn until_released(bench: &Bench) -> String {
    let file = bench.dir.path().join("released");
    format!("until [ -e {} ]; do sleep 0.05; done", file.display())
}

fn release(bench: &Bench) {
    std::fs::write(bench.dir.path().join("released"), "").unwrap();
}

/// Waits until a page has what is wanted, and returns it.
async fn wait_for(address: SocketAddr, path: &str, is_so: impl Fn(&str) -> bool) -> String {
    let wait = async {
        loop {
            let page = client::get(address, path).await.body;
            if is_so(&page) {
                return page;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let page = tokio::time::timeout(crate::bench::PATIENCE, wait).await;
    page.expect("the page changes in time")
}
