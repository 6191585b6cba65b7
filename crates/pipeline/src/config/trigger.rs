use super::Spanned;
use super::child;
use super::reader::{Field, Reader};
use serde_json::{Value, json};

/// `trigger`: the pipeline that a job starts instead of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// Where that pipeline is.
    pub target: TriggerTarget,
    /// How its result determines that of the job; absent means that the job succeeds once it is
    /// started.
    pub strategy: Option<Strategy>,
    /// The variables passed to it.
    pub forward: Forward,
    /// The keyword as written; a plain project becomes `{project}`.
    pub written: Value,
}

/// Where a triggered pipeline is.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerTarget {
    /// In another project.
    Project {
        /// The project's path; it may contain variables.
        project: Spanned<String>,
        /// The branch; absent means the default one.
        branch: Option<String>,
    },
    /// In this project, from files.
    Child {
        /// The jobs whose artifacts contain such a file, each with the location of its name.
        generators: Vec<Spanned<String>>,
    },
}

/// How the result of a triggered pipeline determines that of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// The job waits and succeeds or fails like the pipeline.
    Depend,
    /// The job mirrors the status of the pipeline at all times.
    Mirror,
}

/// The variables passed to a triggered pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Forward {
    /// Those the file defines for the job.
    pub yaml_variables: bool,
    /// Those that this pipeline was started with.
    pub pipeline_variables: bool,
}

impl Default for Forward {
    fn default() -> Self {
        Self {
            yaml_variables: true,
            pipeline_variables: false,
        }
    }
}

const STRATEGIES: [(&str, Strategy); 2] =
    [("depend", Strategy::Depend), ("mirror", Strategy::Mirror)];

/// Reads `trigger`: a project's path, or a mapping.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Trigger> {
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    if let Some(project) = field.node.as_str() {
        let value = project.to_owned();
        let span = field.node.span;
        return Some(Trigger {
            target: TriggerTarget::Project {
                project: Spanned { value, span },
                branch: None,
            },
            strategy: None,
            forward: Forward::default(),
            written: json!({"project": project}),
        });
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "has to be either a string or a hash");
        return None;
    }
    let has = |key: &str| field.node.get(key).is_some();
    match (has("project"), has("include")) {
        (true, true) => {
            let words = "cannot have `project` and `include` together";
            reader.refuse_part(field, "include", words);
            None
        }
        (_, true) => read_child(reader, field),
        (..) => read_downstream(reader, field),
    }
}

fn read_downstream(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Trigger> {
    let (mut project, mut branch) = (None, None);
    let mut common = Common::default();
    let known = ["project", "branch", "strategy", "forward", "inputs"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "project" => project = read_project(reader, field),
        "branch" => branch = reader.string(field),
        _ => common.read_key(reader, key, field),
    });
    reader.entry(field, "forward", |reader, field| {
        common.forward = read_forward(reader, field);
    });
    if field.node.get("project").is_none_or(|node| node.is_null()) {
        reader.refuse(
            field,
            "needs `project` or `include`: project can't be blank",
        );
    }
    let project = project?;
    Some(common.trigger(field, TriggerTarget::Project { project, branch }))
}

fn read_project(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Spanned<String>> {
    let value = reader.string(field)?;
    if value.trim().is_empty() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    let span = field.node.span;
    Some(Spanned { value, span })
}

fn read_child(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Trigger> {
    let mut generators = None;
    let mut common = Common::default();
    let known = ["include", "strategy", "forward"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "include" => {}
        _ => common.read_key(reader, key, field),
    });
    reader.entry(field, "forward", |reader, field| {
        common.forward = read_forward(reader, field);
    });
    reader.entry(field, "include", |reader, field| {
        generators = child::read(reader, field);
    });
    let generators = match field.node.get("include") {
        Some(node) if node.is_null() => {
            reader.refuse_part(field, "include", "include can't be blank");
            None
        }
        _ => generators,
    }?;
    Some(common.trigger(field, TriggerTarget::Child { generators }))
}

/// The keywords of both kinds of triggers.
#[derive(Default)]
struct Common {
    strategy: Option<Strategy>,
    forward: Forward,
}

impl Common {
    fn read_key(&mut self, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
        match key {
            "strategy" => self.strategy = reader.one_of(field, &STRATEGIES),
            "inputs" => {
                reader.mapping(field);
            }
            _ => {}
        }
    }

    fn trigger(self, field: Field<'_>, target: TriggerTarget) -> Trigger {
        Trigger {
            target,
            strategy: self.strategy,
            forward: self.forward,
            written: field.node.to_json(),
        }
    }
}

fn read_forward(reader: &mut Reader<'_>, field: Field<'_>) -> Forward {
    let mut forward = Forward::default();
    let known = ["yaml_variables", "pipeline_variables"];
    reader.attributes(field, &known, |reader, key, field| {
        let Some(flag) = reader.boolean(field) else {
            return;
        };
        match key {
            "yaml_variables" => forward.yaml_variables = flag,
            _ => forward.pipeline_variables = flag,
        }
    });
    forward
}
