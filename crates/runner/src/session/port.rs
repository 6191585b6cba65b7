use super::access::Session;
use super::refusal::{Answer, Refusal};
use executor_core::ability::Connection;
use executor_core::job::{Image, Job, Port};
use executor_core::{BuildError, Cancellation};
use http_body_util::{BodyExt as _, Either};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use job_runner::JobAccess;
use parking_lot::Mutex;
use std::error::Error;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, copy, split};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long the connection to a service may take.
const CONNECT: Duration = Duration::from_secs(30);

/// How long a service may take to answer, and to accept the next piece of a request.
const ANSWER: Duration = Duration::from_mins(2);

/// How long a client may take to close an upgraded connection.
const CLOSING: Duration = Duration::from_secs(1);

/// The name of the job itself among its services.
const BUILD: &str = "build";

/// Headers that are meant for one connection. `Transfer-Encoding` stays, since each side decodes and encodes by it.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
];

/// The part of a path after `/proxy/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortPath<'a> {
    service: &'a str,
    /// A number, or the name that the job gives the port.
    port: &'a str,
    /// The path of the request to the service.
    path: &'a str,
}

impl<'a> PortPath<'a> {
    /// Parses `SERVICE/PORT` or `SERVICE/PORT/PATH`.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (service, rest) = text.split_once('/')?;
        let (port, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = if path.is_empty() { "/" } else { path };
        (!service.is_empty() && !port.is_empty()).then_some(Self {
            service,
            port,
            path,
        })
    }

    /// Returns the port's number.
    fn number(self, job: &Job) -> Result<u16, Refusal> {
        let number = self.port.parse().ok();
        let is_meant = |it: &&Port| it.name == self.port || Some(it.number) == number;
        let declared = declared_ports(job, self.service).find(is_meant);
        if declared.is_some_and(|it| it.protocol == "https") {
            let text = "ports with the protocol https are not reachable through this runner";
            return Err(Refusal(StatusCode::NOT_IMPLEMENTED, text));
        }
        let number = declared.map(|it| it.number).or(number);
        number.filter(|it| *it != 0).ok_or(Refusal(
            StatusCode::BAD_REQUEST,
            "expected the number of a port, or the name that the job gives one",
        ))
    }

    /// Changes a request to the session into the one to the service. Returns the protocol that it wants to switch to.
    fn rewrite(
        self,
        request: &mut Request<Incoming>,
        port: u16,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let malformed = || Refusal(StatusCode::BAD_REQUEST, "malformed path");
        let path = match request.uri().query() {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.to_owned(),
        };
        *request.uri_mut() = Uri::try_from(path).map_err(|_| malformed())?;
        *request.version_mut() = Version::HTTP_11;
        let host = HeaderValue::try_from(format!("{}:{port}", self.service));
        let headers = request.headers_mut();
        let protocol = remove_hop_by_hop(headers);
        if let Some(protocol) = &protocol {
            set_upgrade(headers, protocol.clone());
        }
        // It is the session's.
        headers.remove(header::AUTHORIZATION);
        headers.insert(header::HOST, host.map_err(|_| malformed())?);
        Ok(protocol)
    }
}

/// Returns the ports that a job declares for itself, or for the service with this alias.
fn declared_ports<'a>(job: &'a Job, service: &'a str) -> impl Iterator<Item = &'a Port> {
    let has_alias = move |alias: &str| {
        let mut aliases = alias.split(|c: char| c == ',' || c.is_whitespace());
        aliases.any(|it| it.eq_ignore_ascii_case(service))
    };
    let is_service = move |it: &&Image| it.alias.as_deref().is_some_and(has_alias);
    let services = job.services.iter().filter(is_service);
    let build = Some(&job.image).filter(|_| service == BUILD);
    build.into_iter().chain(services).flat_map(|it| &it.ports)
}

/// Two upgraded connections that belong together.
pub(super) struct Tunnel {
    client: OnUpgrade,
    service: OnUpgrade,
}

impl Tunnel {
    /// Copies both ways until one side ends.
    pub(super) async fn run(self) {
        let Ok((client, service)) = tokio::try_join!(self.client, self.service) else {
            return;
        };
        let (mut from_client, mut to_client) = split(TokioIo::new(client));
        let (mut from_service, mut to_service) = split(TokioIo::new(service));
        // Some executors cannot close one direction alone, so the end of one is the end of both.
        tokio::select! {
            _ = copy(&mut from_client, &mut to_service) => {}
            _ = copy(&mut from_service, &mut to_client) => {}
        }
        let _ = timeout(CLOSING, to_client.shutdown()).await;
    }
}

/// Sends a request to a port of the session's job. Returns the service's answer as soon as its head is there, and the
/// tunnel if the answer switches to another protocol.
///
/// `drivers` must live as long as the answer's body and the tunnel.
pub(super) async fn forward(
    mut request: Request<Incoming>,
    session: &Session,
    target: PortPath<'_>,
    drivers: &Mutex<JoinSet<()>>,
) -> Result<(Answer, Option<Tunnel>), Refusal> {
    let no_answer = || {
        Refusal(
            StatusCode::BAD_GATEWAY,
            "the service did not answer in HTTP",
        )
    };
    let access = session.access().ok_or_else(Refusal::no_environment)?;
    let port = target.number(&access.job)?;
    let client = hyper::upgrade::on(&mut request);
    let wanted = target.rewrite(&mut request, port)?;
    let stream = connect(&access, target.service, port, &session.closed).await?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|_| no_answer())?;
    drivers.lock().spawn(async move {
        // Both ends of the exchange report an error, too.
        let _ = connection.with_upgrades().await;
    });
    let (pieces, mut sent) = watch::channel(());
    let request = request.map(|body| {
        body.map_frame(move |frame| {
            pieces.send_replace(());
            frame
        })
    });
    let mut answering = pin!(sender.send_request(request));
    let answer = loop {
        tokio::select! {
            answer = &mut answering => break answer,
            Ok(()) = sent.changed() => {}
            () = sleep(ANSWER) => return Err(Refusal::too_late()),
        }
    };
    let mut answer = answer.map_err(|_| no_answer())?;
    *answer.version_mut() = Version::HTTP_11;
    let protocol = remove_hop_by_hop(answer.headers_mut());
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok((answer.map(Either::Right), None));
    }
    let protocol = protocol
        .filter(|_| wanted.is_some())
        .ok_or_else(no_answer)?;
    set_upgrade(answer.headers_mut(), protocol);
    let service = hyper::upgrade::on(&mut answer);
    let tunnel = Tunnel { client, service };
    Ok((answer.map(Either::Right), Some(tunnel)))
}

async fn connect(
    access: &JobAccess,
    service: &str,
    port: u16,
    closed: &Cancellation,
) -> Result<Box<dyn Connection>, Refusal> {
    let proxy = access.port_proxy.as_ref().ok_or(Refusal(
        StatusCode::NOT_IMPLEMENTED,
        "the executor does not reach ports",
    ))?;
    let connected = timeout(CONNECT, proxy.connect(service, port, closed)).await;
    let connected = connected.map_err(|_| Refusal::too_late())?;
    connected.map_err(|error| {
        let job = access.job.id.0;
        tracing::debug!(
            job,
            port,
            error = &error as &dyn Error,
            "A port was not reached."
        );
        match error {
            BuildError::Config { .. } => {
                let text = "the job does not have this service, or the service this port";
                Refusal(StatusCode::NOT_FOUND, text)
            }
            _ => Refusal(StatusCode::BAD_GATEWAY, "the port is not reachable now"),
        }
    })
}

/// Removes the headers that are meant for one connection. Returns the protocol to switch to.
fn remove_hop_by_hop(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let named = headers.get_all(header::CONNECTION).into_iter();
    let named = named.filter_map(|it| it.to_str().ok());
    let named: Vec<String> = named
        .flat_map(|it| it.split(','))
        .map(|it| it.trim().to_owned())
        .collect();
    let protocol = headers.remove(header::UPGRADE);
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    for name in &named {
        headers.remove(name);
    }
    protocol.filter(|_| named.iter().any(|it| it.eq_ignore_ascii_case("upgrade")))
}

fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_names_a_service_and_a_port() {
        let check = |text: &str, expect: Option<(&str, &str, &str)>| {
            let parsed = PortPath::parse(text);
            let parsed = parsed.map(|it| (it.service, it.port, it.path));
            assert_eq!(parsed, expect, "{text}");
        };
        check("web/80", Some(("web", "80", "/")));
        check("web/80/", Some(("web", "80", "/")));
        check("web/http//a%2Fb/", Some(("web", "http", "//a%2Fb/")));
        for text in ["", "web", "web/", "/80", "web//80"] {
            check(text, None);
        }
    }
}
