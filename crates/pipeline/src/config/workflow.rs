use super::reader::Spanned;
use super::rules::RulesKeyword;
use crate::rules::AutoCancel;

/// `workflow`: when there is a pipeline, what it is called and what cancels it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workflow {
    /// The pipeline's name, without blanks around it; variables in it are not replaced yet.
    pub name: Option<Spanned<String>>,
    /// The rules of which the first that holds decides.
    pub rules: RulesKeyword,
    /// What is cancelled, and when.
    pub auto_cancel: AutoCancel,
}
