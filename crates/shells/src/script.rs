use crate::git::GitPlan;
use crate::helper::HelperStage;
use crate::posix::Posix;
use crate::powershell::PowerShell;
use crate::quote::refuse_nul;
use crate::user::UserCommand;
use crate::writer::Writer;
use crate::{ScriptError, ScriptOptions};
use executor_core::job::{HookName, Job, Step};
use executor_core::shell::{ShellDialect, ShellInfo};
use executor_core::stage::BuildStage;

/// The complete script of one stage.
///
/// It can be passed to a shell on standard input or as a file, with the same effect. The user's
/// commands have an empty standard input either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    stage: BuildStage,
    dialect: ShellDialect,
    text: String,
}

impl Script {
    /// Returns its stage.
    pub fn stage(&self) -> &BuildStage {
        &self.stage
    }

    /// Returns the dialect of its shell.
    pub fn dialect(&self) -> ShellDialect {
        self.dialect
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text as an owned string.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns the file extension for the text, without the dot.
    pub fn extension(&self) -> &'static str {
        if self.dialect.is_posix() { "sh" } else { "ps1" }
    }
}

/// The input for the scripts of one job.
///
/// It contains no values of variables. The scripts expect these in their environment:
/// [`PROJECT_DIR`](crate::PROJECT_DIR), [`TEMP_DIR`](crate::TEMP_DIR) and
/// [`ENV_FILE`](crate::ENV_FILE), and the job's variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobScripts {
    /// The shell's dialect; `None` means the platform's default.
    pub dialect: Option<ShellDialect>,
    /// The options.
    pub options: ScriptOptions,
    /// The runner's host, printed at the start.
    pub runner: String,
    /// The steps, including `after_script`.
    pub steps: Vec<Step>,
    /// How the sources are fetched; an empty plan fetches none.
    pub sources: GitPlan,
    /// The calls of the helper command in the next stage that fetches or stores files; by default there are none.
    pub helper: HelperStage,
    /// Whether the last stage removes the working tree.
    pub removes_project: bool,
    /// Commands before the sources are fetched, run in the shell's initial directory.
    pub pre_get_sources: Vec<String>,
    /// Commands after the sources are fetched, run in the working tree.
    pub post_get_sources: Vec<String>,
    /// Commands before those of a step, in the same shell.
    pub pre_build: Vec<String>,
    /// Commands after those of a step, in the same shell.
    pub post_build: Vec<String>,
    /// Whether no script of the job has run before, so that the user's script need not read
    /// [`ENV_FILE`](crate::ENV_FILE).
    pub is_first: bool,
}

impl JobScripts {
    /// Collects the commands of `job` and of the operator's `shell`, in order.
    ///
    /// The sources are not included; set [`JobScripts::sources`] if a script must fetch them.
    pub fn new(shell: &ShellInfo, job: &Job) -> Self {
        let hooks = |name: HookName| {
            let hooks = job.hooks.iter().filter(move |hook| hook.name == name);
            hooks.flat_map(|hook| hook.script.iter().cloned())
        };
        let operator = |text: &str| [text.to_owned()];
        Self {
            dialect: Some(shell.dialect),
            options: ScriptOptions::default(),
            runner: String::new(),
            steps: job.steps.clone(),
            sources: GitPlan::default(),
            helper: HelperStage::default(),
            removes_project: false,
            pre_get_sources: operator(&shell.pre_get_sources_script)
                .into_iter()
                .chain(hooks(HookName::PreGetSources))
                .collect(),
            post_get_sources: hooks(HookName::PostGetSources)
                .chain(operator(&shell.post_get_sources_script))
                .collect(),
            pre_build: operator(&shell.pre_build_script).to_vec(),
            post_build: operator(&shell.post_build_script).to_vec(),
            is_first: false,
        }
    }

    /// Returns the script of `stage`; `None` if there is nothing to do and the stage is skipped.
    ///
    /// Stages of caches and artifacts are those of [`JobScripts::helper`]: where the runner reaches the files itself,
    /// they have no script.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Nul`] if one of the commands contains a NUL byte.
    pub fn script(&self, stage: &BuildStage) -> Result<Option<Script>, ScriptError> {
        let dialect = self.dialect.unwrap_or_else(ShellDialect::platform_default);
        let mut writer = self.writer(dialect);
        if !self.write(stage, writer.as_mut()) {
            return Ok(None);
        }
        let text = writer.finish();
        refuse_nul(&text)?;
        Ok(Some(Script {
            stage: stage.clone(),
            dialect,
            text,
        }))
    }

    fn writer(&self, dialect: ShellDialect) -> Box<dyn Writer> {
        match dialect {
            ShellDialect::Sh | ShellDialect::Bash => {
                Box::new(Posix::new(dialect, self.options.clone()))
            }
            ShellDialect::Pwsh | ShellDialect::PowerShell => {
                Box::new(PowerShell::new(dialect, self.options.clone()))
            }
        }
    }

    /// Writes the body of `stage`; returns whether there is one.
    fn write(&self, stage: &BuildStage, writer: &mut dyn Writer) -> bool {
        match stage {
            BuildStage::PrepareScript => self.write_prepare(writer),
            BuildStage::GetSources => self.write_sources(writer),
            BuildStage::ClearWorktree => self.write_clear(writer),
            BuildStage::Step(name) => self.write_step(name, writer),
            BuildStage::AfterScript => self.write_after_script(writer),
            BuildStage::CleanupFileVariables => self.write_cleanup(writer),
            BuildStage::RestoreCache
            | BuildStage::DownloadArtifacts
            | BuildStage::ArchiveCache
            | BuildStage::ArchiveCacheOnFailure
            | BuildStage::UploadArtifactsOnSuccess
            | BuildStage::UploadArtifactsOnFailure => self.write_helper(writer),
            BuildStage::ResolveSecrets | BuildStage::StepRun => false,
        }
    }

    fn write_prepare(&self, writer: &mut dyn Writer) -> bool {
        writer.greet(&self.runner);
        writer.make_directories();
        true
    }

    fn write_sources(&self, writer: &mut dyn Writer) -> bool {
        let before = UserCommand::all(&self.pre_get_sources);
        let after = UserCommand::all(&self.post_get_sources);
        let has_sources = !self.sources.steps.is_empty() || !self.helper.groups.is_empty();
        if before.is_empty() && after.is_empty() && !has_sources {
            return false;
        }
        writer.import_environment();
        writer.commands(&before);
        writer.plan(&self.sources);
        self.write_helper(writer);
        if !after.is_empty() {
            writer.enter_project();
            writer.commands(&after);
        }
        true
    }

    fn write_helper(&self, writer: &mut dyn Writer) -> bool {
        if self.helper.groups.is_empty() {
            return false;
        }
        writer.helper(&self.helper);
        true
    }

    fn write_clear(&self, writer: &mut dyn Writer) -> bool {
        if self.sources.steps.is_empty() {
            return false;
        }
        writer.plan(&GitPlan::clear());
        true
    }

    fn write_step(&self, name: &str, writer: &mut dyn Writer) -> bool {
        let commands = self.step_commands(name);
        if commands.is_empty() {
            return false;
        }
        let mut all = UserCommand::all(&self.pre_build);
        all.extend(commands);
        all.extend(UserCommand::all(&self.post_build));
        self.write_user_stage(&all, writer);
        true
    }

    fn write_after_script(&self, writer: &mut dyn Writer) -> bool {
        let commands = self.step_commands(Step::AFTER_SCRIPT);
        if commands.is_empty() {
            return false;
        }
        self.write_user_stage(&commands, writer);
        true
    }

    fn write_user_stage(&self, commands: &[UserCommand<'_>], writer: &mut dyn Writer) {
        if !self.is_first {
            writer.import_environment();
        }
        writer.enter_project();
        writer.commands(commands);
    }

    fn write_cleanup(&self, writer: &mut dyn Writer) -> bool {
        if self.options.job_cleanup {
            writer.plan(&self.sources.cleanup());
        }
        if self.removes_project {
            writer.remove_project();
        }
        writer.remove_private_directory();
        true
    }

    fn step_commands(&self, name: &str) -> Vec<UserCommand<'_>> {
        let steps = self.steps.iter().filter(|step| step.name == name);
        steps
            .flat_map(|step| UserCommand::all(&step.script))
            .collect()
    }
}
