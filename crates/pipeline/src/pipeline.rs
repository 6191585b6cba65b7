use crate::config::Config;
use crate::merged::{ServerNeeds, ServerReading};
use crate::read::{read, read_child, read_merged};
use crate::resolve::{self, ResolvedPipeline};
use crate::{LoadOptions, Origins};
use std::sync::Arc;
use yaml::Node;
use yaml::diagnostic::{Checked, Diagnostics};
use yaml::source::SourceMap;

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
    /// Reads a pipeline file that includes no others; messages call it `name`.
    pub fn from_text(name: &str, text: &str) -> Checked<Self> {
        Self::load(name, text, &LoadOptions::default())
    }

    /// Reads a pipeline file with its includes and overlays; messages call it `name`, its path
    /// relative to the project.
    ///
    /// Reports all mistakes at once, except those that another mistake hides: invalid YAML has no
    /// keywords, and a job whose `extends` is unknown cannot be checked.
    pub fn load(name: &str, text: &str, options: &LoadOptions<'_>) -> Checked<Self> {
        let mut diagnostics = Diagnostics::default();
        let value = read(name, text, options, &mut diagnostics);
        Checked { value, diagnostics }
    }

    /// Reads the configuration that a server merged from a pipeline file; `name` and `text` are
    /// those of the file that was sent to the server.
    ///
    /// The server has resolved includes, inputs, `extends` and references; any that remain are not
    /// followed here. Overlays are merged over the result and may extend its entries. Where the
    /// server reports needs of a job, they replace those of the file.
    pub fn from_merged(
        name: &str,
        text: &str,
        reading: &ServerReading<'_>,
        options: &LoadOptions<'_>,
    ) -> Checked<Self> {
        let mut diagnostics = Diagnostics::default();
        let value = read_merged(name, text, reading, options, &mut diagnostics);
        Checked { value, diagnostics }
    }

    /// Reads the child pipeline that the trigger job `job` of the file starts (`trigger:include`);
    /// `sources` are the texts in this pipeline's [`Diagnostics`]. Returns nothing when the job
    /// starts no child pipeline.
    ///
    /// The child consists of its includes alone: it takes neither inputs nor overlays from the
    /// options, and nothing from this pipeline. Its files may be artifacts of this pipeline's jobs
    /// ([`IncludeLocation::Artifact`](crate::include::IncludeLocation::Artifact)).
    pub fn child(
        &self,
        job: &str,
        sources: &SourceMap,
        options: &LoadOptions<'_>,
    ) -> Option<Checked<Self>> {
        let trigger = self.tree.get(job)?.get("trigger")?;
        let include = trigger.get("include").filter(|node| !node.is_null())?;
        let mut diagnostics = Diagnostics::default();
        diagnostics.sources_mut().clone_from(sources);
        let value = read_child(self, include, options, &mut diagnostics);
        Some(Checked { value, diagnostics })
    }

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
    use crate::Overlay;

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
