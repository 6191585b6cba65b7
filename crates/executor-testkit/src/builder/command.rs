use executor_core::{BuildStage, FileVariable, Placement, StageCommand, StageVariables};
use std::sync::Arc;

/// Builds a [`StageCommand`]: by default the user's script, in `/`, without variables.
///
/// # Examples
///
/// ```
/// use executor_core::BuildStage;
/// use executor_testkit::CommandBuilder;
///
/// let command = CommandBuilder::new("echo \"$WHO\"")
///     .stage(BuildStage::AfterScript)
///     .variable("WHO", "world")
///     .file("CA", *b"-----BEGIN")
///     .build();
/// assert_eq!(command.variables.get("WHO"), Some("world"));
/// ```
#[derive(Debug, Clone)]
pub struct CommandBuilder {
    script: String,
    stage: BuildStage,
    placement: Placement,
    variables: StageVariables,
    working_dir: String,
}

impl CommandBuilder {
    /// Starts with the script's text.
    pub fn new(script: impl Into<String>) -> Self {
        Self {
            script: script.into(),
            stage: BuildStage::script(),
            placement: Placement::User,
            variables: StageVariables::default(),
            working_dir: "/".to_owned(),
        }
    }

    /// Replaces the script's text.
    pub fn script(mut self, script: impl Into<String>) -> Self {
        self.script = script.into();
        self
    }

    /// Sets the stage.
    pub fn stage(mut self, stage: BuildStage) -> Self {
        self.stage = stage;
        self
    }

    /// Sets the placement.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Adds a variable.
    pub fn variable(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.environment.push((key.into(), value.into()));
        self
    }

    /// Adds a variable whose value is passed in a file.
    pub fn file(mut self, key: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.variables.files.push(FileVariable {
            key: key.into(),
            content: content.into(),
        });
        self
    }

    /// Sets the directory it starts in.
    pub fn working_dir(mut self, working_dir: impl Into<String>) -> Self {
        self.working_dir = working_dir.into();
        self
    }

    /// Returns the command.
    pub fn build(self) -> StageCommand {
        StageCommand {
            stage: self.stage,
            script: self.script,
            placement: self.placement,
            variables: Arc::new(self.variables),
            working_dir: self.working_dir,
        }
    }
}
