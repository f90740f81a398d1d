//! National numbers that are digits with separators, each by its own check digits.
//!
//! A number with a form of its own is sure; one that any order number could be counts only when the words around it say what
//! it is.

use super::checksum as check;
use super::context::Context;
use super::digit_runs::Candidate;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};

/// How digits are grouped (`3-2-4`; `*` is any way), and how sure a number of this form is where no word says what it is.
type Form = (&'static str, Option<Confidence>);

/// A kind of number: its forms, its check, and the words that say what it is.
type National = (Datum, &'static [Form], fn(&[u8]) -> bool, &'static [&'static str]);

const AMERICAN: &[&str] = &[
    "social security",
    "ssn",
    "ss#",
    "social sec",
    "taxpayer",
    "tax id",
    "itin",
    "social",
];

#[rustfmt::skip]
const NATIONAL: &[National] = &[
    (Datum::UsSsn, &[("3-2-4", Some(Medium)), ("3 2 4", None), ("3.2.4", None), ("9", None)], check::us_ssn, AMERICAN),
    (Datum::UsItin, &[("3-2-4", Some(Medium)), ("3 2 4", None), ("3.2.4", None), ("9", None)], check::us_itin, AMERICAN),
    (Datum::CaSin, &[("3-3-3", Some(Low)), ("3 3 3", Some(Low)), ("3.3.3", Some(Low)), ("9", None)], check::ca_sin,
        &["social insurance", "sin:", "sin number", "sin is", "sin "]),
    (Datum::NlBsn, &[("*", None)], check::nl_bsn, &["bsn", "burgerservice", "sofinummer", "sofi"]),
    (Datum::AuTfn, &[("*", None)], check::au_tfn, &["tfn", "tax file"]),
    (Datum::AuMedicare, &[("*", None)], check::au_medicare, &["medicare"]),
    (Datum::SePersonnummer,
        &[("6-4", Some(High)), ("6+4", Some(High)), ("8-4", Some(High)), ("8+4", Some(High)), ("10", None), ("12", None)],
        check::se_personnummer, &["personnummer", "personnr", "personal identity", "pnr"]),
    (Datum::UkNhs, &[("3 3 4", None), ("3-3-4", None), ("10", None)], check::uk_nhs, &["nhs"]),
    (Datum::NationalId, &[("6/4", Some(Medium))], check::cz_birth_number, &["rodné", "birth number"]),
    (Datum::BrCpf, &[("3.3.3-2", Some(High)), ("11", None)], check::br_cpf, &["cpf", "cadastro de pessoa"]),
    (Datum::DeSteuerId, &[("*", Some(Low))], check::de_steuer_id,
        &["steuer", "idnr", "tax id", "tin", "identifikationsnummer"]),
    (Datum::PlPesel, &[("11", Some(Low))], check::pl_pesel, &["pesel"]),
    (Datum::InAadhaar, &[("4 4 4", Some(Medium)), ("4-4-4", Some(Medium)), ("12", None)], check::in_aadhaar,
        &["aadhaar", "aadhar", "uidai", "uid"]),
    (Datum::ChAhv, &[("13", Some(Medium)), ("3.4.4.2", Some(High)), ("3 4 4 2", Some(High)), ("3-4-4-2", Some(High))],
        check::ch_ahv, &["ahv", "avs", "social security"]),
    (Datum::NationalId, &[("6-7", Some(Medium))], check::kr_resident, &["resident", "주민등록"]),
    (Datum::FrNir, &[("15", Some(Medium)), ("*", Some(High))], check::fr_nir,
        &["sécurité sociale", "securite sociale", "nir", "insee", "social security", "sécu"]),
];

/// The national number that a candidate is, given the words around it; of several the surest.
pub(super) fn national(candidate: &Candidate<'_>, context: &Context<'_>) -> Option<Hit> {
    if !(9..=15).contains(&candidate.digits.len()) || !candidate.stands_alone() {
        return None;
    }
    let form = candidate.form();
    let rated = NATIONAL.iter().filter_map(|(datum, forms, check, words)| {
        let (_, unsaid) = forms.iter().find(|(known, _)| *known == "*" || *known == form)?;
        // What checks is rare, so the words are asked for last.
        let is_said = || context.says(words) || context.is_called(words);
        let confidence = check(&candidate.digits).then(|| if is_said() { Some(High) } else { *unsaid })?;
        Some(candidate.hit(*datum, confidence?))
    });
    rated.max_by_key(|hit| (hit.confidence, std::cmp::Reverse(hit.datum)))
}
