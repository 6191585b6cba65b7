use crate::Origins;
use crate::config::Config;
use crate::merged::ServerNeeds;
use crate::resolve::{self, ResolvedPipeline};
use std::sync::Arc;
use yaml::Node;
use yaml::diagnostic::{Checked, Diagnostics};

/// A pipeline file after reading: every keyword with its location, nothing inherited yet.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) config: Config,
    pub(crate) tree: Arc<Node>,
    pub(crate) origins: Arc<Origins>,
    /// The needs a server reported; absent for files merged locally.
    pub(crate) needs: Option<ServerNeeds>,
    /// The number of ancestor pipelines.
    pub(crate) depth: usize,
}

impl Pipeline {
    /// Returns the number of ancestor pipelines: 0 for the pipeline of a project's own file.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the keywords.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the whole tree, with includes, `extends` and references resolved.
    pub fn tree(&self) -> &Arc<Node> {
        &self.tree
    }

    /// Returns the origins of the tree's values.
    pub fn origins(&self) -> &Arc<Origins> {
        &self.origins
    }

    /// Applies defaults and variables, expands `parallel` and checks all names.
    pub fn resolve(&self, diagnostics: &mut Diagnostics) -> ResolvedPipeline {
        let mut resolved = resolve::resolve(&self.config, diagnostics);
        resolved.tree = Some(Arc::clone(&self.tree));
        if let Some(needs) = &self.needs {
            needs.apply(&mut resolved, &self.tree);
        }
        resolved
    }
}

impl ResolvedPipeline {
    /// Reads and resolves a pipeline file; messages call it `name`.
    pub fn from_text(name: &str, text: &str) -> Checked<Self> {
        Pipeline::from_text(name, text)
            .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, Overlay};

    #[test]
    fn an_overlay_is_merged_over_included_files() {
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
    fn a_broken_overlay_hides_no_mistakes_of_the_file() {
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
