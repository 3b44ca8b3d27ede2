//! Takes a packet's content apart; `None` where it ends too soon.

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next so many bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A whole number of one, three, four or nine bytes.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        match self.u8()? {
            byte @ 0..=250 => Some(u64::from(byte)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.u64(),
            _ => None,
        }
    }

    /// Bytes with their count before them.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.bytes(usize::try_from(count).ok()?)
    }

    /// Bytes up to a zero, which is taken too; all that is left where there is none.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (bytes, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or(&[]);
        bytes
    }
}
