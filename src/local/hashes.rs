//! Hashes of words, of two things in order, and of groups of four letters.

/// The seed of a word's hash (FNV-1a).
pub(super) const SEED: u32 = 0x811c_9dc5;

/// A byte more.
#[inline]
pub(super) const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// The hash of two things in order.
#[inline]
pub(super) const fn join(a: u32, b: u32) -> u32 {
    let mixed = (a.rotate_left(13) ^ b).wrapping_mul(0x9e37_79b1);
    mixed ^ (mixed >> 15)
}

/// The hash of a name.
pub(super) fn hash(text: &str) -> u32 {
    text.bytes().fold(SEED, step)
}

/// The bytes of a text in small letters, ASCII or not.
pub(super) fn folded(text: &str) -> impl Iterator<Item = u8> {
    text.chars().flat_map(char::to_lowercase).flat_map(|c| {
        let mut utf8 = [0; 4];
        let length = c.encode_utf8(&mut utf8).len();
        utf8.into_iter().take(length)
    })
}

/// The most groups of letters that are kept of a word.
const MAX_GROUPS: usize = 8;
/// The shortest word that has groups, in letters.
const MIN_IN_GROUPS: usize = 4;

/// Hashes of four letters in a row, zero where there are no more.
pub(super) type Groups = [u32; MAX_GROUPS];

/// The groups of four letters of a word, its beginning and its end counted as letters: what inflected, compounded and
/// misspelt words have in common.
pub(super) fn groups(word: &str) -> Groups {
    let mut groups = Groups::default();
    let lower = |c: char| {
        if c.is_ascii() {
            c.to_ascii_lowercase()
        } else {
            c.to_lowercase().next().unwrap_or(c)
        }
    };
    if word.chars().take(MIN_IN_GROUPS).count() < MIN_IN_GROUPS {
        return groups;
    }
    let letters = std::iter::once('^')
        .chain(word.chars().map(lower))
        .chain(std::iter::once('$'));
    // Eight bits for each letter: after four more, nothing is left of it.
    let ends = letters.scan(0u32, |last, letter| {
        *last = (*last << 8) ^ u32::from(letter);
        Some(*last)
    });
    for (slot, four) in groups.iter_mut().zip(ends.skip(3)) {
        *slot = join(SEED, four) | 1;
    }
    groups
}

/// The hash of a word in any case.
pub(super) fn hash_of(word: &str) -> u32 {
    folded(word).fold(SEED, step)
}
