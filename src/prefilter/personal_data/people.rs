//! People by name in running text: after a title, a greeting, a closing, or the words that introduce them.
//!
//! A hint and no more: many organisations let names stay. Which capital words are names is not known here, only where names stand.

use super::values::person_run;
use super::{Datum, Hit};
use crate::model::Confidence::Low;
use crate::prefilter::Word;
use crate::prefilter::words::personal_data_people::NOBODY;

/// What stands before a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cue {
    /// `Mr.`: a name follows, wherever it stands.
    Title,
    /// `Dear`: a name and a comma.
    Greeting,
    /// `Kind regards`: a name on the next line.
    Closing,
    /// `my name is`.
    Introduction,
}

#[rustfmt::skip]
const CUES: &[(Cue, &[&str])] = &[
    (Cue::Title, &[
        "Mr. ", "Mr ", "Mrs. ", "Mrs ", "Ms. ", "Ms ", "Miss ", "Dr. ", "Dr ", "Prof. ", "Professor ", "Herr ", "Herrn ",
        "Frau ", "Monsieur ", "Madame ", "Mademoiselle ", "Mme ", "Mlle ", "Señor ", "Señora ", "Sr. ", "Sra. ", "Srta. ",
        "Doña ", "Signor ", "Signora ", "Sig. ", "Sig.ra ", "Dott. ", "Dott.ssa ", "Meneer ", "Mevrouw ", "Dhr. ", "Mevr. ",
        "Senhor ", "Senhora ",
    ]),
    (Cue::Greeting, &[
        "Dear ", "Hello ", "Hi ", "Hey ", "Liebe ", "Lieber ", "Hallo ", "Cher ", "Chère ", "Bonjour ", "Hola ", "Estimado ",
        "Estimada ", "Querido ", "Querida ", "Ciao ", "Caro ", "Cara ", "Gentile ", "Beste ", "Geachte ", "Olá ", "Prezado ",
        "Prezada ",
    ]),
    (Cue::Closing, &[
        "regards,", "Regards,", "incerely,", "wishes,", "aithfully,", "Cheers,", "Thanks,", "Grüßen", "Grüße", "Cordialement,",
        "alutations", "aludos,", "tentamente,", "Saluti", "saluti,", "groet,", "groeten,", "tenciosamente,", "umprimentos,",
    ]),
    (Cue::Introduction, &[
        "y name is ", "ein Name ist ", "ch heiße ", "e m'appelle ", "i nombre es ", "e llamo ", "i chiamo ", "ijn naam is ",
        "k heet ", "eu nome é ", "hamo-me ", "signed by ", "on behalf of ",
    ]),
];

/// The words of the gate, in the order of [`cue`].
pub(super) fn words() -> impl Iterator<Item = Word> {
    CUES.iter()
        .flat_map(|(_, words)| words.iter().map(|word| Word::exact(*word)))
}

fn cue(word: usize) -> Option<Cue> {
    CUES.iter()
        .flat_map(|(cue, words)| words.iter().map(move |_| *cue))
        .nth(word)
}

/// The name behind this word of [`words`], which ends here.
pub(super) fn find(text: &str, word: usize, start: usize, end: usize, hits: &mut Vec<Hit>) {
    let Some(cue) = cue(word) else { return };
    let free = !text
        .get(..start)
        .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-')));
    if !free && matches!(cue, Cue::Title | Cue::Greeting) {
        return;
    }
    let reach = text.floor_char_boundary(text.len().min(end + 100));
    let Some(rest) = text.get(end..reach) else { return };
    let body = match cue {
        Cue::Closing => {
            let body = rest.trim_start_matches([' ', '\r', '!', ',']);
            let Some(body) = body.strip_prefix('\n') else { return };
            body.trim_start_matches([' ', '\r', '\n'])
        }
        Cue::Title | Cue::Greeting | Cue::Introduction => rest.trim_start_matches(' '),
    };
    let Some(mut len) = person_run(body) else { return };
    let mut skipped = rest.len() - body.len();
    // `Dear Mr. Falk`: the title has a word of its own in the list.
    let name = body.get(..len).unwrap_or_default();
    let first = name.split([' ', '.']).next().unwrap_or_default();
    if NOBODY.contains(&first) {
        return;
    }
    let after = body.get(len..).unwrap_or_default();
    let stands = match cue {
        Cue::Title | Cue::Introduction => true,
        Cue::Greeting => {
            after
                .trim_start_matches(' ')
                .starts_with([',', '!', ':', '\n', '–', '-', '.'])
                || after.is_empty()
        }
        Cue::Closing => {
            let line = after.trim_start_matches([' ', '\r', '.']);
            line.is_empty() || line.starts_with(['\n', ',', '\\', '"', '|'])
        }
    };
    if !stands || !name.chars().any(char::is_lowercase) && name.chars().count() < 3 {
        return;
    }
    if name.ends_with('.') && !name.contains(' ') {
        len -= 1;
    }
    skipped += end;
    hits.push(Hit {
        datum: Datum::Person,
        span: skipped..skipped + len,
        confidence: Low,
    });
}
