//! The directives and records that a scripted provider and its executors share.

use crate::event::Event;
use crate::scripted::provider::{Lease, ScriptedAbilities};
use crate::scripted::{Directive, Moment};
use crate::timeline::Timeline;
use executor_core::variable::JobVariable;
use executor_core::{
    BuildDirs, ConfigInfo, ExecutorData, FeaturesInfo, PrepareOptions, PreparedEnvironment,
    ShellDialect, ShellInfo, StageCommand, Workspace,
};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) timeline: Timeline,
    state: Mutex<ScriptState>,
}

#[derive(Debug)]
pub(crate) struct ScriptState {
    pub(crate) orders: Vec<(Moment, Directive)>,
    pub(crate) features: FeaturesInfo,
    pub(crate) config_info: ConfigInfo,
    pub(crate) default_shell: Option<ShellDialect>,
    pub(crate) shell: ShellInfo,
    pub(crate) workspace: Workspace,
    pub(crate) planned: Option<Workspace>,
    pub(crate) variables: Vec<JobVariable>,
    pub(crate) abilities: ScriptedAbilities,
    pub(crate) cannot_create: Option<String>,
    pub(crate) cannot_tell_features: Option<String>,
    pub(crate) capacity: Option<usize>,
    /// The executors created with each current lease.
    pub(crate) leases: BTreeMap<u64, Vec<u32>>,
    pub(crate) last_lease: u64,
    pub(crate) last_executor: u32,
    pub(crate) prepared: Vec<PrepareOptions>,
    pub(crate) commands: Vec<StageCommand>,
    pub(crate) violations: Vec<String>,
    /// The executors that were used but not cleaned up.
    pub(crate) open: Vec<u32>,
}

impl Script {
    pub(crate) fn new(timeline: Timeline) -> Self {
        let dirs = BuildDirs {
            builds_dir: "/builds".to_owned(),
            cache_dir: "/cache".to_owned(),
            project_dir: "/builds/group/project".to_owned(),
            temp_dir: "/builds/group/project.tmp".to_owned(),
            shared: false,
        };
        let state = ScriptState {
            orders: Vec::new(),
            features: FeaturesInfo::default(),
            config_info: ConfigInfo::default(),
            default_shell: Some(ShellDialect::Sh),
            shell: ShellInfo::new(ShellDialect::Sh),
            planned: None,
            workspace: Workspace::Remote {
                dirs,
                transfer: None,
            },
            variables: Vec::new(),
            abilities: ScriptedAbilities::default(),
            cannot_create: None,
            cannot_tell_features: None,
            capacity: None,
            leases: BTreeMap::new(),
            last_lease: 0,
            last_executor: 0,
            prepared: Vec::new(),
            commands: Vec::new(),
            violations: Vec::new(),
            open: Vec::new(),
        };
        Self {
            timeline,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.state.lock()
    }

    pub(crate) fn record(&self, event: Event) {
        self.timeline.record(event);
    }

    pub(crate) fn violation(&self, text: String) {
        self.state().violations.push(text);
    }

    /// Ends a lease; a lease that is not current or still in use is a violation.
    pub(crate) fn end_lease(&self, data: &ExecutorData) {
        let mut state = self.state();
        let Some(lease) = data.get::<Lease>() else {
            let text = "provider: release without a lease";
            state.violations.push(text.to_owned());
            return;
        };
        let Some(executors) = state.leases.remove(&lease.number) else {
            let text = format!("provider: lease {} was released twice", lease.number);
            state.violations.push(text);
            return;
        };
        for executor in executors {
            if state.open.contains(&executor) {
                let text = format!("executor({executor}): its lease was released before cleanup");
                state.violations.push(text);
            }
        }
    }

    /// Returns the directive for this moment; by default the call succeeds.
    pub(crate) fn directive(&self, moment: &Moment, job: &str) -> Directive {
        self.state()
            .orders
            .iter_mut()
            .filter(|(ordered, _)| ordered == moment)
            .find_map(|(_, directive)| directive.take(job))
            .unwrap_or_else(Directive::succeed)
    }

    pub(crate) fn environment(&self, shell: ShellInfo) -> PreparedEnvironment {
        let state = self.state();
        PreparedEnvironment {
            shell,
            workspace: state.workspace.clone(),
            hostname: "scripted".to_owned(),
            variables: state.variables.clone(),
        }
    }
}
