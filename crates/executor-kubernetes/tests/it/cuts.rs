//! Connections with the API server that are cut at random bytes.

use crate::support::{BUSYBOX, Cluster, job, open};
use executor_core::prelude::*;
use executor_testkit::CommandBuilder;
use kube::config::Kubeconfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How many connections are cut, unless `RUNWRIGHT_TEST_CUTS` says another number.
const CUTS: u32 = 40;

/// The most bytes from the API server before a cut.
const MOST: usize = 150_000;

/// Passes bytes on to the API server and cuts each connection after a random number of them.
struct Cutter {
    address: String,
    cuts: Arc<AtomicU32>,
}

impl Cutter {
    async fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let cuts = Arc::new(AtomicU32::new(0));
        let (server, counted) = (server.to_owned(), Arc::clone(&cuts));
        #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, counted) = (server.clone(), Arc::clone(&counted));
                #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
                tokio::spawn(async move {
                    if pass(client, &server).await {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Self { address, cuts }
    }
}

/// Passes bytes on; returns whether the connection was cut, by the number of bytes that came back.
async fn pass(mut client: TcpStream, server: &str) -> bool {
    let mut server = TcpStream::connect(server).await.unwrap();
    let mut left = fastrand::usize(2_000..MOST);
    let (mut out, mut back) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    while left > 0 {
        tokio::select! {
            read = client.read(&mut out) => {
                let Ok(count @ 1..) = read else { return false };
                if server.write_all(&out[..count]).await.is_err() {
                    return false;
                }
            }
            read = server.read(&mut back) => {
                let Ok(count @ 1..) = read else { return false };
                let count = count.min(left);
                if client.write_all(&back[..count]).await.is_err() {
                    return false;
                }
                left -= count;
            }
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn random_cuts_repeat_nothing_and_leave_nothing() {
    // R-STEP-52, R-STEP-53, R-STEP-54
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let wanted = std::env::var("RUNWRIGHT_TEST_CUTS").map_or(CUTS, |it| it.parse().unwrap());
    let cutter = Cutter::start(&format!("{}:6443", cluster.address())).await;
    let file = cluster.config.kubeconfig.clone().unwrap();
    let mut access = Kubeconfig::read_from(&file).unwrap();
    let named = access.clusters[0].cluster.as_mut().unwrap();
    named.server = Some(format!("https://{}", cutter.address));
    let cut = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&cut, &access).unwrap();
    cluster.config.kubeconfig = Some(cut.path().to_owned());
    while cutter.cuts.load(Ordering::Relaxed) < wanted {
        let provider = cluster.provider();
        let opened = open(&provider, job(BUSYBOX)).await;
        let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
        let script = "echo x >> /cache/ran; i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); printf '%0100d\\n' $i; \
                      [ $((i % 100)) = 0 ] && sleep 0.02; done; wc -l < /cache/ran";
        let command = CommandBuilder::new(script).build();
        let ran = opened.executor.run(command, &Cancellation::new()).await;
        let ran = ran.map_err(|error| error.chain()).unwrap();
        assert_eq!(ran.status.exit_code().0, 0);
        let numbers: Vec<String> = (1..=5000).map(|it| format!("{it:0100}")).collect();
        let expected = numbers.join("\n") + "\n1\n";
        assert_eq!(opened.stdout(), expected);
        opened.executor.cleanup().await.unwrap();
    }
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
