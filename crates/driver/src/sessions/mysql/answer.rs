//! What has been read of the answers under way, result by result, and what came of them.

use super::packet::{HEADER, PART, Reader, garbage, length};
use super::rows::Column;
use super::{failure, rows};
use crate::plan::error::Error;
use crate::sessions::rows::check_room;
use crate::sessions::{MOST_CHANGED, Reply, Rows};

const IN_TRANSACTION: u16 = 0x01;

/// What has been read of the answers to the requests under way.
#[derive(Default)]
pub struct Answer {
    /// Columns and rows; each result's own where there are several.
    pub rows: Rows,
    deprecates_eof: bool,
    status: u16,
    next_packet: NextPacket,
    /// Bytes to pass over, then: is what follows the same packet's next part?
    skip: usize,
    continues: bool,
    joined: Vec<u8>,
    columns: Vec<Column>,
    asked: AnswerShape,
    /// Of each request of a batch whose answer has not begun, the last first: comes it in binary?
    to_come: Vec<bool>,
    /// Answers that come first and are nobody's any more.
    unwanted: u32,
    /// Answers that come then.
    wanted: u32,
    counted: u64,
    total: u64,
    changed: u64,
    error: Option<Error>,
    /// What the last end of a result said: the number that a row was given, and how many warnings.
    pub(super) insert_id: u64,
    pub(super) warnings: u16,
    /// Results that followed the first of a request, since somebody last took their number.
    pub(super) further: u64,
}

/// How the answer will look.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerShape {
    /// Rows come in the binary protocol.
    pub binary: bool,
    /// Rows will be read.
    pub keeps: bool,
    /// Answers of several requests; rows that will be read are each a result of its own.
    pub is_batch: bool,
}

/// Which packet comes next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum NextPacket {
    /// A result's first packet.
    #[default]
    Head,
    /// Definitions.
    Columns {
        left: u64,
    },
    /// The packet between definitions and rows, where there is one.
    ColumnsEnd,
    Rows,
}

impl Answer {
    /// For a new connection.
    pub fn new(deprecates_eof: bool) -> Self {
        Self { deprecates_eof, ..Self::default() }
    }

    /// Says that requests were sent.
    #[inline]
    pub fn expect(&mut self, requests: u32, asked: AnswerShape) {
        self.asked = asked;
        self.wanted = requests;
        (self.insert_id, self.warnings) = (0, 0);
        self.to_come.clear();
        self.forget();
    }

    /// Says that a batch was sent, and of each of its requests whether its rows come in the binary
    /// protocol.
    pub fn expect_batch(&mut self, are_binary: &[bool], keeps: bool) {
        self.expect(are_binary.len() as u32, AnswerShape { binary: false, keeps, is_batch: true });
        self.to_come.extend(are_binary.iter().rev());
        self.next_of_batch();
    }

    #[inline]
    fn next_of_batch(&mut self) {
        if let Some(binary) = self.to_come.pop() {
            self.asked.binary = binary;
        }
    }

    /// Answers still to come are nobody's from now on.
    pub fn abandon(&mut self) {
        self.unwanted += std::mem::take(&mut self.wanted);
        self.forget();
    }

    /// A rollback was sent, and its answer is nobody's.
    pub fn roll_back(&mut self) {
        self.unwanted += 1;
        self.status &= !IN_TRANSACTION;
    }

    /// The requests fail with this, whatever the server will say.
    pub fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Are there answers that somebody waits for?
    pub fn is_wanted(&self) -> bool {
        self.wanted > 0
    }

    /// Are there answers to come, wanted or not?
    pub fn is_under_way(&self) -> bool {
        self.wanted + self.unwanted > 0
    }

    /// Is a transaction open, by the last that the server said of it? Errors say nothing.
    pub fn in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// What came of the requests; the first error is theirs. The server works each request of a
    /// batch off by itself, so the error says what the others changed.
    #[inline]
    pub fn outcome(&mut self) -> Result<Reply, Error> {
        match self.error.take() {
            Some(error) => {
                self.rows.clear();
                Err(error.beside_changes(self.changed))
            }
            None => Ok(Reply::Ready { rows: self.total, changed: self.changed }),
        }
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.joined.clear();
        (self.counted, self.total, self.changed) = (0, 0, 0);
        self.error = None;
    }
}

// Results, packet by packet: their heads, columns and ends.

const MORE_RESULTS: u16 = 0x08;
/// The engines' own limit is 4096.
const MOST_COLUMNS: u64 = u16::MAX as u64;

/// Anything that is neither an end nor an error; a field that begins with 0xFE fills whole parts.
#[inline]
fn is_row(first: u8, length: usize) -> bool {
    first < 0xfe || (first == 0xfe && length == PART)
}

impl Answer {
    /// One packet; true: the server wants a file's content.
    fn take(&mut self, content: &[u8]) -> Result<bool, Error> {
        let is_part = self.continues || content.len() == PART;
        match self.next_packet {
            NextPacket::Head => return self.head(content),
            NextPacket::Rows if is_part => self.join(content)?,
            NextPacket::Rows if is_row(content[0], content.len()) => self.row(content)?,
            _ if content[0] == 0xff => self.refused(content),
            NextPacket::Columns { left } => self.column(content, left)?,
            NextPacket::ColumnsEnd if content[0] == 0xfe => self.next_packet = NextPacket::Rows,
            NextPacket::ColumnsEnd => return Err(garbage("the list of columns does not end")),
            NextPacket::Rows => self.rows_end(content)?,
        }
        Ok(false)
    }

    fn head(&mut self, content: &[u8]) -> Result<bool, Error> {
        match content[0] {
            0x00 => self.ok(content)?,
            0xff => self.refused(content),
            0xfb => return Ok(true),
            _ => {
                let count = Reader(content).number().filter(|it| (1..=MOST_COLUMNS).contains(it));
                let left = count.ok_or_else(|| garbage("an answer without a header"))?;
                self.columns.clear();
                let is_shown = self.asked.keeps || !self.asked.is_batch;
                self.rows.width = if is_shown { left as u32 } else { 0 };
                self.next_packet = NextPacket::Columns { left };
            }
        }
        Ok(false)
    }

    /// What comes after a definition, of which `left` were to come.
    fn after_column(&self, left: u64) -> NextPacket {
        match left {
            2.. => NextPacket::Columns { left: left - 1 },
            _ if self.deprecates_eof => NextPacket::Rows,
            _ => NextPacket::ColumnsEnd,
        }
    }

    fn column(&mut self, content: &[u8], left: u64) -> Result<(), Error> {
        let (name, column) = Column::parse(content).ok_or_else(|| garbage("a torn column"))?;
        if !self.asked.is_batch {
            self.rows.name(name)?;
        }
        self.rows.types.push(column.type_number());
        self.columns.push(column);
        self.next_packet = self.after_column(left);
        Ok(())
    }

    /// A row that came in several packets.
    #[cold]
    fn join(&mut self, content: &[u8]) -> Result<(), Error> {
        self.joined.extend_from_slice(content);
        self.continues = content.len() == PART;
        check_room(self.joined.len())?;
        if !self.continues {
            let joined = std::mem::take(&mut self.joined);
            self.row(&joined)?;
        }
        Ok(())
    }

    fn row(&mut self, content: &[u8]) -> Result<(), Error> {
        self.counted += 1;
        match self.asked.binary {
            true => rows::put_binary(&self.columns, content, &mut self.rows),
            false => rows::put_text(self.columns.len(), content, &mut self.rows),
        }
    }

    /// An OK of the new kind, or the EOF that older servers send.
    #[inline]
    fn rows_end(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.deprecates_eof {
            return self.ok(content);
        }
        let mut reader = Reader(content);
        reader.u8();
        self.warnings = reader.u16().unwrap_or(0);
        let status = reader.u16();
        self.result_end(status.ok_or_else(|| garbage("an incomplete end of rows"))?, 0)
    }

    #[inline]
    fn ok(&mut self, content: &[u8]) -> Result<(), Error> {
        let mut reader = Reader(&content[1..]);
        let parse = |it: &mut Reader| Some((it.number()?, it.number()?, it.u16()?));
        let (changed, insert_id, status) =
            parse(&mut reader).ok_or_else(|| garbage("a torn OK"))?;
        (self.insert_id, self.warnings) = (insert_id, reader.u16().unwrap_or(0));
        if changed > MOST_CHANGED {
            return Err(garbage("an impossible number of changed rows"));
        }
        self.changed = self.changed.saturating_add(changed);
        self.result_end(status, changed)
    }

    #[inline]
    fn result_end(&mut self, status: u16, changed: u64) -> Result<(), Error> {
        self.status = status;
        self.next_packet = NextPacket::Head;
        let rows = std::mem::take(&mut self.counted);
        self.total += rows;
        let is_last = status & MORE_RESULTS == 0;
        let is_one_of_several = match self.asked.is_batch {
            true => self.asked.keeps,
            false => !is_last || !self.rows.results.is_empty(),
        };
        if is_one_of_several {
            self.rows.end_result(rows, changed)?;
        }
        if is_last {
            self.command_end();
        } else {
            self.further += 1;
        }
        Ok(())
    }

    #[cold]
    fn refused(&mut self, content: &[u8]) {
        let error = failure::of_packet(content);
        if self.unwanted == 0 {
            self.error.get_or_insert(error);
        }
        self.counted = 0;
        self.next_packet = NextPacket::Head;
        self.command_end();
    }

    #[inline]
    fn command_end(&mut self) {
        if self.unwanted > 0 {
            self.unwanted -= 1;
            self.forget();
        } else {
            self.wanted -= 1;
            self.next_of_batch();
        }
    }
}

// Finds the packets in whatever bytes have come. Rows that nobody will read are passed over as
// they come and only counted, so they never lie in memory whole.

/// No packet but a row is longer.
const LONGEST: usize = 1 << 20;

/// How far the answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedState {
    /// More bytes must come.
    More,
    /// The server wants a file's content; it begins with the packet of this number.
    Infile(u8),
    /// All are there.
    Done,
}

enum PacketAction {
    Skip,
    Wait,
    Take,
}

impl Answer {
    /// Reads on; says how many bytes were used and need not be shown again.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, FeedState), Error> {
        let mut at = 0;
        loop {
            let passed = self.skip.min(bytes.len() - at);
            self.skip -= passed;
            at += passed;
            if self.skip > 0 {
                return Ok((at, FeedState::More));
            }
            if self.wanted + self.unwanted == 0 {
                return Ok((at, FeedState::Done));
            }
            let rest = &bytes[at..];
            match self.packet_action(rest)? {
                PacketAction::Skip => self.skip = HEADER + length(rest),
                PacketAction::Wait => return Ok((at, FeedState::More)),
                PacketAction::Take => {
                    let (head, rest) = rest.split_at(HEADER);
                    let content = &rest[..length(head)];
                    at += HEADER + content.len();
                    if self.take(content)? {
                        return Ok((at, FeedState::Infile(head[3].wrapping_add(1))));
                    }
                }
            }
        }
    }

    /// Can the next packet be passed over, or must it be there whole?
    #[inline]
    fn packet_action(&mut self, rest: &[u8]) -> Result<PacketAction, Error> {
        if rest.len() < HEADER {
            return Ok(PacketAction::Wait);
        }
        let length = length(rest);
        let passes = if self.continues {
            !self.keeps()
        } else if length == 0 {
            return Err(garbage("an empty packet"));
        } else if rest.len() == HEADER {
            return Ok(PacketAction::Wait);
        } else {
            self.passes(rest[HEADER], length)?
        };
        if passes {
            self.continues = length == PART;
            return Ok(PacketAction::Skip);
        }
        Ok(if rest.len() < HEADER + length { PacketAction::Wait } else { PacketAction::Take })
    }

    #[inline]
    fn keeps(&self) -> bool {
        self.asked.keeps && self.unwanted == 0
    }

    #[inline]
    fn passes(&mut self, first: u8, length: usize) -> Result<bool, Error> {
        match self.next_packet {
            NextPacket::Columns { left } if !self.keeps() => {
                self.next_packet = self.after_column(left);
                Ok(true)
            }
            NextPacket::Rows if is_row(first, length) => {
                self.counted += u64::from(!self.keeps());
                Ok(!self.keeps())
            }
            _ if length > LONGEST => Err(garbage("a packet is too long")),
            _ => Ok(false),
        }
    }
}
