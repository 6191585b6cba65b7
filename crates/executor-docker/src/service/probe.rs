//! The probes that tell when a service is ready.

use super::ServiceVariables;
use executor_core::parse_duration;
use std::time::Duration;

/// How many ports are tried by default, the lowest first, as in GitLab.
const MOST_PORTS: usize = 20;

/// GitLab Runner's variable.
const TCP_PORT: &str = "HEALTHCHECK_TCP_PORT";

/// One condition of readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// The engine reports the container as healthy, or the image's own check passes. The check is run repeatedly, because
    /// the engine first runs it after a whole interval (30 s by default).
    Health(HealthCheck),
    /// At least one of these ports accepts a connection.
    AnyPort(Vec<u16>),
    /// All of these ports accept a connection.
    Ports(Vec<u16>),
    /// A request for this path is answered with a status from 200 to 399.
    Http {
        /// The port.
        port: u16,
        /// The path, with its slash.
        path: String,
    },
    /// This command, run by the service's `/bin/sh`, ends with 0.
    Exec(String),
    /// The service has written this text.
    Log(String),
}

/// The command of an image's own check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// The program and its arguments; empty when only the engine's report counts.
    pub command: Vec<String>,
}

impl HealthCheck {
    /// Parses the `Test` of an image or a container; `None` when there is none or it is disabled.
    pub fn from_test(test: &[String]) -> Option<Self> {
        let (kind, rest) = test.split_first()?;
        let command = match kind.as_str() {
            "CMD" if !rest.is_empty() => rest.to_vec(),
            "CMD-SHELL" => vec!["/bin/sh".to_owned(), "-c".to_owned(), rest.join(" ")],
            _ => return None,
        };
        Some(Self { command })
    }
}

/// The facts about a service's container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    /// The check of the image or the container.
    pub health: Option<HealthCheck>,
    /// The exposed ports in the engine's format: `80/tcp`, `53/udp`.
    pub exposed: Vec<String>,
    /// The environment, as `NAME=value`.
    pub environment: Vec<String>,
}

impl ContainerFacts {
    /// Returns the exposed TCP ports, the lowest first.
    pub fn tcp_ports(&self) -> Vec<u16> {
        let ports = self.exposed.iter().filter_map(|exposed| {
            let (port, protocol) = exposed.split_once('/').unwrap_or((exposed, "tcp"));
            (protocol == "tcp").then(|| port.parse().ok()).flatten()
        });
        let mut ports: Vec<u16> = ports.filter(|&port| port != 0).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let mut variables = self.environment.iter().rev();
        variables.find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The conditions of a service's readiness, their time limit, and whether the job requires the service.
///
/// Variables of a service, or of the job for all services, set them:
///
/// | variable | ready when |
/// |---|---|
/// | `RUNWRIGHT_READY_TCP` | these ports (`5432`, `80, 443`) accept connections |
/// | `RUNWRIGHT_READY_HTTP` | `8080/health`, `/health` or `http://any:8080/health` is answered with 2xx or 3xx |
/// | `RUNWRIGHT_READY_EXEC` | this command, run inside by `/bin/sh`, ends with 0 |
/// | `RUNWRIGHT_READY_LOG` | it has written this text |
/// | `HEALTHCHECK_TCP_PORT` | this port accepts connections |
/// | `RUNWRIGHT_READY_TIMEOUT` | instead of `wait_for_services_timeout`: `90`, `2 minutes`; `0` does not wait |
/// | `RUNWRIGHT_SERVICE_REQUIRED` | `true`: the job fails when the service is not ready in time, or ends |
///
/// With several, all must hold; `HEALTHCHECK_TCP_PORT` alone gives way to the image's health check. Without any: the
/// image's health check, else its `HEALTHCHECK_TCP_PORT`, else one of the exposed TCP ports (the lowest 20), else the
/// service is ready when it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probes {
    /// The conditions, all of which must hold.
    pub all: Vec<Probe>,
    /// The time limit; `None` is that of the settings, zero does not wait.
    pub timeout: Option<Duration>,
    /// Whether the job requires the service.
    pub required: bool,
}

/// An invalid readiness variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid variable {variable} of a service, {value:?}: expected {expected}")]
pub struct ProbeError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The expected value.
    pub expected: &'static str,
}

impl Probes {
    /// Returns the probes of the variables, or else those of the container.
    ///
    /// # Errors
    ///
    /// When a variable is invalid.
    pub fn new(variables: &ServiceVariables, facts: &ContainerFacts) -> Result<Self, ProbeError> {
        let mut all = Vec::new();
        if let Some(value) = variables.get("RUNWRIGHT_READY_TCP") {
            let ports = ports(value).ok_or_else(|| ProbeError {
                variable: "RUNWRIGHT_READY_TCP",
                value: value.to_owned(),
                expected: "ports from 1 to 65535, separated by spaces or commas",
            })?;
            all.push(Probe::Ports(ports));
        }
        if let Some(value) = variables.get("RUNWRIGHT_READY_HTTP") {
            let default = facts.tcp_ports().first().copied().unwrap_or(80);
            let (port, path) = http(value, default).ok_or_else(|| ProbeError {
                variable: "RUNWRIGHT_READY_HTTP",
                value: value.to_owned(),
                expected: "a port and a path such as 8080/health, without TLS",
            })?;
            all.push(Probe::Http { port, path });
        }
        if let Some(command) = variables.get("RUNWRIGHT_READY_EXEC") {
            all.push(Probe::Exec(command.to_owned()));
        }
        if let Some(text) = variables.get("RUNWRIGHT_READY_LOG") {
            all.push(Probe::Log(text.to_owned()));
        }
        match variables.get(TCP_PORT) {
            // Without other variables, a check of the image takes precedence.
            Some(value) if !all.is_empty() => all.push(tcp_port(value)?),
            _ if all.is_empty() => all.extend(Self::from_facts(variables, facts)?),
            _ => {}
        }
        Ok(Self {
            all,
            timeout: timeout(variables)?,
            required: required(variables)?,
        })
    }

    fn from_facts(
        variables: &ServiceVariables,
        facts: &ContainerFacts,
    ) -> Result<Option<Probe>, ProbeError> {
        if let Some(health) = &facts.health {
            return Ok(Some(Probe::Health(health.clone())));
        }
        let of_image = facts.variable(TCP_PORT).filter(|value| !value.is_empty());
        if let Some(value) = variables.get(TCP_PORT).or(of_image) {
            return tcp_port(value).map(Some);
        }
        let mut ports = facts.tcp_ports();
        ports.truncate(MOST_PORTS);
        Ok((!ports.is_empty()).then_some(Probe::AnyPort(ports)))
    }
}

fn tcp_port(value: &str) -> Result<Probe, ProbeError> {
    let ports = ports(value).ok_or_else(|| ProbeError {
        variable: TCP_PORT,
        value: value.to_owned(),
        expected: "a port from 1 to 65535",
    })?;
    Ok(Probe::Ports(ports))
}

fn timeout(variables: &ServiceVariables) -> Result<Option<Duration>, ProbeError> {
    let variable = "RUNWRIGHT_READY_TIMEOUT";
    let Some(value) = variables.get(variable) else {
        return Ok(None);
    };
    // GitLab's durations exclude zero, which is valid here.
    if value.chars().all(|c| c == '0') {
        return Ok(Some(Duration::ZERO));
    }
    let duration = parse_duration(value).ok_or_else(|| ProbeError {
        variable,
        value: value.to_owned(),
        expected: "a time such as 90 or 2 minutes",
    })?;
    Ok(Some(duration))
}

fn required(variables: &ServiceVariables) -> Result<bool, ProbeError> {
    let variable = "RUNWRIGHT_SERVICE_REQUIRED";
    match variables.get(variable) {
        None | Some("false" | "0" | "no") => Ok(false),
        Some("true" | "1" | "yes") => Ok(true),
        Some(value) => Err(ProbeError {
            variable,
            value: value.to_owned(),
            expected: "true or false",
        }),
    }
}

fn ports(text: &str) -> Option<Vec<u16>> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace());
    let words = words.filter(|word| !word.is_empty());
    let ports: Option<Vec<u16>> = words
        .map(|word| word.parse().ok().filter(|&port| port != 0))
        .collect();
    ports.filter(|ports| !ports.is_empty() && ports.len() <= MOST_PORTS)
}

fn http(text: &str, default: u16) -> Option<(u16, String)> {
    let (authority, path) = match text.strip_prefix("http://") {
        Some(rest) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let port = authority.rsplit_once(':').map_or("80", |(_, port)| port);
            (port, path)
        }
        None => text.split_once('/').unwrap_or((text, "")),
    };
    let port = match authority {
        "" => default,
        port => port.parse().ok().filter(|&port| port != 0)?,
    };
    // The path must not end the request line.
    let fits = path.chars().all(|c| c.is_ascii_graphic());
    fits.then(|| (port, format!("/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::{JobVariable, JobVariables};

    fn probes(variables: &[(&str, &str)], facts: &ContainerFacts) -> Result<Probes, ProbeError> {
        let own: Vec<_> = variables
            .iter()
            .map(|&(name, value)| JobVariable::public(name, value))
            .collect();
        Probes::new(&ServiceVariables::new(&JobVariables::new(), &own), facts)
    }

    fn check(variables: &[(&str, &str)], facts: &ContainerFacts, expect: &[Probe]) {
        let found = probes(variables, facts).expect("probes");
        assert_eq!(found.all, expect, "of {variables:?}");
    }

    fn exposing(ports: &[&str]) -> ContainerFacts {
        ContainerFacts {
            exposed: ports.iter().map(|port| (*port).to_owned()).collect(),
            ..ContainerFacts::default()
        }
    }

    #[test]
    fn the_container_determines_the_default() {
        let nothing = ContainerFacts::default();
        check(&[], &nothing, &[]);
        let ports = exposing(&["443/tcp", "80/tcp", "53/udp", "80", "0/tcp", "x"]);
        check(&[], &ports, &[Probe::AnyPort(vec![80, 443])]);

        let many: Vec<String> = (1..=30).rev().map(|port| format!("{port}/tcp")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&[], &exposing(&many), &[Probe::AnyPort((1..=20).collect())]);

        let test = ["CMD-SHELL", "check me"].map(str::to_owned);
        let health = HealthCheck::from_test(&test).expect("a check");
        assert_eq!(health.command, ["/bin/sh", "-c", "check me"]);
        let healthy = ContainerFacts {
            health: Some(health.clone()),
            ..ports.clone()
        };
        check(&[], &healthy, &[Probe::Health(health)]);
        assert_eq!(HealthCheck::from_test(&["NONE".to_owned()]), None);
        assert_eq!(HealthCheck::from_test(&[]), None);

        let by_image = ContainerFacts {
            environment: vec!["HEALTHCHECK_TCP_PORT=81".to_owned()],
            ..ports.clone()
        };
        check(&[], &by_image, &[Probe::Ports(vec![81])]);
        let own = [("HEALTHCHECK_TCP_PORT", "82")];
        check(&own, &by_image, &[Probe::Ports(vec![82])]);
    }

    #[test]
    fn variables_take_precedence_and_all_apply() {
        let facts = exposing(&["9/tcp", "8/tcp"]);
        let asked = [
            ("RUNWRIGHT_READY_TCP", "1, 2"),
            ("RUNWRIGHT_READY_HTTP", "/health"),
            ("RUNWRIGHT_READY_EXEC", "pg_isready"),
            ("RUNWRIGHT_READY_LOG", "ready to accept"),
            ("HEALTHCHECK_TCP_PORT", "5432"),
        ];
        let expect = [
            Probe::Ports(vec![1, 2]),
            Probe::Http {
                port: 8,
                path: "/health".to_owned(),
            },
            Probe::Exec("pg_isready".to_owned()),
            Probe::Log("ready to accept".to_owned()),
            Probe::Ports(vec![5432]),
        ];
        check(&asked, &facts, &expect);
        let http = |value: &str, port: u16, path: &str| {
            let path = path.to_owned();
            let variables = [("RUNWRIGHT_READY_HTTP", value)];
            check(&variables, &facts, &[Probe::Http { port, path }]);
        };
        http("8080", 8080, "/");
        http("8080/a/b?c=d", 8080, "/a/b?c=d");
        http("http://db:81/x", 81, "/x");
        http("http://db", 80, "/");
    }

    #[test]
    fn invalid_variables_are_refused() {
        let refuse = |name: &str, value: &str| {
            let error = probes(&[(name, value)], &ContainerFacts::default());
            let error = error.expect_err(value).to_string();
            assert!(error.contains(name), "{error}");
        };
        for value in ["0", "65536", "http", "80;81", "-1", ","] {
            refuse("RUNWRIGHT_READY_TCP", value);
            refuse("HEALTHCHECK_TCP_PORT", value);
        }
        for value in [
            "https://db/x",
            "x/y",
            "80/a b",
            "80/\r\nHost: x",
            "http://db:x/",
        ] {
            refuse("RUNWRIGHT_READY_HTTP", value);
        }
        refuse("RUNWRIGHT_READY_TIMEOUT", "soon");
        refuse("RUNWRIGHT_READY_TIMEOUT", "-1");
        refuse("RUNWRIGHT_SERVICE_REQUIRED", "perhaps");
    }

    #[test]
    fn timeout_and_requirement_are_read() {
        let nothing = ContainerFacts::default();
        let of = |name: &str, value: &str| probes(&[(name, value)], &nothing).expect("probes");
        let timeout = |value: &str| of("RUNWRIGHT_READY_TIMEOUT", value).timeout;
        assert_eq!(timeout(""), None);
        assert_eq!(timeout("0"), Some(Duration::ZERO));
        assert_eq!(timeout("90"), Some(Duration::from_secs(90)));
        assert_eq!(timeout("2 minutes"), Some(Duration::from_mins(2)));
        assert!(of("RUNWRIGHT_SERVICE_REQUIRED", "true").required);
        assert!(!of("RUNWRIGHT_SERVICE_REQUIRED", "").required);
    }
}
