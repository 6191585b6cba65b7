use super::input::{InputDefinition, InputRule};
use super::passed_inputs::{Interpolation, PassedInput};
use super::text::text_of;
use super::value::Role;
use crate::expression::Variables;
use indexmap::{IndexMap, IndexSet};
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::suggest::did_you_mean;
use yaml::{Kind, Node};

/// How many mistyped names get a suggestion.
const MOST_ADVICE: usize = 50;

/// The values of the inputs, in the order of their declarations.
pub(super) type Values = IndexMap<Arc<str>, Arc<Node>>;

/// Resolves the value of each declared input; errors are added to `collected`.
pub(super) fn resolve(
    definitions: &[InputDefinition],
    interpolation: &Interpolation<'_>,
    collected: &mut Vec<Diagnostic>,
) -> Values {
    let everywhere = interpolation.everywhere.iter();
    let everywhere = everywhere.filter_map(|input| input.of(definitions));
    let passed = interpolation.passed.iter();
    let given = passed.chain(everywhere).chain(interpolation.chosen);
    let given: IndexMap<&str, &PassedInput> =
        given.map(|input| (input.name.as_ref(), input)).collect();
    check_unknown(definitions, &given, collected);

    let mut known = Known::default();
    for input in given.values() {
        known.add(&input.name, &input.value);
    }
    let mut values = Values::new();
    for definition in definitions {
        let input = given.get(definition.name.as_ref()).copied();
        if let Some(value) = value_of(definition, input, interpolation, &known, collected) {
            // As in GitLab, a passed value takes precedence over a computed one.
            if input.is_none() {
                known.add(&definition.name, &value);
            }
            values.insert(Arc::clone(&definition.name), value);
        }
    }
    values
}

fn check_unknown(
    definitions: &[InputDefinition],
    given: &IndexMap<&str, &PassedInput>,
    collected: &mut Vec<Diagnostic>,
) {
    let names: IndexSet<&str> = definitions
        .iter()
        .map(|definition| definition.name.as_ref())
        .collect();
    let unknown = given.values().filter(|input| !names.contains(&*input.name));
    for (at, input) in unknown.enumerate() {
        let message = format!("unknown input arguments: {}", input.name);
        let nearest = (at < MOST_ADVICE).then(|| did_you_mean(&input.name, names.iter().copied()));
        let help = nearest.flatten().or_else(|| {
            let known: Vec<&str> = names.iter().copied().take(10).collect();
            (!known.is_empty()).then(|| format!("the file declares: {}", known.join(", ")))
        });
        let diagnostic = Diagnostic::error("unknown-input", message).at(input.span);
        collected.push(diagnostic.with_help(help));
    }
}

/// Returns the value of one input; nothing after an error.
fn value_of(
    definition: &InputDefinition,
    input: Option<&PassedInput>,
    interpolation: &Interpolation<'_>,
    known: &Known,
    collected: &mut Vec<Diagnostic>,
) -> Option<Arc<Node>> {
    let InputDefinition { name, kind, .. } = definition;
    let counts = |input: &&PassedInput| match &input.value.kind {
        Kind::Null => false,
        Kind::String(text) => definition.rules.is_none() || !text.is_empty(),
        _ => true,
    };
    let input = input.filter(counts);
    let rule = matching_rule(definition, known);
    let (default, options) = match (&definition.rules, rule) {
        (None, _) => (definition.default.as_ref(), definition.options.as_deref()),
        (Some(_), Some(rule)) => (rule.default.as_ref(), Some(rule.options.as_slice())),
        (Some(_), None) => (None, None),
    };

    let mut problems = Vec::new();
    if let Some(default) = default {
        let value = kind.coerce(default);
        let found = definition.problems(&value, Role::Default, options);
        problems.extend(found.into_iter().map(|problem| (problem, default.span)));
    }
    if let Some(input) = input {
        let value = kind.coerce(&input.value);
        let found = definition.problems(&value, Role::Provided, options);
        problems.extend(found.into_iter().map(|problem| (problem, input.value.span)));
    }
    let help = options
        .filter(|options| !options.is_empty())
        .map(|options| {
            let options: Vec<String> = options
                .iter()
                .filter_map(|option| text_of(option))
                .collect();
            format!("the options are: {}", options.join(", "))
        });
    let is_valid = problems.is_empty();
    for (problem, span) in problems {
        let help = help.clone().filter(|_| problem.contains("allowed options"));
        let message = format!("`{name}` input: {problem}");
        let mut diagnostic = Diagnostic::error("invalid-input", message)
            .at(span)
            .with_help(help);
        if span != definition.key_span {
            diagnostic = diagnostic.with_related(definition.key_span, "declared here");
        }
        collected.push(diagnostic);
    }
    if !is_valid {
        return None;
    }
    let value = input.map(|input| &input.value).or(default);
    if value.is_none() {
        collected.push(missing(definition, interpolation));
    }
    value.map(|value| kind.coerce(value))
}

fn missing(definition: &InputDefinition, interpolation: &Interpolation<'_>) -> Diagnostic {
    let name = &definition.name;
    let message = format!("`{name}` input: required value has not been provided");
    let diagnostic = Diagnostic::error("missing-input", message);
    match interpolation.site {
        Some(site) => diagnostic
            .at(site)
            .with_related(definition.key_span, "declared here, without a `default`")
            .with_help(format!("pass it: `inputs: {{{name}: ...}}`")),
        None => diagnostic.at(definition.key_span).with_help(format!(
            "pass it with `--input {name}=...`, or add a `default` here"
        )),
    }
}

fn matching_rule<'d>(definition: &'d InputDefinition, known: &Known) -> Option<&'d InputRule> {
    let rules = definition.rules.as_ref()?;
    rules.iter().find(|rule| {
        let condition = rule.condition.as_ref();
        condition.is_none_or(|condition| condition.is_true(known))
    })
}

/// The values of inputs as text, for conditions.
#[derive(Debug, Default)]
struct Known {
    texts: IndexMap<Arc<str>, String>,
}

impl Known {
    fn add(&mut self, name: &Arc<str>, value: &Node) {
        self.texts
            .insert(Arc::clone(name), text_of(value).unwrap_or_default());
    }
}

impl Variables for Known {
    fn get(&self, _name: &str) -> Option<&str> {
        None
    }

    fn input(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}
