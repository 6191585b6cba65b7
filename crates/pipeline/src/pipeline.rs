use crate::config::Config;
use crate::merged::{ServerNeeds, ServerReading};
use crate::read::{read, read_child, read_merged};
use crate::resolve::{self, ResolvedPipeline};
use crate::{LoadOptions, Origins};
use std::sync::Arc;
use yaml::Node;
use yaml::diagnostic::{Checked, Diagnostics};
use yaml::source::SourceMap;

/// A pipeline file that was read: every keyword with its place, nothing inherited yet.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) config: Config,
    pub(crate) tree: Arc<Node>,
    pub(crate) origins: Arc<Origins>,
    /// What a server says of needs; absent for files that were read here.
    pub(crate) needs: Option<ServerNeeds>,
    /// How many pipelines are above it.
    pub(crate) depth: usize,
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

    /// Reads what a server made of a pipeline file, in the place of the file itself; `name` and
    /// `text` are what the server was asked about.
    ///
    /// Includes, inputs, `extends` and references are the server's: what it left of them is not
    /// followed here. Overlays are merged over it, and may extend what is in it. Where the server
    /// says so, jobs have the needs that it gave them.
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

    /// Reads the child pipeline that a job of this one triggers from files of the project
    /// (`trigger:include`); `job` is its name in the file, and `sources` are the texts of this
    /// pipeline, of its [`Diagnostics`]. Returns nothing when the job triggers none.
    ///
    /// What it includes is all it has: it takes no inputs and overlays from the options, and nothing
    /// from this pipeline. Its files may be what jobs of this one left
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

    /// Returns how many pipelines are above this one: none for that of a project's own file.
    pub fn depth(&self) -> usize {
        self.depth
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
        let mut resolved = resolve::resolve(&self.config, diagnostics);
        if let Some(needs) = &self.needs {
            needs.give(&mut resolved, &self.tree);
        }
        resolved
    }
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
    use crate::Overlay;

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
