//! The syntax tree of expressions.

/// An expression, with the position of its first character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression {
    pub(super) at: usize,
    /// The height of the tree.
    pub(super) height: usize,
    pub(super) node: Node,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    Expression(Expression),
}

impl Part {
    /// Returns the height of its tree.
    pub(super) const fn height(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Expression(expression) => expression.height,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Boolean(bool),
    Number(f64),
    Text(Vec<Part>),
    Array(Vec<Expression>),
    /// Keys may be any expressions.
    Struct(Vec<(Expression, Expression)>),
    Name(String),
    Property(Box<Expression>, String),
    Element(Box<Expression>, Box<Expression>),
    Call(Conversion, Box<Expression>),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
}

/// A conversion function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Str,
    Num,
    Bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Plus,
    Minus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Binary {
    /// Returns the operator of a sign, and its precedence.
    pub(super) fn of(sign: &str) -> Option<(Self, u8)> {
        Some(match sign {
            "||" => (Self::Or, 1),
            "&&" => (Self::And, 2),
            "==" => (Self::Equal, 3),
            "!=" => (Self::NotEqual, 3),
            "<" => (Self::Less, 3),
            "<=" => (Self::LessOrEqual, 3),
            ">" => (Self::Greater, 3),
            ">=" => (Self::GreaterOrEqual, 3),
            "+" => (Self::Add, 4),
            "-" => (Self::Subtract, 4),
            "*" => (Self::Multiply, 5),
            "/" => (Self::Divide, 5),
            "%" => (Self::Remainder, 5),
            _ => return None,
        })
    }
}
