//! The language for the semantics of operations (`does` lines).
//!
//! It is p-code written as expressions: a statement assigns to an operand, a flag or a local name, stores, calls, or
//! branches. Operators work on unsigned numbers of the width of their operands; everything that needs a sign, a
//! rounding mode or another width is a function (`sext`, `slt`, `fadd`, `fma`, `carry` …), so that a back end has a
//! name for everything it must implement. Operands and modifiers are named by their slots; `rnd.rz` is true if that
//! modifier has that value, which is known when a word is decoded.
//!
//! ```text
//! r = a + b;
//! d = r;
//! when (cc.cc) { carry = carry(a, b); zero = r == 0; }
//! if (p) { goto t; }
//! d@64 = load(ram, m@64, 64);          an operand as 64 bits: its register and the next
//! d[3] = w;                            the third register after the operand's register
//! ```
//!
//! [`lower`](crate::lower) types statements and lowers them to p-code.

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `place = value;`
    Assign(Destination, Expression),
    /// `function(…);`
    Call(String, Vec<Expression>),
    /// `goto target;`
    Goto(Expression),
    /// `if (…) {…} else {…}`, decided at run time.
    If(Expression, Vec<Statement>, Vec<Statement>),
    /// `when (…) {…} else {…}`, decided by modifiers.
    When(Expression, Vec<Statement>, Vec<Statement>),
}

/// The destination of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// An operand, a flag or a local name.
    pub name: String,
    /// `@64`: the width of an operand whose type does not determine it.
    pub width: Option<u32>,
    /// `[1]`: the register, relative to the operand's.
    pub lane: Option<i32>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number, with its width if given: `0:1`.
    Number(u128, Option<u32>),
    /// An operand, a flag or a local name.
    Name(String),
    /// `slot.value`: whether a modifier has this value.
    Modifier(String, String),
    /// `-`, `~`, `!`
    Unary(&'static str, Box<Expression>),
    /// A binary operator; both sides have the same width.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// A call of a named function.
    Call(String, Vec<Expression>),
    /// `a@64`: an operand with a width in bits.
    Wide(Box<Expression>, u32),
    /// `a[1]`: a register after the operand's, or before it.
    Lane(Box<Expression>, i32),
}

/// The position of a syntax error, and the message.
pub type SyntaxError = (usize, String);

/// Parses statements.
///
/// # Errors
///
/// The position of the first unexpected word, and what was expected.
pub fn parse(text: &str) -> Result<Vec<Statement>, SyntaxError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let mut statements = Vec::new();
    while !parser.at_end() {
        statements.push(parser.statement()?);
    }
    Ok(statements)
}

/// Collects all names that statements use, except functions.
pub fn names(statements: &[Statement], found: &mut Vec<(String, Option<String>)>) {
    fn of(expression: &Expression, found: &mut Vec<(String, Option<String>)>) {
        match expression {
            Expression::Number(..) => {}
            Expression::Name(name) => found.push((name.clone(), None)),
            Expression::Modifier(slot, value) => found.push((slot.clone(), Some(value.clone()))),
            Expression::Unary(_, one) | Expression::Wide(one, _) | Expression::Lane(one, _) => of(one, found),
            Expression::Binary(_, left, right) => {
                of(left, found);
                of(right, found);
            }
            Expression::Call(_, arguments) => arguments.iter().for_each(|argument| of(argument, found)),
        }
    }
    for statement in statements {
        match statement {
            Statement::Assign(_, value) => of(value, found),
            Statement::Call(_, arguments) => arguments.iter().for_each(|argument| of(argument, found)),
            Statement::Goto(target) => of(target, found),
            Statement::If(condition, yes, no) | Statement::When(condition, yes, no) => {
                of(condition, found);
                names(yes, found);
                names(no, found);
            }
        }
    }
}

/// Binary operators by precedence, lowest first.
const OPERATORS: [&[&str]; 9] = [
    &["||", "^^"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
];

/// Unary operators, which bind tighter.
const PRODUCTS: &[&str] = &["*", "/", "%"];

const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), SyntaxError> {
        if self.take(word) { Ok(()) } else { Err((self.at, format!("expected '{word}'"))) }
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(&rest[..end])
    }

    fn statement(&mut self) -> Result<Statement, SyntaxError> {
        let start = self.at;
        let name = self.name().ok_or_else(|| (start, String::from("expected a statement")))?;
        match name {
            "if" | "when" => {
                self.expect("(")?;
                let condition = self.expression(0)?;
                self.expect(")")?;
                let yes = self.block()?;
                let no = if self.take("else") { self.block()? } else { Vec::new() };
                Ok(if name == "if" {
                    Statement::If(condition, yes, no)
                } else {
                    Statement::When(condition, yes, no)
                })
            }
            "goto" => {
                let target = self.expression(0)?;
                self.expect(";")?;
                Ok(Statement::Goto(target))
            }
            _ if self.take("(") => {
                let arguments = self.arguments()?;
                self.expect(";")?;
                Ok(Statement::Call(name.to_owned(), arguments))
            }
            _ => {
                let mut place = Destination { name: name.to_owned(), width: None, lane: None };
                if self.take("@") {
                    place.width = Some(self.small()?);
                } else if self.take("[") {
                    place.lane = Some(self.lane()?);
                    self.expect("]")?;
                }
                self.expect("=")?;
                let value = self.expression(0)?;
                self.expect(";")?;
                Ok(Statement::Assign(place, value))
            }
        }
    }

    fn block(&mut self) -> Result<Vec<Statement>, SyntaxError> {
        self.deeper()?;
        self.expect("{")?;
        let mut statements = Vec::new();
        while !self.take("}") {
            statements.push(self.statement()?);
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, SyntaxError> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.expression(0)?);
        }
        Ok(arguments)
    }

    fn expression(&mut self, level: usize) -> Result<Expression, SyntaxError> {
        let operators = match OPERATORS.get(level) {
            Some(operators) => operators,
            None if level == OPERATORS.len() => &PRODUCTS,
            None => return self.unary(),
        };
        self.deeper()?;
        let mut left = self.expression(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.expression(level + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Consumes one of these operators, unless it is the start of a longer one.
    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        let longer = |operator: &str| {
            ["||", "&&", "^^", "<<", ">>", "<=", ">="]
                .iter()
                .any(|other| other.len() > operator.len() && rest.starts_with(other))
        };
        let found = operators.iter().find(|operator| rest.starts_with(**operator) && !longer(operator))?;
        self.at += found.len();
        Some(found)
    }

    fn unary(&mut self) -> Result<Expression, SyntaxError> {
        self.deeper()?;
        let found = ["-", "~", "!"].into_iter().find(|operator| self.take(operator));
        let result = match found {
            Some(operator) => Ok(Expression::Unary(operator, Box::new(self.unary()?))),
            None => self.postfix(),
        };
        self.depth -= 1;
        result
    }

    fn postfix(&mut self) -> Result<Expression, SyntaxError> {
        let mut inner = self.primary()?;
        loop {
            if self.take("@") {
                inner = Expression::Wide(Box::new(inner), self.small()?);
            } else if self.take("[") {
                inner = Expression::Lane(Box::new(inner), self.lane()?);
                self.expect("]")?;
            } else {
                return Ok(inner);
            }
        }
    }

    fn small(&mut self) -> Result<u32, SyntaxError> {
        let value = self.number()?;
        u32::try_from(value).map_err(|_| (self.at, String::from("expected a small number")))
    }

    /// Parses the number in brackets; -1 is the register below.
    fn lane(&mut self) -> Result<i32, SyntaxError> {
        let is_negative = self.take("-");
        let number =
            i32::try_from(self.small()?).map_err(|_| (self.at, String::from("expected a small number")))?;
        Ok(if is_negative { -number } else { number })
    }

    fn number(&mut self) -> Result<u128, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let value =
            crate::lex::number(&rest[..end]).ok_or_else(|| (self.at, String::from("expected a value")))?;
        self.at += end;
        Ok(value)
    }

    fn primary(&mut self) -> Result<Expression, SyntaxError> {
        if self.take("(") {
            let inner = self.expression(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if let Some(name) = self.name() {
            if self.take("(") {
                return Ok(Expression::Call(name.to_owned(), self.arguments()?));
            }
            if self.text[self.at..].starts_with('.') {
                self.at += 1;
                let value =
                    self.name().ok_or_else(|| (self.at, String::from("expected a modifier's value")))?;
                return Ok(Expression::Modifier(name.to_owned(), value.to_owned()));
            }
            return Ok(Expression::Name(name.to_owned()));
        }
        let value = self.number()?;
        let width = if self.take(":") { Some(self.small()?) } else { None };
        Ok(Expression::Number(value, width))
    }

    fn deeper(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err((self.at, String::from("too deeply nested"))) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        let parsed =
            parse("t = zext(a, 64) + b * 2; when (cc.cc) { carry = bit(t, 32); } else { stop(); }").unwrap();
        assert_eq!(parsed.len(), 2);
        let mut found = Vec::new();
        names(&parsed, &mut found);
        assert!(found.contains(&(String::from("cc"), Some(String::from("cc")))));
        let Statement::Assign(place, Expression::Binary("+", _, right)) = &parsed[0] else { panic!() };
        assert_eq!(place.name, "t");
        assert!(matches!(**right, Expression::Binary("*", _, _)));
    }

    #[test]
    fn syntax_errors_have_positions() {
        assert_eq!(parse("d = ;").unwrap_err().0, 4);
        assert!(parse(&format!("d = {}a;", "(".repeat(100))).is_err());
    }
}
