use crate::LoadOptions;
use crate::compose::compose;
use crate::config::{self, Config};
use crate::diagnostic::{Checked, Diagnostic, Diagnostics};
use crate::inputs::{self, Interpolation, no_header_files};
use crate::resolve::{self, ResolvedPipeline};
use crate::yaml::{Limits, Node, load};
use std::sync::Arc;

/// The errors about something that is not there, which an included file could bring.
const LACKING: [&str; 4] = [
    "missing-script",
    "no-jobs",
    "unknown-base",
    "unknown-reference",
];

/// A pipeline file that was read: every keyword with its place, nothing inherited yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    config: Config,
}

impl Pipeline {
    /// Reads a pipeline file on its own; `name` is what messages call it.
    pub fn from_text(name: &str, text: &str) -> Checked<Self> {
        Self::load(name, text, &LoadOptions::default())
    }

    /// Reads a pipeline file with all that belongs to it; `name` is its path relative to the
    /// project, and what messages call it.
    ///
    /// All mistakes are reported at once, as far as one does not hide another: a text that is no
    /// YAML has no keywords, and an `extends` that leads nowhere leaves nothing to check.
    pub fn load(name: &str, text: &str, options: &LoadOptions<'_>) -> Checked<Self> {
        let limits = &options.limits;
        let mut diagnostics = Diagnostics::default();
        if text.len() > limits.bytes {
            let (size, most) = (text.len(), limits.bytes);
            let message = format!("{name} has {size} bytes; at most {most} are read");
            diagnostics.push(Diagnostic::error("file-too-large", message));
            return Checked {
                value: None,
                diagnostics,
            };
        }
        let file = diagnostics.sources_mut().add(name, text);
        let interpolation = Interpolation::default();
        let config = load(file, limits, &mut diagnostics)
            .and_then(|loaded| {
                inputs::apply(
                    &loaded,
                    &interpolation,
                    &mut no_header_files,
                    &mut diagnostics,
                )
            })
            .and_then(|root| read(&root, limits, &mut diagnostics));
        Checked {
            value: config.map(|config| Self { config }),
            diagnostics,
        }
    }

    /// Returns the keywords.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Applies defaults and variables, unfolds `parallel` and checks all names.
    pub fn resolve(&self, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
        resolve::resolve(&self.config, diagnostics)
    }
}

/// Reads the keywords of a loaded file, as far as its errors let it.
fn read(root: &Arc<Node>, limits: &Limits, diagnostics: &mut Diagnostics) -> Option<Config> {
    if root.as_mapping().is_none() {
        let message = format!(
            "a pipeline file is a hash of jobs and keywords, not {}",
            root.kind_name()
        );
        diagnostics.push(Diagnostic::error("invalid-file", message).at(root.span));
        return None;
    }
    config::check_unsupported(root, diagnostics);
    let composed = compose(root, limits, diagnostics);
    let config = composed.and_then(|root| config::read(&root, diagnostics));
    if config::has_includes(root) {
        diagnostics.take_back(&LACKING);
        return None;
    }
    config
}

impl ResolvedPipeline {
    /// Reads and resolves a pipeline file; `name` is what messages call it.
    pub fn from_text(name: &str, text: &str) -> Checked<Self> {
        Pipeline::from_text(name, text)
            .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)))
    }
}
