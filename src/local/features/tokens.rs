//! Features of the words of a window: each word in its place, and the concepts that meet.

use super::Id;
use crate::local::lexicon::MASKS;
use crate::local::step_context::{Token, belonging};
use crate::local::voice::Voice;
use crate::local::words::{Shape, join};

/// The features of one word in its place, told one by one.
#[inline]
pub(in crate::local) fn of_word(voice: Voice, before: Option<&Token>, word: &Token, mut each: impl FnMut(Id)) {
    let seed = 0x9e37 + voice as u32;
    let own = plain(word);
    each(join(seed, own));
    if word.stem != word.hash && word.shape == Shape::Word {
        each(join(seed ^ 0x5700, word.stem));
    }
    for group in word.groups.into_iter().filter(|group| *group != 0) {
        each(join(seed ^ 0x6a00, group));
    }
    if let Some(before) = before {
        each(join(join(seed ^ 0xb100, plain(before)), own));
    }
    let mut concepts = word.concepts;
    while concepts != 0 {
        let bit = concepts.trailing_zeros();
        concepts &= concepts - 1;
        each(join(seed ^ 0xc000, bit));
        if word.first {
            each(join(seed ^ 0xcf00, bit));
        }
    }
}

/// The features of a window as a whole: concepts that meet in it or follow each other, how it begins its sentences, and how
/// much it belongs to the rest.
#[inline]
pub(in crate::local) fn of_window(voice: Voice, words: &[Token], mut each: impl FnMut(Id)) {
    let belonging = belonging(words);
    let seed = 0x3a7 + voice as u32;
    let (mut concepts, mut orders, mut before) = (0u64, 0u32, 0u64);
    let verb = MASKS.verb;
    for word in words {
        concepts |= word.concepts;
        orders += u32::from(word.first && word.concepts & verb != 0);
        if word.concepts != 0 {
            if before != 0 {
                pairs(before, word.concepts, |a, b| each(join(seed ^ 0x0de0, a * 64 + b)));
            }
            before = word.concepts;
        }
    }
    each(join(seed ^ 0xbe00, belonging));
    each(join(seed ^ 0xbe10, belonging * 4 + orders.min(3)));
    let mut first = concepts;
    while first != 0 {
        let a = first.trailing_zeros();
        first &= first - 1;
        let mut second = first;
        while second != 0 {
            let b = second.trailing_zeros();
            second &= second - 1;
            each(join(seed, a * 64 + b));
        }
    }
}

/// Every pair of a concept of one set and one of another.
#[inline]
pub(super) fn pairs(mut first: u64, second: u64, mut each: impl FnMut(u32, u32)) {
    while first != 0 {
        let a = first.trailing_zeros();
        first &= first - 1;
        let mut rest = second;
        while rest != 0 {
            each(a, rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

fn plain(word: &Token) -> u32 {
    match word.shape {
        Shape::Word => word.hash,
        Shape::Number => 1,
        Shape::Code => 2,
    }
}
