use crate::compose::{compose, merge};
use crate::config::{self, Config};
use crate::diagnostic::{Checked, Diagnostic, Diagnostics, Lacks};
use crate::include::{self, Tree};
use crate::resolve::{self, ResolvedPipeline};
use crate::yaml::{Node, load};
use crate::{LoadOptions, Origins, Overlay};
use indexmap::IndexMap;
use std::sync::Arc;

/// A pipeline file that was read: every keyword with its place, nothing inherited yet.
#[derive(Debug, Clone)]
pub struct Pipeline {
    config: Config,
    tree: Arc<Node>,
    origins: Arc<Origins>,
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
        let mut diagnostics = Diagnostics::default();
        let value = read(name, text, options, &mut diagnostics);
        Checked { value, diagnostics }
    }

    /// Returns the keywords.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the whole tree, with everything merged, extended and referred to.
    pub fn tree(&self) -> &Arc<Node> {
        &self.tree
    }

    /// Returns what tells where each value of the tree was written.
    pub fn origins(&self) -> &Arc<Origins> {
        &self.origins
    }

    /// Applies defaults and variables, unfolds `parallel` and checks all names.
    pub fn resolve(&self, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
        resolve::resolve(&self.config, diagnostics)
    }
}

/// Reads a pipeline file, step by step, as far as its errors let it.
fn read(
    name: &str,
    text: &str,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let limits = &options.limits;
    if text.len() > limits.bytes {
        // Who reads a file need not read more of it than is needed to know.
        let message = format!(
            "{name} has more than {} bytes, and no more are read",
            limits.bytes
        );
        diagnostics.push(Diagnostic::error("file-too-large", message));
        return None;
    }
    let file = diagnostics.sources_mut().add(name, text);
    let loaded = load(file, limits, diagnostics)?;
    let Tree {
        mut root,
        mut origins,
    } = include::read(name, file, &loaded, options, diagnostics)?;
    let mut keys_left = u32::MAX;
    for overlay in options.overlays {
        let Some(over) = read_overlay(overlay, options, diagnostics) else {
            // What it lacks need not keep the mistakes of the other files from being shown.
            diagnostics.lack(Lacks::Files);
            continue;
        };
        root = merge(root, &over.root, &mut keys_left)?;
        origins.extend(over.origins);
    }
    let tree = compose(&root, limits, diagnostics);
    // What was merged into other values is as large as what came of it, and has had its day.
    drop((loaded, root));
    let config = config::read(&tree, diagnostics)?;
    Some(Pipeline {
        config,
        tree,
        origins: Arc::new(origins),
    })
}

/// Reads a file that is merged over the pipeline's, with what it includes.
fn read_overlay(
    overlay: &Overlay,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Tree> {
    let options = LoadOptions {
        inputs: IndexMap::new(),
        ..options.clone()
    };
    let file = diagnostics
        .sources_mut()
        .add(&*overlay.name, &*overlay.text);
    let loaded = load(file, &options.limits, diagnostics)?;
    include::read(&overlay.name, file, &loaded, &options, diagnostics)
}

impl ResolvedPipeline {
    /// Reads and resolves a pipeline file; `name` is what messages call it.
    pub fn from_text(name: &str, text: &str) -> Checked<Self> {
        Pipeline::from_text(name, text)
            .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_is_merged_over_what_the_file_includes() {
        let overlays = [Overlay {
            name: "local.yml".to_owned(),
            text: "build: {script: local, tags: null}\nmine: {script: x}\n".to_owned(),
        }];
        let options = LoadOptions {
            overlays: &overlays,
            ..LoadOptions::default()
        };
        let text = "build: {script: make, tags: [a], stage: build}\n";
        let (pipeline, _) = Pipeline::load("p.yml", text, &options)
            .into_result()
            .expect("no errors");
        let tree = pipeline.tree();
        assert_eq!(
            tree.to_json(),
            serde_json::json!({
                "build": {"script": "local", "tags": null, "stage": "build"},
                "mine": {"script": "x"},
            })
        );
        let script = tree
            .get("build")
            .and_then(|job| job.get("script"))
            .expect("there");
        let origin = pipeline.origins().of(script.span).expect("known");
        assert_eq!((origin.file, origin.line), ("local.yml", 1));
    }

    #[test]
    fn a_broken_overlay_hides_no_mistake_of_the_file() {
        let overlays = [Overlay {
            name: "local.yml".to_owned(),
            text: "build: [\n".to_owned(),
        }];
        let options = LoadOptions {
            overlays: &overlays,
            ..LoadOptions::default()
        };
        let text = "build: {script: make, stagee: build, stage: of-the-overlay}\n";
        let mut loaded = Pipeline::load("p.yml", text, &options);
        if let Some(pipeline) = &loaded.value {
            pipeline.resolve(&mut loaded.diagnostics);
        }
        let codes: Vec<&str> = loaded
            .diagnostics
            .errors()
            .map(|error| error.code)
            .collect();
        assert_eq!(codes, ["yaml-syntax", "unknown-keyword"]);
    }
}
