use super::case::{Case, End};
use super::error::JunitError;
use crate::reports::text::has_room;
use executor_core::TestTotals;
use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};

/// The deepest nesting of elements.
const MAX_DEPTH: usize = 200;
/// The longest name; longer ones are cut.
const LONGEST_NAME: usize = 1 << 10;

/// Reads a JUnit report.
///
/// All tests are counted; only the first failed ones are listed. Nothing is fetched, and only XML's five entities are
/// known, so a report can neither grow nor read files.
///
/// # Errors
///
/// When it is not XML, has a document type definition, or is XML of another kind.
pub fn read_junit(text: &str) -> Result<TestTotals, JunitError> {
    let mut report = Report::default();
    let mut reader = Reader::from_str(text);
    loop {
        let begin = reader.buffer_position();
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(JunitError::at(text, reader.error_position(), error)),
        };
        let is_end = matches!(event, Event::Eof);
        report
            .take(event)
            .map_err(|message| JunitError::at(text, begin, message))?;
        if is_end {
            return Ok(report.totals);
        }
    }
}

/// The meaning of an open element.
#[derive(Debug)]
enum Element {
    Suite(Suite),
    Case(Box<Case>),
    /// The `failure` or `error` that decides the result of its case.
    Reason,
    Other,
}

/// The suite of cases.
#[derive(Debug, Clone, Default)]
struct Suite {
    name: String,
    file: Option<String>,
}

#[derive(Debug, Default)]
struct Report {
    totals: TestTotals,
    open: Vec<Element>,
    has_root: bool,
}

impl Report {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(start) => self.begin(&start)?,
            Event::Empty(start) => {
                self.begin(&start)?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text),
            Event::CData(text) => self.text(&text),
            Event::GeneralRef(reference) => {
                let text = resolve(&reference)?;
                self.text(&text);
            }
            Event::DocType(_) => {
                return Err("a document type definition is not read in a report".to_owned());
            }
            Event::Eof if !self.open.is_empty() => {
                return Err("the file ends before its last element does".to_owned());
            }
            Event::Eof if !self.has_root => return Err("there is no element".to_owned()),
            Event::Eof | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
        Ok(())
    }

    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() == MAX_DEPTH {
            return Err(format!("elements stand more than {MAX_DEPTH} deep"));
        }
        let name = start.local_name();
        let name: &str = name.as_ref();
        let is_suite = matches!(name, "testsuites" | "testsuite");
        if self.open.is_empty() {
            if self.has_root {
                return Err("there is more than one root element".to_owned());
            }
            if !is_suite {
                return Err(format!(
                    "`{}` is not the root of a JUnit report: `testsuites` or `testsuite` is",
                    short(name)
                ));
            }
            self.has_root = true;
        }
        let element = match (name, self.open.last_mut()) {
            (_, None | Some(Element::Suite(_))) if is_suite => Element::Suite(self.suite(start)?),
            ("testcase", Some(Element::Suite(suite))) => {
                let suite = suite.clone();
                Element::Case(Box::new(read_case(start, suite)?))
            }
            ("failure" | "error" | "skipped", Some(Element::Case(case))) => {
                let end = match name {
                    "failure" => End::Failed,
                    "error" => End::BrokeDown,
                    _ => End::Skipped,
                };
                let message = attribute(start, "message")?.unwrap_or_default();
                if case.ended(end, message) {
                    Element::Reason
                } else {
                    Element::Other
                }
            }
            _ => Element::Other,
        };
        self.open.push(element);
        Ok(())
    }

    /// Returns a suite, which inherits missing attributes from the suite around it.
    fn suite(&self, start: &BytesStart<'_>) -> Result<Suite, String> {
        let outer = match self.open.last() {
            Some(Element::Suite(suite)) => suite.clone(),
            _ => Suite::default(),
        };
        let name = attribute(start, "name")?.filter(|name| !name.is_empty());
        let file = attribute(start, "file")?.filter(|file| !file.is_empty());
        Ok(Suite {
            name: name.map_or(outer.name, |name| short(&name).to_owned()),
            file: file.map(|file| short(&file).to_owned()).or(outer.file),
        })
    }

    fn end(&mut self) {
        let Some(Element::Case(case)) = self.open.pop() else {
            return;
        };
        let totals = &mut self.totals;
        totals.total += 1;
        totals.seconds += case.seconds;
        match case.end() {
            End::Passed => return,
            End::Skipped => {
                totals.skipped += 1;
                return;
            }
            End::BrokeDown => totals.errors += 1,
            End::Failed => totals.failed += 1,
        }
        if has_room(totals) {
            totals.failures.push(case.into_failed());
        }
    }

    /// Adds text to a case inside its deciding element, at any depth.
    fn text(&mut self, text: &str) {
        let mut inner = self.open.iter_mut().rev();
        let is_reason = inner
            .find(|element| !matches!(element, Element::Other))
            .is_some_and(|element| matches!(element, Element::Reason));
        if is_reason && let Some(Element::Case(case)) = inner.next() {
            case.add_text(text);
        }
    }
}

fn read_case(start: &BytesStart<'_>, suite: Suite) -> Result<Case, String> {
    let text = |name| -> Result<Option<String>, String> {
        let value = attribute(start, name)?.filter(|value| !value.is_empty());
        Ok(value.map(|value| short(&value).to_owned()))
    };
    let mut case = Case::default();
    case.suite = suite.name;
    case.class = text("classname")?.unwrap_or_default();
    case.name = text("name")?.unwrap_or_default();
    case.file = text("file")?.or(suite.file);
    case.line = text("line")?;
    case.seconds = text("time")?.map_or(0.0, |time| seconds(&time));
    Ok(case)
}

/// Returns the value of an attribute.
fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    // Looking for duplicates would take the square of their number.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key = attribute.key.local_name();
        let key: &str = key.as_ref();
        if key == name {
            // Not normalized: line ends in a message are worth keeping.
            let value = unescape(&attribute.value).map_err(|error| error.to_string())?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

fn resolve(reference: &BytesRef<'_>) -> Result<String, String> {
    let character = reference.resolve_char_ref();
    if let Some(character) = character.map_err(|error| error.to_string())? {
        return Ok(character.to_string());
    }
    match resolve_predefined_entity(reference) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("the entity `&{};` is unknown", short(reference))),
    }
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_NAME)]
}

/// Returns a time; some tools write `1,234.5`, and some write no number.
fn seconds(time: &str) -> f64 {
    let time = time.trim().replace(',', "").parse::<f64>();
    time.ok()
        .filter(|time| time.is_finite() && *time > 0.0)
        .unwrap_or(0.0)
}
