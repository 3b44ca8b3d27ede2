//! A pgbench script as a program: lua/pgbench/*.lua reads its text once, and it is played without
//! Lua. What only Lua can do (start a program, prepare a statement) is a step that calls it.

mod client;
mod draws;
mod functions;
mod statement;
#[cfg(test)]
mod tests;
mod value;

use mlua::BString;
use serde::{Deserialize, Deserializer, de};

pub use client::{Client, now_us, write_rows};
use draws::Generator;
use functions::Function;
use statement::ScriptStatement;
pub use value::{Held, Problem};
use value::{Value, Variables};

/// A script that is read.
#[derive(Deserialize)]
pub struct Program {
    pub steps: Vec<Step>,
    /// Its number among those that transactions are drawn from, and how often it is drawn.
    pub number: usize,
    weight: u64,
    /// Its transaction type, as lua/functions.lua numbers them.
    pub kind: i64,
    /// It begins transactions, so that it has to end them.
    pub begins: bool,
    /// The place of its first command among those of all scripts.
    first_command: usize,
}

/// What a program does next. Values are reckoned on a stack; places of steps and of variables count
/// from 0.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Integer(#[serde(deserialize_with = "parsed")] i64),
    Double(f64),
    Boolean(bool),
    Null,
    Variable(usize),
    /// A function of so many values.
    Call(Function, usize),
    /// Goes on at a step where the last value decides an AND (false) or an OR (true).
    Decide(bool, usize),
    /// The value of an AND or an OR that only both sides decide.
    Join(bool),
    Not,
    /// Is the last value NULL, true or false, or (`false`) is it not?
    Is(Wanted, bool),
    /// Goes on at a step where the last value is not true.
    Unless(usize),
    Jump(usize),
    /// A command begins.
    Begin(Command),
    Set(usize),
    /// Sets variables to a row of several.
    Row(usize),
    /// Sets a variable to so many letters, at least and at most.
    Letters(usize, u32, u32),
    Send(usize),
    /// Sends a statement, and stores the last row of its last result, or of all results.
    Store(usize, String, bool),
    /// Sleeps for so many seconds.
    Sleep(f64),
    /// Sleeps for a variable's number of units, each of so many seconds.
    SleepVariable(usize, f64),
    /// A pipeline of these statements begins.
    StartPipeline(Vec<usize>),
    FlushPipeline,
    EndPipeline,
    /// Fails with these words.
    Fail(String),
    /// Has Lua call one of its functions.
    Lua(u64),
}

/// A command of a script's, for those who are told of it.
#[derive(Default, Clone, Deserialize)]
pub struct Command {
    line: u32,
    /// From 1.
    number: usize,
    name: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Null,
    True,
    False,
}

fn parsed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// Rows that are drawn from; and Lua's function that reads them, where they are not known before.
pub struct Rows {
    places: Vec<usize>,
    cells: Vec<Held>,
    fill: Option<u64>,
}

/// What a program cannot do by itself.
pub enum Asked {
    Over,
    Send(usize),
    Store(usize),
    Sleep(f64),
    StartPipeline(usize),
    FlushPipeline,
    EndPipeline,
    Lua(u64),
}

/// How far a script was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Played {
    /// To its end.
    Over,
    /// To an answer or a time that has not come.
    Waiting,
    /// To an error.
    Failed,
    /// To a function of Lua's.
    Lua(u64),
}

/// How a transaction went on that was begun without Lua.
pub enum Transaction {
    /// It ended well, as one of a transaction type.
    Done(i64),
    /// There is none to be played.
    None,
    Waiting,
    /// Lua has to go on with it.
    HandedOver,
}

/// A user's scripts, and the one under way.
#[derive(Default)]
pub struct Scripts {
    pub variables: Variables,
    /// Where its random numbers come from, where they came from as its transaction began, and
    /// which script comes next.
    drawn: Generator,
    rewound: Generator,
    chosen: Generator,
    pub client: Option<Client>,
    /// Transactions are played without Lua, unless something is amiss.
    is_direct: bool,
    /// The next transaction is the last one once more.
    pub is_again: bool,
    pub programs: Vec<Program>,
    /// Those that transactions are drawn from: as many of the first programs.
    count: usize,
    pub statements: Vec<ScriptStatement>,
    rows: Vec<Rows>,
    stack: Vec<Value>,
    /// The program that was drawn or begun last, and its next step.
    pub current: usize,
    pub at: usize,
    /// It waits for an answer or a time.
    pub is_waiting: bool,
    /// The step that began the command under way.
    command: usize,
    /// Its transaction is Lua's to go on with, from there.
    pub handed_over: Option<Played>,
    /// Why it failed, where the engine did not refuse a request.
    pub problem: Option<Problem>,
    pub connection: usize,
}

impl Scripts {
    /// Keeps a program; its number.
    pub fn add(&mut self, program: Program) -> usize {
        self.programs.push(program);
        self.programs.len() - 1
    }

    /// Draws transactions from as many of the first programs.
    pub fn draw_from(&mut self, count: usize) {
        self.count = count;
    }

    /// Keeps a statement; its number.
    pub fn add_statement(
        &mut self,
        pieces: Vec<BString>,
        variables: Vec<usize>,
        prepare: Option<u64>,
    ) -> usize {
        let pieces = pieces.into_iter().map(Vec::from).collect();
        self.statements.push(ScriptStatement::new(pieces, variables, prepare));
        self.statements.len() - 1
    }

    /// Begins its random numbers, and those that draw scripts, from seeds of its own, or as pgbench
    /// does for the client of a number among so many. Returns the seed of the run's hashes.
    pub fn seed(&mut self, seed: u64, own: (u64, u64), client: Option<(u32, u32)>) -> i64 {
        let mut base = Generator::of(seed);
        let (drawn, chosen, hashes) = match client {
            None => (own.0, own.1, base.next()),
            Some((number, clients)) => {
                let seeds: Vec<u64> = (0..clients).map(|_| base.next()).collect();
                let hashes = base.next();
                // Each thread has three: of the next script, of a paced arrival, of what is logged.
                let chosen = (0..=3 * number).map(|_| base.next()).last();
                let own = seeds.get(number as usize).copied();
                (own.unwrap_or(seed), chosen.unwrap_or(seed), hashes)
            }
        };
        (self.drawn, self.chosen) = (Generator::of(drawn), Generator::of(chosen));
        hashes as i64
    }

    /// Keeps rows of values for variables; their number.
    pub fn add_rows(&mut self, places: Vec<usize>, fill: Option<u64>) -> usize {
        self.rows.push(Rows { places, cells: Vec::new(), fill });
        self.rows.len() - 1
    }

    /// Adds a value to the last row, or to one more.
    pub fn add_cell(&mut self, rows: usize, held: Held) {
        self.rows[rows].cells.push(held);
    }

    /// A statement is prepared under a number; none: its connection is gone.
    pub fn set_made(&mut self, statement: usize, made: Option<usize>) {
        if let Some(it) = self.statements[statement].parametric.as_mut() {
            it.made = made;
        }
    }

    /// Line, number and name of the command under way.
    pub fn place(&self) -> (u32, usize, String) {
        let program = self.programs.get(self.current);
        match program.and_then(|it| it.steps.get(self.command)) {
            Some(Step::Begin(it)) => (it.line, it.number, it.name.clone()),
            _ => (1, 1, String::new()),
        }
    }

    /// The statement that was sent last.
    pub fn last_statement(&self) -> Option<&ScriptStatement> {
        let step = self.programs.get(self.current)?.steps.get(self.at.checked_sub(1)?)?;
        match step {
            Step::Send(number) | Step::Store(number, ..) => self.statements.get(*number),
            _ => None,
        }
    }

    /// Why it failed, where the engine did not refuse a request.
    pub fn take_problem(&mut self) -> Option<Problem> {
        self.problem.take()
    }

    /// Transactions are played without Lua from now on, on a connection.
    pub fn play_directly(&mut self, connection: usize) {
        (self.is_direct, self.connection) = (true, connection);
    }

    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// The transaction begins once more, with the same random numbers.
    pub fn rewind(&mut self) {
        self.drawn = self.rewound;
    }

    /// Draws the script that is played next.
    pub fn draw(&mut self) {
        self.rewound = self.drawn;
        let programs = &self.programs[..self.count];
        if self.count == 1 {
            self.current = 0;
            return;
        }
        let total: u64 = programs.iter().map(|it| it.weight).sum();
        let mut left = self.chosen.up_to(total.saturating_sub(1));
        self.current = programs
            .iter()
            .take_while(|it| match left.checked_sub(it.weight) {
                Some(rest) => {
                    left = rest;
                    true
                }
                None => false,
            })
            .count();
    }

    /// Does it wait for an answer or a time?
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Forgets what it waits for.
    pub fn abandon(&mut self) {
        self.is_waiting = false;
    }

    pub fn begin(&mut self, program: usize) {
        (self.current, self.at, self.command, self.is_waiting) = (program, 0, 0, false);
        self.stack.clear();
        if let Some(client) = &mut self.client {
            client.forget_command();
        }
    }

    /// Goes on to what it cannot do by itself.
    #[inline]
    pub fn advance(&mut self) -> Result<Asked, Problem> {
        loop {
            let (at, program) = (self.at, &self.programs[self.current]);
            let Some(step) = program.steps.get(at) else {
                self.client.iter_mut().for_each(Client::end_command);
                return Ok(Asked::Over);
            };
            self.at += 1;
            match step {
                Step::Unless(_) if pop(&mut self.stack).is_true() => {}
                Step::Unless(to) | Step::Jump(to) => self.at = *to,
                Step::Begin(command) => {
                    self.command = at;
                    if let Some(client) = &mut self.client {
                        let place = program.first_command + command.number - 1;
                        client.begin_command(place, &command.name);
                    }
                }
                Step::Set(place) => {
                    self.variables.held[*place] = Held::Value(pop(&mut self.stack));
                }
                Step::Letters(place, least, most) => {
                    let letters = self.drawn.uniform((*least).into(), (*most).into());
                    let mut text = self.variables.take_text(*place);
                    text.extend((0..letters).map(|_| b'a' + self.drawn.up_to(25) as u8));
                    self.variables.held[*place] = Held::Text(text);
                }
                Step::Row(rows) => {
                    let Rows { places, cells, fill } = &self.rows[*rows];
                    if let (true, Some(fill)) = (cells.is_empty(), fill) {
                        self.at = at;
                        return Ok(Asked::Lua(*fill));
                    }
                    let count = cells.len() / places.len();
                    let row = self.drawn.up_to(count as u64 - 1) as usize;
                    for (place, held) in places.iter().zip(&cells[row * places.len()..]) {
                        self.variables.held[*place].take_from(held);
                    }
                }
                Step::Send(statement) => return Ok(Asked::Send(*statement)),
                Step::Store(statement, ..) => return Ok(Asked::Store(*statement)),
                Step::Sleep(seconds) => return Ok(Asked::Sleep(*seconds)),
                Step::SleepVariable(place, unit_s) => {
                    let units = leading_number(&self.variables, *place)?;
                    return Ok(Asked::Sleep(units.max(0.0) * unit_s));
                }
                Step::StartPipeline(_) => return Ok(Asked::StartPipeline(at)),
                Step::FlushPipeline => return Ok(Asked::FlushPipeline),
                Step::EndPipeline => return Ok(Asked::EndPipeline),
                Step::Fail(words) => return Err(words.clone()),
                Step::Lua(function) => return Ok(Asked::Lua(*function)),
                _ => self.reckon(at)?,
            }
        }
    }

    /// A step of an expression.
    #[inline]
    fn reckon(&mut self, at: usize) -> Result<(), Problem> {
        let Self { programs, current, variables, stack, drawn, .. } = self;
        let program = &programs[*current];
        let value = match &program.steps[at] {
            Step::Integer(number) => Value::Integer(*number),
            Step::Double(x) => Value::Double(*x),
            Step::Boolean(truth) => Value::Boolean(*truth),
            Step::Variable(place) => variables.value(*place)?,
            Step::Call(Function::Debug, _) => {
                tell_value(program, self.command, top(stack));
                pop(stack)
            }
            Step::Call(function, count) => {
                let from = stack.len().saturating_sub(*count);
                let value = function.call(&stack[from..], drawn)?;
                stack.truncate(from);
                value
            }
            Step::Decide(truth, to) => {
                let value = top(stack);
                if value != Value::Null && value.to_boolean()? == *truth {
                    self.at = *to;
                }
                pop(stack)
            }
            Step::Join(truth) => match (pop(stack), pop(stack)) {
                (b, _) if b != Value::Null && b.to_boolean()? == *truth => b,
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                _ => Value::Boolean(!truth),
            },
            Step::Not => match pop(stack) {
                Value::Null => Value::Null,
                value => Value::Boolean(!value.to_boolean()?),
            },
            Step::Is(wanted, expected) => {
                let is_it = pop(stack)
                    == match wanted {
                        Wanted::Null => Value::Null,
                        Wanted::True => Value::Boolean(true),
                        Wanted::False => Value::Boolean(false),
                    };
                Value::Boolean(is_it == *expected)
            }
            _ => Value::Null,
        };
        stack.push(value);
        Ok(())
    }
}

#[inline]
fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or(Value::Null)
}

#[inline]
fn top(stack: &[Value]) -> Value {
    stack.last().copied().unwrap_or(Value::Null)
}

/// `debug()` tells a value and the place where it stands.
#[cold]
fn tell_value(program: &Program, command: usize, value: Value) {
    let number = match &program.steps[command] {
        Step::Begin(command) => command.number,
        _ => 0,
    };
    eprintln!("debug(script={},command={number}): {}", program.number, value.show());
}

/// Of a variable's value the whole number that it begins with.
fn leading_number(variables: &Variables, place: usize) -> Result<f64, Problem> {
    let name = &variables.names[place];
    if variables.held[place] == Held::Unset {
        return Err(format!("sleep: undefined variable \"{name}\""));
    }
    let mut text = Vec::new();
    variables.put(place, &mut text);
    let text = String::from_utf8_lossy(&text);
    let word = text.trim_start();
    let sign = usize::from(word.starts_with(['-', '+']));
    let digits = word[sign..].find(|it: char| !it.is_ascii_digit()).unwrap_or(word.len() - sign);
    let number = word[..sign + digits].parse();
    number.map_err(|_| format!("invalid sleep time \"{text}\" for variable \"{name}\""))
}
