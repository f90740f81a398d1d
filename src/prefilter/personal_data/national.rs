//! National numbers that are digits with separators, each by its own check digits.
//!
//! A number with a form of its own is sure; one that any order number could be counts only when the words around it say what
//! it is.

use super::checksum;
use super::context::Context;
use super::islands::Candidate;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};

/// National numbers that are digits with separators.
pub(super) fn national(candidate: &Candidate<'_>, context: &Context<'_>) -> Option<Hit> {
    if !candidate.stands_alone() {
        return None;
    }
    let digits = candidate.digits.as_slice();
    let said = |words: &[&str]| context.says(words) || context.is_called(words);
    // What checks is rare, so the words around are asked for last.
    let rated = |datum, valid: bool, words: &[&str], unsaid: Option<Confidence>| {
        let said = valid && said(words);
        let confidence = if said { Some(High) } else { unsaid };
        confidence
            .filter(|_| valid)
            .map(|confidence| candidate.hit(datum, confidence))
    };
    let swedish = |dashed: bool| {
        let words = &["personnummer", "personnr", "personal identity", "pnr"];
        let form = dashed || candidate.is_bare();
        rated(
            Datum::SePersonnummer,
            form && checksum::se_personnummer(digits),
            words,
            dashed.then_some(High),
        )
    };
    let candidates = match digits.len() {
        9 => {
            let dashed =
                candidate.is_grouped(&[3, 2, 4]) && ["-", " ", "."].iter().any(|sign| candidate.all_separators(sign));
            let words = &[
                "social security",
                "ssn",
                "ss#",
                "social sec",
                "taxpayer",
                "tax id",
                "itin",
                "social",
            ];
            let american = || dashed || (candidate.is_bare() && said(words));
            let unsaid = (dashed && candidate.all_separators("-")).then_some(Medium);
            let triple = candidate.is_grouped(&[3, 3, 3]);
            let canadian = triple || candidate.is_bare();
            vec![
                rated(Datum::UsSsn, checksum::us_ssn(digits) && american(), words, unsaid),
                rated(Datum::UsItin, checksum::us_itin(digits) && american(), words, unsaid),
                rated(
                    Datum::CaSin,
                    canadian && checksum::ca_sin(digits),
                    &["social insurance", "sin:", "sin number", "sin is", "sin "],
                    triple.then_some(Low),
                ),
                rated(
                    Datum::NlBsn,
                    checksum::nl_bsn(digits),
                    &["bsn", "burgerservice", "sofinummer", "sofi"],
                    None,
                ),
                rated(Datum::AuTfn, checksum::au_tfn(digits), &["tfn", "tax file"], None),
            ]
        }
        10 => {
            let dashed = candidate.is_grouped(&[6, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
            let british = candidate.is_bare() || candidate.is_grouped(&[3, 3, 4]);
            vec![
                swedish(dashed),
                rated(Datum::UkNhs, british && checksum::uk_nhs(digits), &["nhs"], None),
                rated(Datum::AuMedicare, checksum::au_medicare(digits), &["medicare"], None),
                rated(
                    Datum::NationalId,
                    candidate.is_grouped(&[6, 4]) && candidate.all_separators("/") && checksum::cz_birth_number(digits),
                    &["rodné", "birth number"],
                    Some(Medium),
                ),
            ]
        }
        11 => {
            let dotted = candidate.is_grouped(&[3, 3, 3, 2]) && candidate.separated_by(&[".", ".", "-"]);
            let brazilian = dotted || candidate.is_bare();
            vec![
                rated(
                    Datum::BrCpf,
                    brazilian && checksum::br_cpf(digits),
                    &["cpf", "cadastro de pessoa"],
                    dotted.then_some(High),
                ),
                rated(
                    Datum::DeSteuerId,
                    checksum::de_steuer_id(digits),
                    &["steuer", "idnr", "tax id", "tin", "identifikationsnummer"],
                    Some(Low),
                ),
                rated(
                    Datum::PlPesel,
                    candidate.is_bare() && checksum::pl_pesel(digits),
                    &["pesel"],
                    Some(Low),
                ),
                rated(Datum::AuMedicare, checksum::au_medicare(digits), &["medicare"], None),
            ]
        }
        12 => {
            let grouped =
                candidate.is_grouped(&[4, 4, 4]) && ["-", " "].iter().any(|sign| candidate.all_separators(sign));
            let indian = matches!(digits.first(), Some(b'2'..=b'9')) && (grouped || candidate.is_bare());
            let dashed = candidate.is_grouped(&[8, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
            let century = digits.starts_with(b"19") || digits.starts_with(b"20");
            vec![
                swedish(dashed).filter(|_| century),
                rated(
                    Datum::InAadhaar,
                    indian && checksum::verhoeff(digits),
                    &["aadhaar", "aadhar", "uidai", "uid"],
                    grouped.then_some(Medium),
                ),
            ]
        }
        13 => {
            let grouped = candidate.is_grouped(&[3, 4, 4, 2]);
            let unsaid = if grouped { High } else { Medium };
            vec![
                rated(
                    Datum::ChAhv,
                    (grouped || candidate.is_bare()) && checksum::ch_ahv(digits),
                    &["ahv", "avs", "social security"],
                    Some(unsaid),
                ),
                rated(
                    Datum::NationalId,
                    candidate.is_grouped(&[6, 7]) && candidate.all_separators("-") && checksum::kr_resident(digits),
                    &["resident", "주민등록"],
                    Some(Medium),
                ),
            ]
        }
        15 => {
            let unsaid = if candidate.groups.len() > 1 { High } else { Medium };
            let words = &[
                "sécurité sociale",
                "securite sociale",
                "nir",
                "insee",
                "social security",
                "sécu",
            ];
            vec![rated(Datum::FrNir, checksum::fr_nir(digits), words, Some(unsaid))]
        }
        _ => Vec::new(),
    };
    candidates
        .into_iter()
        .flatten()
        .max_by_key(|hit| (hit.confidence, std::cmp::Reverse(hit.datum)))
}
