//! Connections to the ports of a pod, on a real cluster.

use crate::support::{BUSYBOX, Cluster, job, open};
use executor_core::TraceStream;
use executor_core::ability::PortProxy;
use executor_core::job::{Image, Port};
use executor_core::prelude::*;
use executor_testkit::CommandBuilder;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

async fn answer(proxy: &dyn PortProxy, name: &str, port: u16) -> String {
    let connecting = proxy.connect(name, port, &Cancellation::new()).await;
    let mut stream = connecting.map_err(|error| error.chain()).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    // The answer comes all the same.
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    let reading = stream.read_to_string(&mut answer);
    timeout(Duration::from_secs(30), reading)
        .await
        .unwrap()
        .unwrap();
    answer
}

async fn refused(proxy: &dyn PortProxy, name: &str, port: u16) -> BuildError {
    let connecting = proxy.connect(name, port, &Cancellation::new()).await;
    connecting.map(drop).unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_of_services_and_of_the_job_are_reached() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let port = |number| Port {
        number,
        ..Port::default()
    };
    let serve = "echo of the service > /tmp/index.html; httpd -f -p 8080 -h /tmp";
    let mut job = job(BUSYBOX);
    job.services = vec![Image {
        alias: Some("web".to_owned()),
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        ports: vec![port(8080)],
        ..Image::named(BUSYBOX)
    }];
    let provider = cluster.provider();
    let opened = open(&provider, job).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let proxy = opened.executor.abilities().port_proxy.unwrap();
    for name in ["web", "WEB", "runwright.test-busybox"] {
        let answer = answer(&*proxy, name, 8080).await;
        assert!(answer.ends_with("\r\n\r\nof the service\n"), "{answer}");
    }
    let error = refused(&*proxy, "web", 9090).await;
    assert_eq!(error.to_string(), "web does not offer port 9090");
    let error = refused(&*proxy, "db", 8080).await;
    assert_eq!(error.to_string(), "the job has no service \"db\"");
    let error = refused(&*proxy, "build", 9090).await;
    assert!(error.is_temporary(), "{}", error.chain());
    let text = error.chain();
    assert!(text.contains("connect to port 9090 of build"), "{text}");
    let serve = "echo of the job > /tmp/index.html; httpd -p 127.0.0.1:9090 -h /tmp; echo serves";
    let never = Cancellation::new();
    let command = CommandBuilder::new(format!("{serve}; sleep 300")).build();
    let trace = Arc::clone(&opened.trace);
    let asking = async {
        trace.wait_for(TraceStream::STDOUT, "serves").await;
        let answer = answer(&*proxy, "build", 9090).await;
        assert!(answer.ends_with("\r\n\r\nof the job\n"), "{answer}");
    };
    tokio::select! {
        ran = opened.executor.run(command, &never) => panic!("{ran:?}"),
        () = asking => {}
    }
    opened.executor.cleanup().await.unwrap();
    let error = refused(&*proxy, "web", 8080).await;
    assert!(error.chain().contains("not found"), "{}", error.chain());
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
