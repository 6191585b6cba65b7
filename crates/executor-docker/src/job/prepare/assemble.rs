//! Builds the stage runner of a container that is ready.

use crate::config::SourcesChoice;
use crate::error::DockerError;
use crate::job::container::JobContainer;
use crate::job::container::agent_place;
use crate::job::container::ready::ContainerDetails;
use crate::job::files::JobFiles;
use crate::job::files::chown;
use crate::job::files::tree::Owner;
use crate::job::prepare::preparation::Preparation;
use crate::job::prepared::Prepared;
use crate::job::stage::agent::AgentRunner;
use crate::job::stage::attach::AttachRunner;
use crate::job::stage::connector::AgentConnector;
use crate::job::stage::exec::ExecRunner;
use crate::job::stage::exec_files::{ExecFiles, LONGEST_STALL};
use crate::job::stage::helper::{Helper, HelperPlan};
use crate::job::stage::{StageRunner, Timing};
use crate::job::terminal::DockerTerminal;
use crate::service::Services;
use executor_core::ability::FileTransfer;
use executor_core::{Cancellation, JobTraceExt};
use std::sync::Arc;
use steps::agent::locate_socket;
use steps::{ClientOptions, JobCredentials, RunRecord, StageRequests, StepsClient, StepsError};

/// A container that is ready, and its details.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) container: JobContainer,
    pub(crate) files: JobFiles,
    pub(crate) services: Services,
    pub(crate) details: ContainerDetails,
    pub(crate) transport: PreparedTransport,
    /// Changes the owner of files back when the container is dead.
    pub(crate) rescuer: Option<HelperPlan>,
}

/// The transport of stages, ready for use.
#[derive(Debug)]
pub(crate) enum PreparedTransport {
    Agent(AgentParts),
    Exec {
        /// Why an automatic choice is not the agent.
        agent_unavailable: Option<String>,
    },
    /// Stages of the runner itself run in this container.
    Attach(Box<HelperPlan>),
}

/// The agent in a container.
#[derive(Debug)]
pub(crate) struct AgentParts {
    pub(crate) client: StepsClient,
    /// The prefix of request ids.
    pub(crate) prefix: String,
    pub(crate) record: RunRecord,
}

impl Parts {
    /// Builds the prepared container; `image` is for messages.
    pub(crate) fn assemble(
        self,
        preparation: &Preparation,
        image: &str,
    ) -> Result<Prepared, DockerError> {
        let Self {
            container,
            files,
            services,
            details,
            mut transport,
            rescuer,
        } = self;
        let owner = details.owner();
        let shell = preparation.choose_shell(&details, image)?;
        let program = shell.program.clone().unwrap_or_else(|| "sh".to_owned());
        let timing = Timing::of(&preparation.options.config);
        let mut transfer: Option<Arc<dyn FileTransfer>> = None;
        let mut record = None;
        match &mut transport {
            PreparedTransport::Agent(agent) => {
                agent.client = preparation.with_library(agent.client.clone());
                transfer = Some(agent.client.files());
                record = Some(agent.record.clone());
            }
            PreparedTransport::Exec { .. } if details.has_tar => {
                transfer = Some(Arc::new(ExecFiles {
                    execs: container.execs(),
                    shell: program.clone(),
                    longest_stall: LONGEST_STALL,
                }));
            }
            // Between stages of `attach` no process runs in the container.
            PreparedTransport::Exec { .. } | PreparedTransport::Attach(_) => {}
        }
        if files.host.is_none() && transfer.is_none() {
            preparation.warn_about_owner(owner);
        }
        // With `attach`, the main process ends with each stage.
        let is_restarted = matches!(transport, PreparedTransport::Attach(_));
        let engine = stage_runner(transport, &container, image, program, timing);
        let (execs, dirs) = (container.execs(), files.inside.clone());
        let terminal =
            DockerTerminal::new(execs, shell.clone(), dirs, owner).restarted(is_restarted);
        Ok(Prepared {
            terminal: Arc::new(terminal),
            container,
            files,
            owner,
            engine,
            shell,
            transfer,
            services,
            are_ready: false,
            record,
            rescuer: rescuer.map(Helper::new),
        })
    }
}

impl Preparation {
    /// Returns the client with the job's library of functions.
    fn with_library(&self, client: StepsClient) -> StepsClient {
        let Some(library) = &self.shared.options.library else {
            return client;
        };
        let auth = self.options.variables.get("DOCKER_AUTH_CONFIG");
        let asker = JobCredentials {
            docker_auth_configs: auth.map(ToOwned::to_owned).into_iter().collect(),
        };
        client.with_library(Arc::clone(library), asker)
    }

    /// Warns that a lack of rights keeps this host's files from the job: the user could not see the reason otherwise.
    fn warn_about_owner(&self, owner: Owner) {
        let ours = chown::own_user().uid;
        let is_wanted = self.options.config.host_builds_dir.is_some()
            && self.settings.sources == SourcesChoice::Auto;
        if is_wanted && !chown::is_permitted() && owner.uid != ours {
            self.options.trace.warning_line(&format!(
                "The job gets no files of this host: its image runs as user {}, to whom user {ours} cannot give files. Run it as \
                 root (`image:docker:user`), or use engine = \"agent\", which needs no rights.",
                owner.uid
            ));
        }
    }
}

fn stage_runner(
    transport: PreparedTransport,
    container: &JobContainer,
    image: &str,
    shell: String,
    timing: Timing,
) -> StageRunner {
    match transport {
        PreparedTransport::Attach(helper) => StageRunner::Attach(Box::new(AttachRunner {
            build: container.execs(),
            image: image.to_owned(),
            helper: Helper::new(*helper),
            timing,
            unsettled: None,
        })),
        PreparedTransport::Exec { agent_unavailable } => StageRunner::Exec(ExecRunner {
            agent_unavailable,
            execs: container.execs(),
            end: container.end(),
            shell,
            timing,
        }),
        PreparedTransport::Agent(agent) => StageRunner::Agent(AgentRunner {
            requests: StageRequests::new(agent.client, agent.record, &agent.prefix),
            name: container.name().to_owned(),
            end: container.end(),
            shell,
            timing,
        }),
    }
}

/// Waits for the agent; returns the details that it found, unless there is no shell.
pub(crate) async fn reach_agent(
    container: &JobContainer,
    files: &JobFiles,
    cancellation: &Cancellation,
) -> Result<(StepsClient, Option<ContainerDetails>), DockerError> {
    let connector = AgentConnector {
        execs: container.execs(),
        command: agent_place::proxy(),
        socket: files.agent_directory().map(|run| locate_socket(&run)),
        end: container.end(),
    };
    let client = StepsClient::new(Arc::new(connector), ClientOptions::default());
    let found = client.hello(cancellation).await;
    let found = found.map_err(|error| lost(container, error))?;
    Ok((client, ContainerDetails::of(&found)))
}

/// Returns why the agent does not answer: a lost container, or the error itself.
fn lost(container: &JobContainer, error: StepsError) -> DockerError {
    match (container.lost(), error) {
        (Some(lost), _) => lost,
        (None, StepsError::Canceled(cause)) => DockerError::Canceled(cause),
        (None, error) => DockerError::Broken {
            doing: format!("reach the agent in container {}", container.name()),
            source: error.into(),
        },
    }
}
