//! The names under which personal data stands, in plain words, and how they are recognised in any spelling.
//!
//! The names themselves are data (`rules/personal_data.toml`). Short ones stand inside a hundred other words, so they count
//! only in capital letters or with the sign behind them that a key has.

use crate::prefilter::words::personal_data_names::PERSONAL;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Datum;
use super::context::plain_name;
use crate::prefilter::{Keywords, Word};

/// Names that stand for a person's only when no other word is before them: not `file name`, not `ip address`.
#[rustfmt::skip]
const ONLY_BARE: &[&str] = &[
    "name", "address", "nome", "nom", "nombre", "naam", "adresse", "adres", "pin", "routing", "mobile", "expiration date",
    "expiry date", "user id", "mac", "registration", "security code", "personal number", "fax",
];

/// Names of this many letters or fewer are short.
const SHORT: usize = 4;
/// Signs that stand behind a key.
const SIGNS: &[&str] = &[
    "\"", "'", ":", "=", ">", "<", ",", ";", "|", "\\", "#", "`", "*", " is", " |",
];

/// Words that stand behind a short name that is written out.
const NUMBERS: &[&str] = &[
    " number", "_number", "-number", "number", " no.", "_no", " nummer", "-nummer",
];

/// A name as it may stand in a text.
struct Spelling {
    word: Word,
    /// The number of bytes of the word that are the name: behind it may be a sign.
    name: usize,
    datum: Datum,
}

static SPELLINGS: LazyLock<Vec<Spelling>> = LazyLock::new(|| {
    let mut spellings: Vec<Spelling> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (name, datum) in super::known_names() {
        for accented in [name.to_owned(), unaccented(name)] {
            for text in [" ", "_", "-", ""].map(|joint| accented.replace(' ', joint)) {
                if !known.insert(text.clone()) {
                    continue;
                }
                let name = text.len();
                let spelling = |word| Spelling { word, name, datum };
                if text.chars().count() > SHORT {
                    spellings.push(spelling(Word::any_case(text)));
                    continue;
                }
                spellings.push(spelling(Word::exact(text.to_uppercase())));
                let signed = SIGNS.iter().map(|sign| Word::any_case(format!("{text}{sign}")));
                spellings.extend(signed.map(spelling));
                let counted = NUMBERS.iter().map(|number| Word::any_case(format!("{text}{number}")));
                spellings.extend(counted.map(spelling));
            }
        }
    }
    spellings
});

/// A name without its accents, as keys and hurried writers spell it.
fn unaccented(name: &str) -> String {
    name.nfd().filter(|c| !is_combining_mark(*c)).collect()
}

/// Returns `true` if a container with members of these names describes a person.
pub(super) fn is_personal(name: &str) -> bool {
    let plain = plain_name(name);
    PERSONAL
        .iter()
        .any(|known| is_named(&plain, known) || plain.split(' ').any(|word| word == *known))
}

/// Returns `true` if a name is this known one, alone or at its end (`customer date of birth`), perhaps with a number word behind.
fn is_named(plain: &str, known: &str) -> bool {
    let tail_fits = |tail: &str| {
        matches!(
            tail,
            "" | " number" | " no" | " num" | " nr" | " nummer" | " id" | " code" | " 1" | " 2"
        )
    };
    plain.rfind(known).is_some_and(|at| {
        let free = at == 0 || plain.get(..at).is_some_and(|before| before.ends_with(' '));
        let bare = at == 0 || !ONLY_BARE.contains(&known);
        free && bare && plain.get(at + known.len()..).is_some_and(tail_fits)
    })
}

/// Returns the datum that a member of this name, in plain words, holds. The longest name that fits decides.
pub(super) fn meaning(plain: &str) -> Option<Datum> {
    static PLAIN: LazyLock<Vec<(String, Datum)>> = LazyLock::new(|| {
        let both = |name: &str| [plain_name(name), plain_name(&unaccented(name))];
        let mut names: Vec<(String, Datum)> = super::known_names()
            .flat_map(|(name, datum)| both(name).map(|plain| (plain, datum)))
            .collect();
        // `driverlicense`, `taxid`: keys in one word.
        let joined: Vec<(String, Datum)> = names
            .iter()
            .filter(|(name, _)| name.contains(' '))
            .map(|(name, datum)| (name.replace(' ', ""), *datum))
            .collect();
        names.extend(joined);
        names
    });
    /// Most names hold none of these.
    static GATE: LazyLock<Keywords> =
        LazyLock::new(|| Keywords::of([PLAIN.iter().map(|(name, _)| Word::exact(name.as_str())).collect()]));
    GATE.hits(plain)
        .of(0)
        .filter_map(|seen| PLAIN.get(seen.word))
        .filter(|(known, _)| is_named(plain, known))
        .max_by_key(|(known, _)| known.len())
        .map(|(_, datum)| *datum)
}

/// The names, in every spelling.
pub(super) fn words() -> Vec<Word> {
    SPELLINGS.iter().map(|spelling| spelling.word.clone()).collect()
}

/// Returns the datum that the name at this place of [`words`] promises, and the number of bytes of the word that are the name.
pub(super) fn datum(word: usize) -> Option<(Datum, usize)> {
    SPELLINGS.get(word).map(|spelling| (spelling.datum, spelling.name))
}
