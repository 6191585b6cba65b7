use super::input::InputDefinition;
use super::passed_inputs::{PassedInput, PassedInputs};
use crate::LoadOptions;
use indexmap::IndexMap;
use std::cell::Cell;
use yaml::diagnostic::{Diagnostic, Diagnostics, Unread};
use yaml::source::Span;
use yaml::{Mapping, Node, load};

/// The key of the inputs file for inputs that belong to no component.
const GLOBAL: &str = "_global";

/// The inputs that the user sets, besides those that an `include` passes.
#[derive(Debug, Default)]
pub(crate) struct UserInputs {
    /// Inputs of the pipeline's own file.
    pub(crate) pipeline: Vec<PassedInput>,
    /// Inputs of all files that declare them.
    pub(crate) everywhere: Vec<FileInput>,
    components: IndexMap<String, ComponentInputs>,
}

/// An input for every file that declares it.
#[derive(Debug)]
pub(crate) struct FileInput {
    input: PassedInput,
    is_used: Cell<bool>,
}

#[derive(Debug)]
struct ComponentInputs {
    list: Vec<PassedInput>,
    span: Span,
    is_used: Cell<bool>,
}

impl FileInput {
    /// Returns the input if it is among these definitions.
    pub(super) fn of(&self, definitions: &[InputDefinition]) -> Option<&PassedInput> {
        let mut names = definitions.iter().map(|definition| &definition.name);
        let is_declared = names.any(|name| *name == self.input.name);
        self.is_used.set(self.is_used.get() || is_declared);
        is_declared.then_some(&self.input)
    }
}

impl UserInputs {
    /// Reads the inputs of the options, those of the file first, since others override them.
    pub(crate) fn read(options: &LoadOptions<'_>, diagnostics: &mut Diagnostics) -> Self {
        let mut inputs = Self::default();
        if let Some(file) = options.inputs_file {
            let text = yaml::values_or_null(&file.text);
            let id = diagnostics.sources_mut().add_private(&file.name, text);
            if let Some(loaded) = load(id, &options.limits, diagnostics)
                && !loaded.content.is_null()
            {
                if let Some(mapping) = loaded.content.as_mapping() {
                    inputs.read_file(mapping, diagnostics);
                } else {
                    diagnostics.push(expected("a mapping of inputs", loaded.content.span));
                }
            }
        }
        for input in PassedInputs::from_arguments(&options.inputs, diagnostics).into_vec() {
            match input.name.rsplit_once(':') {
                None => inputs.pipeline.push(input),
                Some((component, name)) => {
                    let (component, name) = (component.to_owned(), name.into());
                    inputs.add(&component, PassedInput { name, ..input });
                }
            }
        }
        inputs
    }

    fn read_file(&mut self, mapping: &Mapping, diagnostics: &mut Diagnostics) {
        let is_section = |name: &str, value: &Node| name == GLOBAL || value.as_mapping().is_some();
        let mut entries = mapping.iter();
        if !entries.any(|(name, entry)| is_section(name, &entry.value)) {
            self.add_everywhere(mapping);
            return;
        }
        for (name, entry) in mapping {
            if entry.value.is_null() {
                continue;
            }
            let Some(section) = entry.value.as_mapping() else {
                let error = expected("a mapping of inputs for each component", entry.key_span);
                let help = format!("put `{name}` into `{GLOBAL}`");
                diagnostics.push(error.with_help(help));
                continue;
            };
            if &**name == GLOBAL {
                self.add_everywhere(section);
                continue;
            }
            for input in PassedInputs::from_mapping(section).into_vec() {
                self.add(name, input);
            }
        }
    }

    fn add_everywhere(&mut self, mapping: &Mapping) {
        let inputs = PassedInputs::from_mapping(mapping).into_vec().into_iter();
        self.everywhere.extend(inputs.map(|input| FileInput {
            input,
            is_used: Cell::new(false),
        }));
    }

    fn add(&mut self, component: &str, input: PassedInput) {
        let of_component = self.components.entry(component.to_owned());
        let of_component = of_component.or_insert_with(|| ComponentInputs {
            list: Vec::new(),
            span: input.span,
            is_used: Cell::new(false),
        });
        of_component.list.push(input);
    }

    /// Returns the inputs that the user sets for a component; `fields` are those of the component.
    pub(crate) fn of_component(&self, fields: &[(String, String)]) -> &[PassedInput] {
        let name = fields.iter().find(|(field, _)| field == "name");
        let found = name.and_then(|(_, name)| self.components.get(name));
        found.map_or(&[], |found| {
            found.is_used.set(true);
            &found.list
        })
    }

    /// Warns about inputs that no file took.
    pub(crate) fn report_unused(&self, diagnostics: &mut Diagnostics) {
        if diagnostics.unread() == Unread::Files {
            return;
        }
        let unused = self.everywhere.iter().filter(|input| !input.is_used.get());
        for FileInput { input, .. } in unused {
            let message = format!("no file declares the input `{}`", input.name);
            diagnostics.push(Diagnostic::warning("unused-input", message).at(input.span));
        }
        for (component, inputs) in &self.components {
            if !inputs.is_used.get() {
                let message =
                    format!("inputs are set for `{component}`, but no such component is included");
                let warning = Diagnostic::warning("unused-input", message).at(inputs.span);
                let help =
                    "a component is named by the last part of its address, without the version";
                diagnostics.push(warning.with_help(help.to_owned()));
            }
        }
    }
}

fn expected(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error("invalid-input", format!("expected {what}")).at(span)
}
