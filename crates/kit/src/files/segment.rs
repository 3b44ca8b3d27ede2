//! A segment: rows in columns, in a file that is written once.
//!
//! A column is a sorted list of its values, and for each row the place of its value there. Where
//! it has few values, a Roaring bitmap of the rows of each stands beside that. Each of these blocks
//! has a checksum, and the directory of blocks at the file's end another one, which the manifest
//! has.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use roaring::RoaringBitmap;

use super::manifest::{Entry, deleted_file, segment_file};
use super::refused;
use crate::bounds::{check_memory, reserve};
use crate::function::Fault;

/// The place of NULL, which is in no list of values.
pub const NULL: u32 = u32::MAX;
/// A segment has no more rows; its values and their places take no more bytes.
pub const ROWS_MAX: usize = 1 << 20;
const BYTES_MAX: usize = 64 << 20;
/// Columns with more values have no bitmaps: their places are looked through.
const BITMAPS_MAX: usize = 1024;
/// A block of the directory: begin, length, checksum.
const BLOCK_BYTES: usize = 20;
const BLOCKS_OF_COLUMN: usize = 3;

/// Rows that become a segment.
pub struct Builder {
    columns: Vec<Gathered>,
    rows: usize,
    bytes: usize,
}

/// The keys of a column, one after the other.
#[derive(Default)]
struct Gathered {
    keys: Vec<u8>,
    ends: Vec<u32>,
    nulls: RoaringBitmap,
}

impl Gathered {
    fn key(&self, row: usize) -> &[u8] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.keys[begin..self.ends[row] as usize]
    }
}

impl Builder {
    /// Without rows.
    pub fn new(columns: usize) -> Self {
        let columns = (0..columns).map(|_| Gathered::default()).collect();
        Self { columns, rows: 0, bytes: 0 }
    }

    /// Whether another row might be too much.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A row: a key for each column, `None` for NULL.
    pub fn add<'a>(&mut self, row: impl Iterator<Item = Option<&'a [u8]>>) -> Result<(), Fault> {
        for (column, key) in self.columns.iter_mut().zip(row) {
            reserve(&mut column.keys, key.map_or(0, <[u8]>::len))?;
            reserve(&mut column.ends, 1)?;
            match key {
                Some(key) => column.keys.extend_from_slice(key),
                None => drop(column.nulls.insert(self.rows as u32)),
            }
            column.ends.push(column.keys.len() as u32);
            self.bytes += size_of::<u32>() + key.map_or(0, <[u8]>::len);
        }
        self.rows += 1;
        Ok(())
    }

    /// The file's bytes, and the checksum of its directory.
    pub fn finish(self, fixed: &[bool]) -> Result<(Vec<u8>, u32), Fault> {
        // a column's lists, each at most doubled as it grows, and the file
        check_memory(4 * self.bytes + 48 * self.rows)?;
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (column, fixed) in self.columns.iter().zip(fixed) {
            for block in column.blocks(self.rows, *fixed)? {
                directory.extend_from_slice(&(out.len() as u64).to_le_bytes());
                directory.extend_from_slice(&(block.len() as u64).to_le_bytes());
                directory.extend_from_slice(&crc32fast::hash(&block).to_le_bytes());
                out.extend_from_slice(&block);
            }
        }
        out.extend_from_slice(&directory);
        Ok((out, crc32fast::hash(&directory)))
    }
}

impl Gathered {
    fn blocks(&self, rows: usize, fixed: bool) -> Result<[Vec<u8>; BLOCKS_OF_COLUMN], Fault> {
        let mut order: Vec<u32> =
            (0..rows as u32).filter(|row| !self.nulls.contains(*row)).collect();
        order.sort_by(|a, b| self.key(*a as usize).cmp(self.key(*b as usize)));
        let mut places = vec![NULL; rows];
        let (mut values, mut ends, mut count) = (Vec::new(), Vec::new(), 0_u32);
        let mut groups = Vec::new();
        for (at, row) in order.iter().enumerate() {
            let key = self.key(*row as usize);
            if at == 0 || self.key(order[at - 1] as usize) != key {
                values.extend_from_slice(key);
                ends.push(values.len() as u32);
                groups.push(at);
                count += 1;
            }
            places[*row as usize] = count - 1;
        }
        let mut list = count.to_le_bytes().to_vec();
        if !fixed {
            ends.iter().for_each(|end| list.extend_from_slice(&end.to_le_bytes()));
        }
        list.extend_from_slice(&values);
        let mut bitmaps = Vec::new();
        if groups.len() <= BITMAPS_MAX {
            groups.push(order.len());
            for pair in groups.windows(2) {
                // rows of a value stay in order, as the sort is stable
                append(order[pair[0]..pair[1]].iter().copied().collect(), &mut bitmaps)?;
            }
            append(self.nulls.clone(), &mut bitmaps)?;
        }
        Ok([list, places.iter().flat_map(|it| it.to_le_bytes()).collect(), bitmaps])
    }
}

/// A bitmap behind its length.
fn append(mut bitmap: RoaringBitmap, out: &mut Vec<u8>) -> Result<(), Fault> {
    bitmap.optimize();
    out.extend_from_slice(&(bitmap.serialized_size() as u32).to_le_bytes());
    bitmap.serialize_into(out).map_err(|error| refused("a bitmap", &error))
}

/// What a file says of deleted rows: a checksum and a bitmap.
pub fn deleted_bytes(rows: &RoaringBitmap) -> Result<Vec<u8>, Fault> {
    let mut bitmap = Vec::new();
    rows.serialize_into(&mut bitmap).map_err(|error| refused("a bitmap", &error))?;
    Ok([&crc32fast::hash(&bitmap).to_le_bytes()[..], &bitmap].concat())
}

/// A segment that is open.
pub struct Segment {
    file: File,
    /// How many rows, deleted ones included.
    pub rows: u32,
    blocks: Vec<(u64, u64, u32)>,
    /// Rows that are deleted.
    pub deleted: RoaringBitmap,
}

const DAMAGED: &str = "a segment of the index is damaged";

impl Segment {
    /// Opens it: outside the error of the system, inside what is wrong with the file.
    pub fn open(folder: &Path, entry: &Entry, columns: usize) -> io::Result<Result<Self, Fault>> {
        let file = File::open(folder.join(segment_file(entry.number)))?;
        let size = (columns * BLOCKS_OF_COLUMN * BLOCK_BYTES) as u64;
        let Some(begin) = file.metadata()?.len().checked_sub(size) else {
            return Ok(Err(DAMAGED.into()));
        };
        let mut directory = vec![0; size as usize];
        file.read_exact_at(&mut directory, begin)?;
        // more rows no writer makes, and a set of all of them would take half a gigabyte
        if crc32fast::hash(&directory) != entry.crc || entry.rows as usize > ROWS_MAX {
            return Ok(Err(DAMAGED.into()));
        }
        let blocks = directory
            .chunks_exact(BLOCK_BYTES)
            .map(|it| (number(&it[..8]), number(&it[8..16]), number(&it[16..]) as u32));
        let blocks = blocks.collect();
        let mut deleted = RoaringBitmap::new();
        if entry.deleted != 0 {
            let bytes = std::fs::read(folder.join(deleted_file(entry.deleted)))?;
            match read_deleted(&bytes) {
                Some(bitmap) => deleted = bitmap,
                None => return Ok(Err(DAMAGED.into())),
            }
        }
        Ok(Ok(Self { file, rows: entry.rows, blocks, deleted }))
    }

    fn block(&self, column: usize, which: usize) -> Result<Vec<u8>, Fault> {
        let (begin, length, crc) = self.blocks[column * BLOCKS_OF_COLUMN + which];
        let mut bytes = Vec::new();
        reserve(&mut bytes, usize::try_from(length).map_err(|_| DAMAGED)?)?;
        bytes.resize(length as usize, 0);
        let read = self.file.read_exact_at(&mut bytes, begin);
        read.map_err(|error| refused("a segment cannot be read", &error))?;
        if crc32fast::hash(&bytes) != crc {
            return Err(DAMAGED.into());
        }
        Ok(bytes)
    }

    /// The values of a column, whose keys have this width.
    pub fn values(&self, column: usize, width: Option<usize>) -> Result<Values, Fault> {
        let bytes = self.block(column, 0)?;
        let count = number(bytes.get(..4).ok_or(DAMAGED)?) as usize;
        let begin = 4 + if width.is_some() { 0 } else { 4 * count };
        let is_whole = width.is_none_or(|it| bytes.len() == begin + it * count);
        if bytes.len() < begin || !is_whole {
            return Err(DAMAGED.into());
        }
        Ok(Values { bytes, count, begin, width })
    }

    /// For each row the place of its value.
    pub fn places(&self, column: usize) -> Result<Places, Fault> {
        Ok(Places(self.block(column, 1)?))
    }

    /// The bitmaps of a column, one for each value and one for NULL; empty where it has none.
    pub fn bitmaps(&self, column: usize) -> Result<Vec<u8>, Fault> {
        self.block(column, 2)
    }
}

/// The bitmaps of `Segment::bitmaps`, taken apart.
pub fn each_bitmap(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = number(rest.get(..4)?) as usize;
        let found = rest.get(4..4 + length)?;
        rest = &rest[4 + length..];
        Some(found)
    })
}

/// A bitmap of a block whose checksum was right.
pub fn read_bitmap(bytes: &[u8]) -> Result<RoaringBitmap, Fault> {
    RoaringBitmap::deserialize_from(bytes).map_err(|_| DAMAGED.into())
}

fn read_deleted(bytes: &[u8]) -> Option<RoaringBitmap> {
    let (crc, bitmap) = bytes.split_at_checked(4)?;
    if number(crc) as u32 != crc32fast::hash(bitmap) {
        return None;
    }
    read_bitmap(bitmap).ok()
}

/// Of at most 8 bytes, the lowest first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, it| all << 8 | u64::from(*it))
}

/// Of each row the place of its value, as they lie in the file.
pub struct Places(Vec<u8>);

impl Places {
    /// A row's; `NULL` beyond the last.
    pub fn of(&self, row: u32) -> u32 {
        let begin = 4 * row as usize;
        self.0.get(begin..begin + 4).map_or(NULL, place)
    }

    /// All, in the rows' order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.chunks_exact(4).map(place)
    }
}

fn place(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(NULL, u32::from_le_bytes)
}

/// The values of a column, sorted, each once.
pub struct Values {
    bytes: Vec<u8>,
    count: usize,
    begin: usize,
    width: Option<usize>,
}

impl Values {
    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The key at a place; empty beyond the end.
    pub fn key(&self, place: usize) -> &[u8] {
        let end = |it: usize| match self.width {
            Some(width) => width * it,
            None if it == 0 => 0,
            None => self.bytes.get(4 * it..4 * it + 4).map_or(0, number) as usize,
        };
        self.bytes.get(self.begin + end(place)..self.begin + end(place + 1)).unwrap_or_default()
    }

    /// How many keys come before the first that is not `before`.
    pub fn count_before(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
