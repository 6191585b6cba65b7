//! Reads texts into a [`Pipeline`].

use crate::compose::{compose, merge};
use crate::config;
use crate::include::{self, Tree};
use crate::merged::{self, ServerNeeds, ServerReading};
use crate::pipeline::Pipeline;
use crate::{LoadOptions, Overlay};
use indexmap::IndexMap;
use std::sync::Arc;
use yaml::diagnostic::{Checked, Diagnostic, Diagnostics, Unread};
use yaml::source::{FileId, SourceMap};
use yaml::{Node, load};

/// The deepest level of child pipelines: a child, and its child.
const DEEPEST_CHILD: usize = 2;

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
}

/// Reads a pipeline file with its includes and overlays.
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

/// Reads the child pipeline from `include` of a trigger.
fn read_child(
    parent: &Pipeline,
    include: &Arc<Node>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let depth = parent.depth + 1;
    if depth > DEEPEST_CHILD {
        let message = format!("child pipelines are nested more than {DEEPEST_CHILD} levels deep");
        let error = Diagnostic::error("child-too-deep", message).at(include.span);
        let help = "move its jobs into this pipeline, or start it from the parent pipeline";
        diagnostics.push(error.with_help(help.to_owned()));
        return None;
    }
    let options = LoadOptions {
        inputs: IndexMap::new(),
        inputs_file: None,
        overlays: &[],
        ..options.clone()
    };
    let mut tree = include::read_child(include, &options, diagnostics);
    // The includes of the child's files stand in files of the parent.
    tree.origins.extend((*parent.origins).clone());
    let child = finish(tree, None, &options, diagnostics)?;
    Some(Pipeline { depth, ..child })
}

/// Reads the configuration that a server merged from a file.
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

/// Reads the merged text itself.
fn finish_merged(
    merged: Option<FileId>,
    reading: &ServerReading<'_>,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Pipeline> {
    let Some(merged) = merged else {
        let message = format!("{} returned no merged configuration", reading.server);
        let help = "omit `--prefer-api` to read the file locally";
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

/// Adds a text to the sources, unless it is too long.
fn add(name: &str, text: &str, most: usize, diagnostics: &mut Diagnostics) -> Option<FileId> {
    if text.len() > most {
        // The caller may have read only as much of the file as exceeds the limit.
        let message = format!("{name} is larger than the limit of {most} bytes");
        diagnostics.push(Diagnostic::error("file-too-large", message));
        return None;
    }
    Some(diagnostics.sources_mut().add(name, text))
}

/// Merges the overlays over a file and reads its keywords; `extended` is a file whose `extends` are
/// already applied.
fn finish(
    tree: Tree,
    extended: Option<FileId>,
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
            // Mistakes of the other files are still reported.
            diagnostics.note_unread(Unread::Files);
            continue;
        };
        root = merge(root, &over.root, &mut keys_left)?;
        origins.extend(over.origins);
    }
    let tree = compose(&root, extended, &options.limits, diagnostics);
    // The uncomposed tree can be as large as the composed one: free it before reading on.
    drop(root);
    let config = config::read(&tree, diagnostics)?;
    Some(Pipeline {
        config,
        tree,
        origins: Arc::new(origins),
        needs: None,
        depth: 0,
    })
}

/// Reads an overlay with its includes.
fn read_overlay(
    overlay: &Overlay,
    options: &LoadOptions<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Tree> {
    let options = LoadOptions {
        inputs: IndexMap::new(),
        inputs_file: None,
        ..options.clone()
    };
    let file = diagnostics
        .sources_mut()
        .add(&*overlay.name, &*overlay.text);
    let loaded = load(file, &options.limits, diagnostics)?;
    include::read(&overlay.name, file, &loaded, &options, diagnostics)
}
