use super::includer::Includer;
use super::{FileHome, IncludeError, IncludeSource};
use crate::LoadOptions;
use crate::config::{Field, Path, Reader, RulePlace, read_rules};
use crate::context::{Kept, sort_and_expand};
use crate::repository::{Paths, Repository, RepositoryError};
use crate::rules::{FileConditions, RuleContext, first_match};
use executor_core::job::When;
use executor_core::variable::JobVariables;
use yaml::Node;
use yaml::diagnostic::{Diagnostic, Diagnostics, Unread};

/// Evaluates the `rules` of includes.
#[derive(Debug)]
pub(super) struct Conditions<'o> {
    options: &'o LoadOptions<'o>,
    /// The expanded variables, for globs.
    expanded: JobVariables,
    /// The empty set, for files that see no variables.
    none: JobVariables,
    files: FileConditions<'o>,
}

impl<'o> Conditions<'o> {
    pub(super) fn new(options: &'o LoadOptions<'o>) -> Self {
        let variables: Vec<_> = options.variables.iter().cloned().collect();
        // Cycles among variables are reported when the pipeline is created.
        let expanded = sort_and_expand(variables, Kept::default());
        Self {
            options,
            expanded: expanded.map_or_else(
                |_| options.variables.clone(),
                |expanded| expanded.into_iter().collect(),
            ),
            none: JobVariables::default(),
            files: FileConditions::new(options.repository),
        }
    }

    /// Returns whether the rules of an include select it.
    pub(super) fn select(
        &self,
        rules: &Node,
        includer: &Includer,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let errors = diagnostics.errors().count();
        let include = Path::top("include");
        let path = include.child("rules");
        let field = Field {
            node: rules,
            path: &path,
        };
        let rules = read_rules(&mut Reader::new(diagnostics), field, RulePlace::Include);
        if diagnostics.errors().count() > errors {
            diagnostics.note_unread(Unread::Files);
            return false;
        }
        let rules = rules.entries();
        let home = &includer.home;
        let matched = if *home == FileHome::Own {
            first_match(rules, &self.context(includer, &self.files))
        } else {
            let repository = ForeignRepository {
                home,
                includes: self.options.includes,
                own: self.options.repository,
            };
            let files = FileConditions::new(&repository);
            first_match(rules, &self.context(includer, &files))
        };
        match matched {
            Ok(at) => at.is_some_and(|at| rules[at].when != Some(When::Never)),
            Err(error) => {
                let span = error.span.unwrap_or(field.node.span);
                let refused = Diagnostic::error("include-undecided", error.message.clone());
                diagnostics.push(refused.at(span).with_help(error.help.map(str::to_owned)));
                diagnostics.note_unread(Unread::Files);
                false
            }
        }
    }

    fn context<'c>(
        &'c self,
        includer: &Includer,
        files: &'c FileConditions<'c>,
    ) -> RuleContext<'c> {
        let (variables, expanded) = if includer.knows_variables {
            (&self.options.variables, &self.expanded)
        } else {
            (&self.none, &self.none)
        };
        RuleContext {
            variables,
            expanded,
            files,
        }
    }
}

/// The repository for the rules of a file of another project: `exists` refers to that project.
#[derive(Debug)]
struct ForeignRepository<'e> {
    home: &'e FileHome,
    includes: &'e dyn IncludeSource,
    own: &'e dyn Repository,
}

impl Repository for ForeignRepository<'_> {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        self.own.changed_files()
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        self.own.changed_since(reference)
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        let paths = self.includes.paths(self.home);
        paths.map_err(|error| match error {
            IncludeError::UnknownProject(project) => RepositoryError::UnknownProject(project),
            IncludeError::UnknownReference(name) => RepositoryError::UnknownReference(name),
            other => RepositoryError::Unreadable(other.to_string()),
        })
    }

    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError> {
        self.own.files_of(project, reference)
    }

    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.own.blob_id(path)
    }

    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.own.last_commit_of(path)
    }
}
