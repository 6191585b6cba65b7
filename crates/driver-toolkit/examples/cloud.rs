//! A driver for a small cloud: each job has a server of its own, which is reached over SSH.
//!
//! ```text
//! POST   /servers {"name", "image"}   201, or 409 if there are too many
//! GET    /servers/NAME                200 {"state", "address", "port"}, or 404
//! DELETE /servers/NAME                204, or 404
//! ```

use driver_toolkit::{
    Cleanup, Driver, DriverConfig, Failure, ImagePolicy, JobContext, NotReady, Record, SshHost,
    Stage, Store, Target, Wait,
};
use serde::Deserialize;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

struct Cloud {
    url: String,
    key: String,
    store: Store,
    images: ImagePolicy,
}

#[derive(Deserialize)]
struct Server {
    state: String,
    address: String,
    port: u16,
}

impl Cloud {
    /// Reads the operator's settings.
    fn new(context: &JobContext) -> Result<Self, Failure> {
        let setting = |name: &str| {
            let value = context.setting(name).map(str::to_owned);
            value.ok_or_else(|| Failure::system(format!("{name} is not set")))
        };
        Ok(Self {
            url: setting("CLOUD_URL")?,
            key: setting("CLOUD_KEY")?,
            store: Store::open(setting("CLOUD_STATE")?)?,
            images: ImagePolicy {
                variable: "CLOUD_IMAGE".to_owned(),
                default: Some("debian".to_owned()),
                allowed: Vec::new(),
            },
        })
    }

    /// Calls the cloud, and returns the status and the body.
    fn call(&self, method: &str, path: &str, body: &str) -> Result<(u16, String), NotReady> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        let request = request.body(body.to_owned()).map_err(NotReady::never)?;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(30)))
            .http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let away =
            |error: ureq::Error| NotReady::not_yet(format!("the cloud does not answer: {error}"));
        let mut response = agent.run(request).map_err(away)?;
        Ok((
            response.status().as_u16(),
            response.body_mut().read_to_string().map_err(away)?,
        ))
    }

    /// Returns a server that runs.
    fn running(&self, name: &str) -> Result<Server, NotReady> {
        let (status, body) = self.call("GET", &format!("/servers/{name}"), "")?;
        match status {
            200 => {}
            404 => return Err(Failure::system("it does not exist").into()),
            _ => return Err(NotReady::not_yet(format!("status {status}"))),
        }
        let server: Server = serde_json::from_str(&body).map_err(NotReady::never)?;
        match server.state.as_str() {
            "running" => Ok(server),
            "failed" => Err(Failure::system("the cloud could not start it").into()),
            state => Err(NotReady::not_yet(format!("it is {state}"))),
        }
    }

    fn ssh(&self, server: Server) -> SshHost {
        SshHost {
            port: server.port,
            identity: Some(self.key.clone().into()),
            ..SshHost::new(server.address, "root")
        }
    }
}

impl Driver for Cloud {
    fn config(&self, _job: &JobContext) -> Result<DriverConfig, Failure> {
        Ok(DriverConfig {
            builds_dir: "/builds".to_owned(),
            cache_dir: "/cache".to_owned(),
            shell: "bash".to_owned(),
            ..DriverConfig::default()
        })
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn prepare(
        &self,
        name: &str,
        job: &JobContext,
        _record: &Record,
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        let image = self.images.resolve(job)?;
        let body = json!({ "name": name, "image": image }).to_string();
        Wait::within(Duration::from_mins(30)).until("create the server", stage, || {
            // An earlier attempt may have created it.
            if self.call("GET", &format!("/servers/{name}"), "")?.0 == 200 {
                return Ok(());
            }
            match self.call("POST", "/servers", &body)?.0 {
                201 => Ok(()),
                400 => Err(NotReady::Never(Failure::job(format!(
                    "there is no image {image}"
                )))),
                409 => Err(NotReady::not_yet("the cloud is full")),
                status => Err(NotReady::not_yet(format!("status {status}"))),
            }
        })?;
        let wait = Wait::within(Duration::from_mins(5));
        let server = wait.until("wait for the server", stage, || self.running(name))?;
        let host = self.ssh(server);
        wait.until("wait for SSH", stage, || {
            host.check(&["bash", "git"], stage)
        })
    }

    fn connect(
        &self,
        name: &str,
        _script: &str,
        _record: &Record,
        stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Failure> {
        let server =
            Wait::within(Duration::from_mins(1))
                .until("reach the server", stage, || self.running(name))?;
        Ok(Box::new(self.ssh(server)))
    }

    fn cleanup(&self, name: &str, _record: &Record, cleanup: &mut Cleanup<'_>) {
        cleanup.step("delete the server", || {
            match self.call("DELETE", &format!("/servers/{name}"), "")?.0 {
                204 | 404 => Ok(()),
                status => Err(NotReady::not_yet(format!("status {status}"))),
            }
        });
    }
}

fn main() -> ExitCode {
    driver_toolkit::main(Cloud::new)
}
