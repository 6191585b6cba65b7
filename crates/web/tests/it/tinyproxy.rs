use crate::authority::Authority;
use crate::names::Names;
use crate::proxy::tunnels;
use crate::server::Server;
use crate::{get, naming, open_with};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::tempdir;
use web::{Proxies, WebOptions};

/// A proxy of the kind that companies run. It ends with the test.
struct Tinyproxy {
    child: Child,
    address: SocketAddr,
}

impl Tinyproxy {
    /// Starts a proxy that requires a password and forwards to another proxy, which resolves the names of the test.
    /// Returns `None` if tinyproxy is not installed.
    fn start(directory: &Path, upstream: SocketAddr) -> Option<Self> {
        // Another process may take the port first.
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = free.local_addr().expect("an address");
            drop(free);
            let mut proxy = Self {
                child: spawn(directory, address.port(), upstream)?,
                address,
            };
            if proxy.listens() {
                return Some(proxy);
            }
        }
        panic!("tinyproxy ends at once, five times");
    }

    /// Waits until the proxy listens, and returns whether it does.
    fn listens(&mut self) -> bool {
        let until = Instant::now() + Duration::from_secs(30);
        while self.child.try_wait().expect("a child").is_none() {
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            assert!(Instant::now() < until, "tinyproxy does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

fn spawn(directory: &Path, port: u16, upstream: SocketAddr) -> Option<Child> {
    let file = directory.join("tinyproxy.conf");
    let config = format!(
        "Port {port}\nListen 127.0.0.1\nTimeout 30\nMaxClients 10\nBasicAuth me right\nUpstream http {upstream}\n"
    );
    std::fs::write(&file, config).expect("a file");
    #[expect(
        clippy::disallowed_methods,
        reason = "the proxy is what is tested with"
    )]
    let started = Command::new("tinyproxy")
        .args(["-d", "-c"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.ok()
}

impl Drop for Tinyproxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn company_proxy_receives_its_password() {
    // R-GLCI-148
    let (authority, directory) = (Authority::new("ours"), tempdir().expect("a directory"));
    let config = authority.server("gitlab.example");
    let server = Server::start_tls(config, |_, wire| wire.answer("200 OK", &[], b"hello"));
    let (upstream, asked) = tunnels(server.address);
    let Some(proxy) = Tinyproxy::start(directory.path(), upstream.address) else {
        executor_testkit::not_tested("a real proxy with a password", "tinyproxy is missing");
        return;
    };
    let options = |user: &str| WebOptions {
        proxies: Proxies {
            https: Some(format!("http://{user}{}", proxy.address)),
            ..Proxies::default()
        },
        authorities: vec![authority.write(directory.path())],
        ..naming(&[])
    };
    let names = Names::new(&[]);
    let url = "https://gitlab.example/x";
    let answer = get(&open_with(options("me:right@"), &names), url).await;
    assert_eq!(answer.expect("an answer").body, b"hello");
    assert_eq!(asked.lock()[0].0, "gitlab.example:443");
    let error = get(&open_with(options("me:wrong@"), &names), url).await;
    let error = error.expect_err("a wrong password").to_string();
    assert!(!error.contains("wrong"), "{error}");
    let through = format!("through the proxy http://{}: tunnel error: ", proxy.address);
    assert!(error.contains(&through), "{error}");
    assert_eq!(server.targets(), ["/x"]);
    assert!(names.asked().is_empty());
}
