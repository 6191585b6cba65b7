use crate::compose::{compose, merge};
use crate::config::{self, Config};
use crate::diagnostic::{Checked, Diagnostic, Diagnostics, Lacks};
use crate::include::{self, Tree};
use crate::merged::{self, ServerNeeds, ServerReading};
use crate::resolve::{self, ResolvedPipeline};
use crate::source::FileId;
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
    /// What a server says of needs; absent for files that were read here.
    needs: Option<ServerNeeds>,
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

/// Reads a pipeline file, step by step, as far as its errors let it.
fn read(
    name: &str,
    text: &str,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let limits = &options.limits;
    let file = add(name, text, limits.bytes, diagnostics)?;
    let loaded = load(file, limits, diagnostics)?;
    let tree = include::read(name, file, &loaded, options, diagnostics)?;
    drop(loaded);
    finish(tree, None, options, diagnostics)
}

/// Reads what a server made of a file.
fn read_merged(
    name: &str,
    text: &str,
    reading: &ServerReading<'_>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let limits = &options.limits;
    let own = add(name, text, limits.bytes, diagnostics)?;
    let merged = match reading.merged {
        None => None,
        Some(merged) => {
            let name = format!("merged by {}", reading.server);
            let most = limits.bytes.saturating_add(limits.included_bytes);
            Some(add(&name, merged, most, diagnostics)?)
        }
    };
    let pipeline = if reading.errors.is_empty() {
        finish_merged(merged, reading, options, diagnostics)
    } else {
        None
    };
    merged::report(reading, own, merged, limits, diagnostics);
    pipeline
}

/// Reads what a server merged.
fn finish_merged(
    merged: Option<FileId>,
    reading: &ServerReading<'_>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let Some(merged) = merged else {
        let message = format!("{} does not say what the file means", reading.server);
        let help = "without `--prefer-api` the file is read here";
        let error = Diagnostic::error("server-error", message);
        diagnostics.push(error.with_help(help.to_owned()));
        return None;
    };
    let loaded = load(merged, &options.limits, diagnostics)?;
    let tree = Tree::of_whole(merged, &loaded.content, diagnostics)?;
    let mut pipeline = finish(tree, Some(merged), options, diagnostics)?;
    pipeline.needs = Some(ServerNeeds::new(reading.jobs, merged));
    Some(pipeline)
}

/// Adds a text, unless it is too long.
fn add(name: &str, text: &str, most: usize, diagnostics: &mut Diagnostics) -> Option<FileId> {
    if text.len() > most {
        // Who reads a file need not read more of it than is needed to know.
        let message = format!("{name} has more than {most} bytes, and no more are read");
        diagnostics.push(Diagnostic::error("file-too-large", message));
        return None;
    }
    Some(diagnostics.sources_mut().add(name, text))
}

/// Merges the overlays over a file and reads its keywords; `settled` is a file whose `extends` were
/// applied already.
fn finish(
    tree: Tree,
    settled: Option<FileId>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let Tree {
        mut root,
        mut origins,
    } = tree;
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
    let tree = compose(&root, settled, &options.limits, diagnostics);
    // What was merged into other values is as large as what came of it, and has had its day.
    drop(root);
    let config = config::read(&tree, diagnostics)?;
    Some(Pipeline {
        config,
        tree,
        origins: Arc::new(origins),
        needs: None,
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
