//! `a, SUM(b) WHERE c > 1 AND d IS NULL LIMIT 10`: the text of a query as data.

use super::columns::Column;
use super::manifest::Manifest;
use super::tokens::{Token, tokens};
use crate::bounds::{Steps, push};
use crate::function::Fault;

/// A query is no longer, and its conditions are nested no deeper: each level takes the server's
/// stack, of which MySQL 5.6 gives 256 KiB to a session.
const QUERY_BYTES_MAX: usize = 4 << 20;
pub const DEPTH_MAX: usize = 32;
/// No call takes more steps, each a value of a row that is looked at.
pub const STEPS_MAX: u64 = 1 << 32;
/// Each column of an answer is held in memory, and each condition reads one.
pub const ITEMS_MAX: usize = 64;
pub const CONDITIONS_MAX: usize = 1000;

/// The steps of a call.
pub fn query_steps() -> Steps {
    Steps::new(STEPS_MAX, "the query looks at more than 4,294,967,296 values of rows")
}

/// What is asked for.
pub struct Query {
    /// The columns of the answer.
    pub items: Vec<Item>,
    /// Which rows.
    pub condition: Condition,
    /// How many rows of the answer are passed over.
    pub skip: u64,
    /// And how many there are then at most.
    pub limit: u64,
}

/// A column of the answer, by its place among the index's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Its values.
    Column(usize),
    /// How many rows.
    CountRows,
    /// An aggregate over it.
    Aggregate(Aggregate, usize),
}

/// What is made of a column's values; NULL is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// How many.
    Count,
    /// How many different ones.
    CountDistinct,
    /// Their sum.
    Sum,
    /// Their mean.
    Average,
    /// The smallest.
    Minimum,
    /// The largest.
    Maximum,
}

const AGGREGATES: [(&str, Aggregate); 6] = [
    ("COUNT", Aggregate::Count),
    ("COUNTDISTINCT", Aggregate::CountDistinct),
    ("SUM", Aggregate::Sum),
    ("AVG", Aggregate::Average),
    ("MIN", Aggregate::Minimum),
    ("MAX", Aggregate::Maximum),
];

/// A condition with SQL's three values.
pub enum Condition {
    /// True of every row.
    Always,
    /// AND.
    All(Vec<Condition>),
    /// OR.
    Any(Vec<Condition>),
    /// XOR.
    Odd(Vec<Condition>),
    /// NOT.
    Not(Box<Condition>),
    /// IS NULL.
    IsNull(usize),
    /// A column's value is in one of these.
    In(usize, Vec<Range>),
}

/// From one bound to another; `None` has no end there.
pub struct Range {
    /// The lower bound, and whether it is inside.
    pub from: Option<(Literal, bool)>,
    /// The upper one.
    pub to: Option<(Literal, bool)>,
}

/// A value to compare with.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// Beside a column of whole numbers: the next whole number below, and whether it is that.
    Whole(i128, bool),
    /// Beside one of reals.
    Real(f64),
    /// Beside one of texts.
    Text(Vec<u8>),
}

/// The query that a text is.
pub fn parse_query(text: &[u8], manifest: &Manifest) -> Result<Query, Fault> {
    let mut parser = Parser::new(text, manifest)?;
    parser.word("SELECT");
    let mut items = vec![parser.item()?];
    while parser.sign(",") {
        items.push(parser.item()?);
        if items.len() > ITEMS_MAX {
            return Err(format!("the query asks for more than {ITEMS_MAX} columns").into());
        }
    }
    let condition = if parser.word("WHERE") { parser.any(0)? } else { Condition::Always };
    let (mut skip, mut limit) = (0, u64::MAX);
    if parser.word("LIMIT") {
        limit = parser.count()?;
        if parser.sign(",") {
            skip = std::mem::replace(&mut limit, parser.count()?);
        } else if parser.word("OFFSET") {
            skip = parser.count()?;
        }
    }
    parser.end()?;
    Ok(Query { items, condition, skip, limit })
}

/// The condition that a text is, WHERE before it or not.
pub fn parse_condition(text: &[u8], manifest: &Manifest) -> Result<Condition, Fault> {
    let mut parser = Parser::new(text, manifest)?;
    parser.word("WHERE");
    let condition = parser.any(0)?;
    parser.end()?;
    Ok(condition)
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    conditions: usize,
    manifest: &'a Manifest,
}

impl<'a> Parser<'a> {
    fn new(text: &[u8], manifest: &'a Manifest) -> Result<Self, Fault> {
        if text.len() > QUERY_BYTES_MAX {
            return Err("the query is longer than 4 MiB".into());
        }
        let text = std::str::from_utf8(text).map_err(|_| "the query is not UTF-8")?;
        Ok(Self { tokens: tokens(text)?, at: 0, conditions: 0, manifest })
    }

    fn next(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The next token, if it is this word.
    fn word(&mut self, word: &str) -> bool {
        let is = matches!(self.next(), Some(Token::Word(it)) if it.eq_ignore_ascii_case(word));
        self.at += usize::from(is);
        is
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.next(), Some(Token::Sign(it)) if *it == sign);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, sign: &str) -> Result<(), Fault> {
        if self.sign(sign) { Ok(()) } else { Err(self.unfit(&format!("'{sign}'"))) }
    }

    fn unfit(&self, wanted: &str) -> Fault {
        let found = match self.next() {
            None => "its end".to_owned(),
            Some(Token::Word(it) | Token::Number(it)) => {
                format!("'{}'", it.chars().take(40).collect::<String>())
            }
            Some(Token::Text(_)) => "a text".to_owned(),
            Some(Token::Sign(it)) => format!("'{it}'"),
        };
        format!("the query has {found} where {wanted} should stand").into()
    }

    fn end(&self) -> Result<(), Fault> {
        match self.next() {
            None => Ok(()),
            Some(Token::Word(it))
                if ["ORDER", "GROUP", "HAVING", "FROM"].contains(&it.to_uppercase().as_str()) =>
            {
                Err(format!("fb_query has no {}", it.to_uppercase()).into())
            }
            Some(_) => Err(self.unfit("its end")),
        }
    }

    fn count(&mut self) -> Result<u64, Fault> {
        let told = match self.next() {
            Some(Token::Number(it)) => it.parse().ok(),
            _ => None,
        };
        let told = told.ok_or_else(|| self.unfit("a whole number"))?;
        self.at += 1;
        Ok(told)
    }

    fn column(&mut self) -> Result<usize, Fault> {
        match self.next() {
            Some(Token::Word(name)) => {
                let found = self.manifest.column(name)?;
                self.at += 1;
                Ok(found)
            }
            _ => Err(self.unfit("a column")),
        }
    }

    fn item(&mut self) -> Result<Item, Fault> {
        let called = self.tokens.get(self.at + 1) == Some(&Token::Sign("("));
        let Some(Token::Word(name)) = self.next().filter(|_| called) else {
            return Ok(Item::Column(self.column()?));
        };
        let known = AGGREGATES.iter().find(|it| it.0.eq_ignore_ascii_case(name));
        let Some((_, aggregate)) = known else {
            let names: Vec<&str> = AGGREGATES.iter().map(|it| it.0).collect();
            let told = format!("fb_query has {}, and no {name}", names.join(", "));
            return Err(told.into());
        };
        self.at += 2;
        if *aggregate == Aggregate::Count && self.sign("*") {
            self.need(")")?;
            return Ok(Item::CountRows);
        }
        let is_distinct = *aggregate == Aggregate::Count && self.word("DISTINCT");
        let aggregate = if is_distinct { Aggregate::CountDistinct } else { *aggregate };
        let column = self.column()?;
        self.need(")")?;
        let known = &self.manifest.columns[column];
        if matches!(aggregate, Aggregate::Sum | Aggregate::Average) && known.width().is_none() {
            return Err(format!("'{}' holds no numbers", known.name).into());
        }
        Ok(Item::Aggregate(aggregate, column))
    }

    fn any(&mut self, depth: usize) -> Result<Condition, Fault> {
        let mut all = vec![self.odd(depth)?];
        while self.word("OR") || self.sign("||") {
            all.push(self.odd(depth)?);
        }
        Ok(single(all, Condition::Any))
    }

    fn odd(&mut self, depth: usize) -> Result<Condition, Fault> {
        let mut all = vec![self.all(depth)?];
        while self.word("XOR") {
            all.push(self.all(depth)?);
        }
        Ok(single(all, Condition::Odd))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, Fault> {
        let mut all = vec![self.not(depth)?];
        while self.word("AND") || self.sign("&&") {
            all.push(self.not(depth)?);
        }
        Ok(single(all, Condition::All))
    }

    fn not(&mut self, depth: usize) -> Result<Condition, Fault> {
        if depth > DEPTH_MAX {
            return Err(format!("the query is nested deeper than {DEPTH_MAX}").into());
        }
        if self.word("NOT") {
            return Ok(Condition::Not(Box::new(self.not(depth + 1)?)));
        }
        if self.sign("!") {
            self.need("(")?;
            self.at -= 1;
            return Ok(Condition::Not(Box::new(self.not(depth + 1)?)));
        }
        if self.sign("(") {
            let inner = self.any(depth + 1)?;
            self.need(")")?;
            return Ok(inner);
        }
        self.leaf()
    }

    fn leaf(&mut self) -> Result<Condition, Fault> {
        self.conditions += 1;
        if self.conditions > CONDITIONS_MAX {
            return Err(format!("the query has more than {CONDITIONS_MAX} conditions").into());
        }
        if !matches!(self.next(), Some(Token::Word(_))) {
            return self.range();
        }
        let column = self.column()?;
        if self.word("IS") {
            let has_value = self.word("NOT");
            return self.null(column, has_value);
        }
        let is_not = self.word("NOT");
        if is_not && matches!(self.next(), Some(Token::Word(it)) if it.eq_ignore_ascii_case("NULL"))
        {
            return self.null(column, true);
        }
        let made = if self.word("BETWEEN") {
            let from = self.literal(column)?;
            if !self.word("AND") {
                return Err(self.unfit("AND"));
            }
            let to = self.literal(column)?;
            Condition::In(column, vec![Range { from: Some((from, true)), to: Some((to, true)) }])
        } else if self.word("IN") {
            self.need("(")?;
            let mut ranges = vec![equal(self.literal(column)?)];
            while self.sign(",") {
                push(&mut ranges, equal(self.literal(column)?))?;
            }
            self.need(")")?;
            Condition::In(column, ranges)
        } else if is_not {
            return Err(self.unfit("BETWEEN, IN or NULL"));
        } else {
            let sign = self.comparison()?;
            let literal = self.literal(column)?;
            compared(column, sign, literal)
        };
        Ok(if is_not { Condition::Not(Box::new(made)) } else { made })
    }

    fn null(&mut self, column: usize, has_value: bool) -> Result<Condition, Fault> {
        if !self.word("NULL") {
            return Err(self.unfit("NULL"));
        }
        let made = Condition::IsNull(column);
        Ok(if has_value { Condition::Not(Box::new(made)) } else { made })
    }

    /// `1 < a`, `1 < a <= 5`: the column's type is known behind the first value only.
    fn range(&mut self) -> Result<Condition, Fault> {
        let begin = self.at;
        self.sign("-");
        self.at += 1;
        let sign = self.comparison()?;
        let column = self.column()?;
        let behind = std::mem::replace(&mut self.at, begin);
        let literal = self.literal(column)?;
        self.at = behind;
        let turned = match sign {
            "<" => ">",
            "<=" => ">=",
            ">" => "<",
            ">=" => "<=",
            other => other,
        };
        let first = compared(column, turned, literal);
        if !matches!(self.next(), Some(Token::Sign("<" | "<=" | ">" | ">="))) {
            return Ok(first);
        }
        let sign = self.comparison()?;
        let second = self.literal(column)?;
        Ok(Condition::All(vec![first, compared(column, sign, second)]))
    }

    fn comparison(&mut self) -> Result<&'static str, Fault> {
        match self.next() {
            Some(Token::Sign(it @ ("=" | "==" | "<" | "<=" | ">" | ">=" | "<>" | "!="))) => {
                let sign = *it;
                self.at += 1;
                Ok(sign)
            }
            _ => Err(self.unfit("a comparison")),
        }
    }

    fn literal(&mut self, column: usize) -> Result<Literal, Fault> {
        let is_negative = self.sign("-");
        let known = &self.manifest.columns[column];
        let made = match self.next() {
            Some(Token::Number(text)) => number(text, is_negative, known),
            Some(Token::Text(text)) if known.width().is_none() && !is_negative => {
                Some(Literal::Text(text.clone()))
            }
            _ => None,
        };
        let wanted = match (known.is_whole(), known.width()) {
            (true, _) => "a number without an exponent",
            (_, Some(_)) => "a number",
            _ => "a text in quotes",
        };
        let made = made.ok_or_else(|| self.unfit(&format!("{wanted} for '{}'", known.name)))?;
        self.at += 1;
        Ok(made)
    }
}

fn single(mut all: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            many(all)
        }
        None => Condition::Always,
    }
}

fn equal(literal: Literal) -> Range {
    Range { from: Some((literal.clone(), true)), to: Some((literal, true)) }
}

fn compared(column: usize, sign: &str, literal: Literal) -> Condition {
    let range = match sign {
        "<" => Range { from: None, to: Some((literal, false)) },
        "<=" => Range { from: None, to: Some((literal, true)) },
        ">" => Range { from: Some((literal, false)), to: None },
        ">=" => Range { from: Some((literal, true)), to: None },
        _ => equal(literal),
    };
    let made = Condition::In(column, vec![range]);
    if matches!(sign, "<>" | "!=") { Condition::Not(Box::new(made)) } else { made }
}

/// A number as the column compares it; `None` where it does not.
fn number(text: &str, is_negative: bool, column: &Column) -> Option<Literal> {
    column.width()?;
    if !column.is_whole() {
        let number: f64 = text.parse().ok()?;
        return Some(Literal::Real(if is_negative { -number } else { number }));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().chain(whole.bytes()).all(|it| it.is_ascii_digit()) {
        return None;
    }
    // what has too many digits lies beyond every column, wherever exactly
    let whole = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(i128::MAX >> 1) };
    let is_exact = fraction.bytes().all(|it| it == b'0');
    Some(match (is_negative, is_exact) {
        (false, _) => Literal::Whole(whole, is_exact),
        (true, true) => Literal::Whole(-whole, true),
        (true, false) => Literal::Whole(-whole - 1, false),
    })
}
