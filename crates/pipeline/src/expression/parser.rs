use super::ExpressionError;
use super::token::{Token, TokenKind};
use super::tree::{Comparison, Node, NodeKind, Operator, RecentPattern, Tree};
use crate::pattern::Pattern;
use std::ops::Range;

/// Builds the tree of an expression with two stacks.
///
/// Two stacks alone would also accept postfix operators (`$A $B ==`). So the order of the tokens is
/// checked first, which also locates mistakes.
pub(super) fn tree(text: &str, tokens: &[Token<'_>]) -> Result<Tree, ExpressionError> {
    check_order(text, tokens)?;
    let mut parser = Parser::default();
    parser.run(tokens)?;
    Ok(Tree {
        nodes: parser.nodes,
    })
}

#[derive(Default)]
struct Parser {
    nodes: Vec<Node>,
    /// Nodes that are not yet an operand.
    operands: Vec<usize>,
    /// Operators and open parentheses that wait for operands.
    waiting: Vec<Waiting>,
}

struct Waiting {
    sign: Sign,
    range: Range<usize>,
}

/// A pending operator or parenthesis.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Not,
    Comparison(Operator),
    Both,
    Either,
    Parenthesis,
}

impl Sign {
    /// Returns its rank; a lower rank binds tighter.
    fn rank(self) -> u8 {
        match self {
            Self::Not => 0,
            Self::Comparison(_) => 1,
            Self::Both => 2,
            Self::Either => 3,
            Self::Parenthesis => 4,
        }
    }
}

impl Parser {
    fn run(&mut self, tokens: &[Token<'_>]) -> Result<(), ExpressionError> {
        for token in tokens {
            self.take(token)?;
        }
        while let Some(waiting) = self.waiting.pop() {
            self.apply(&waiting);
        }
        Ok(())
    }

    fn take(&mut self, token: &Token<'_>) -> Result<(), ExpressionError> {
        let range = token.range.clone();
        match token.kind {
            TokenKind::Close => self.close(&range),
            TokenKind::Open => self.wait(Sign::Parenthesis, range),
            TokenKind::Not => self.wait(Sign::Not, range),
            TokenKind::Both => self.operator(Sign::Both, range),
            TokenKind::Either => self.operator(Sign::Either, range),
            TokenKind::Comparison(operator) => self.operator(Sign::Comparison(operator), range),
            TokenKind::Input(name) => self.push(NodeKind::Input(name.to_owned()), range),
            TokenKind::Variable(name) => self.push(NodeKind::Variable(name.to_owned()), range),
            TokenKind::Text(text) => self.push(NodeKind::Text(text.to_owned()), range),
            TokenKind::Null => self.push(NodeKind::Null, range),
            TokenKind::Boolean(flag) => self.push(NodeKind::Boolean(flag), range),
            TokenKind::Pattern(literal) => {
                let pattern = Pattern::from_literal(literal);
                let error = |error| ExpressionError::pattern(range.clone(), error);
                let pattern = NodeKind::Pattern(pattern.map_err(error)?);
                self.push(pattern, range);
            }
        }
        Ok(())
    }

    fn push(&mut self, kind: NodeKind, range: Range<usize>) {
        self.operands.push(self.nodes.len());
        self.nodes.push(Node { kind, range });
    }

    fn wait(&mut self, sign: Sign, range: Range<usize>) {
        self.waiting.push(Waiting { sign, range });
    }

    /// Adds a binary operator, after applying pending operators that bind as tightly.
    fn operator(&mut self, sign: Sign, range: Range<usize>) {
        self.apply_up_to(sign);
        self.wait(sign, range);
    }

    fn apply_up_to(&mut self, sign: Sign) {
        let rank = sign.rank();
        while let Some(waiting) = self.waiting.pop_if(|waiting| waiting.sign.rank() <= rank) {
            self.apply(&waiting);
        }
    }

    fn close(&mut self, range: &Range<usize>) {
        self.apply_up_to(Sign::Either);
        // The range of the inner node includes its parentheses, for display.
        if let (Some(open), Some(&inner)) = (self.waiting.pop(), self.operands.last()) {
            self.nodes[inner].range = open.range.start..range.end;
        }
    }

    fn apply(&mut self, waiting: &Waiting) {
        let right = self.operand();
        let left = match waiting.sign {
            Sign::Not | Sign::Parenthesis => right,
            Sign::Comparison(_) | Sign::Both | Sign::Either => self.operand(),
        };
        let kind = match waiting.sign {
            Sign::Both => NodeKind::Both(left, right),
            Sign::Either => NodeKind::Either(left, right),
            Sign::Comparison(operator) => NodeKind::Comparison(Comparison {
                operator,
                left,
                right,
                recent: RecentPattern::default(),
            }),
            // A parenthesis is never applied: each is closed.
            Sign::Not | Sign::Parenthesis => NodeKind::Not(right),
        };
        let start = waiting.range.start.min(self.nodes[left].range.start);
        let end = self.nodes[right].range.end;
        self.push(kind, start..end);
    }

    fn operand(&mut self) -> usize {
        let operand = self.operands.pop();
        operand.expect("the order of the tokens was checked")
    }
}

/// Checks that each token can follow its predecessor, and that the end is complete.
fn check_order(text: &str, tokens: &[Token<'_>]) -> Result<(), ExpressionError> {
    let mut needs_value = true;
    let mut open: Vec<&Token<'_>> = Vec::new();
    for token in tokens {
        let shown = &text[token.range.clone()];
        let error = |message: String| Err(ExpressionError::new(token.range.clone(), message));
        match token.kind {
            TokenKind::Open | TokenKind::Not if needs_value => {
                if token.kind == TokenKind::Open {
                    open.push(token);
                }
            }
            TokenKind::Close if needs_value => {
                return error("an operand is missing before `)`".to_owned());
            }
            TokenKind::Close => {
                if open.pop().is_none() {
                    return error("the parenthesis `)` closes nothing".to_owned());
                }
            }
            TokenKind::Both | TokenKind::Either | TokenKind::Comparison(_) => {
                if needs_value {
                    return error(format!("an operand is missing before `{shown}`"));
                }
                needs_value = true;
            }
            _ if needs_value => needs_value = false,
            _ => {
                let message = format!("an operator is missing before `{shown}`");
                let error = ExpressionError::new(token.range.clone(), message);
                return Err(error.with_help("join conditions with `&&` or `||`"));
            }
        }
    }
    if needs_value {
        let Some(last) = tokens.last() else {
            return Err(ExpressionError::new(
                0..text.len(),
                "the expression is empty",
            ));
        };
        let shown = &text[last.range.clone()];
        let message = format!("an operand is missing after `{shown}`");
        return Err(ExpressionError::new(last.range.clone(), message));
    }
    let Some(unclosed) = open.pop() else {
        return Ok(());
    };
    let message = "the parenthesis `(` is never closed";
    Err(ExpressionError::new(unclosed.range.clone(), message).with_help("add a `)`"))
}
