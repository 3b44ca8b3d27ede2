//! Texts of random words, which a compressor finds about as hard as words of a dictionary.

use std::sync::OnceLock;

use tpchgen::random::RowRandomInt;

use super::stream;

const VOCABULARY: usize = 100_000;
const WORD_BYTES: (i32, i32) = (4, 14);
/// A hundred letters, each as often as in a hundred of English.
const LETTERS: &[u8; 100] =
    b"eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr\
ddddllllcccuuummwwffggyyppbvkxz";
const SEED: i64 = 20_120_731;

/// A text for each row.
pub struct Texts {
    random: RowRandomInt,
    words: u16,
    times: u16,
}

impl Texts {
    /// Texts of so many random words, said so many times, from the row `first` on.
    pub fn new(words: u16, times: u16, first: u64) -> Self {
        Self { random: stream(SEED, words.into(), first as i64), words, times }
    }

    /// Appends the next row's.
    pub fn put(&mut self, out: &mut Vec<u8>) {
        let (start, vocabulary) = (out.len(), vocabulary());
        for at in 0..self.words {
            if at > 0 {
                out.push(b' ');
            }
            let word = self.random.next_int(0, VOCABULARY as i32 - 1) as usize;
            out.extend_from_slice(
                &vocabulary.text[vocabulary.ends[word]..vocabulary.ends[word + 1]],
            );
        }
        self.random.row_finished();
        let said = start..out.len();
        for _ in 1..self.times {
            out.push(b' ');
            out.extend_from_within(said.clone());
        }
    }
}

/// Words one behind the other, and where each one begins and ends.
struct Vocabulary {
    text: Vec<u8>,
    ends: Vec<usize>,
}

fn vocabulary() -> &'static Vocabulary {
    static WORDS: OnceLock<Vocabulary> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut random = stream(SEED, 1, 0);
        let (mut text, mut ends) = (Vec::new(), vec![0]);
        for _ in 0..VOCABULARY {
            for _ in 0..random.next_int(WORD_BYTES.0, WORD_BYTES.1) {
                text.push(LETTERS[random.next_int(0, LETTERS.len() as i32 - 1) as usize]);
            }
            ends.push(text.len());
        }
        Vocabulary { text, ends }
    })
}
