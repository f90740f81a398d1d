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
    let number = Number { candidate, context };
    let candidates = match candidate.digits.len() {
        9 => number.of_nine(),
        10 => number.of_ten(),
        11 => number.of_eleven(),
        12 => number.of_twelve(),
        13 => number.of_thirteen(),
        15 => number.of_fifteen(),
        _ => Vec::new(),
    };
    candidates
        .into_iter()
        .flatten()
        .max_by_key(|hit| (hit.confidence, std::cmp::Reverse(hit.datum)))
}

/// A number that stands alone, and the words around it.
struct Number<'c> {
    candidate: &'c Candidate<'c>,
    context: &'c Context<'c>,
}

impl Number<'_> {
    fn is_said(&self, words: &[&str]) -> bool {
        self.context.says(words) || self.context.is_called(words)
    }

    /// A hit of what checks: sure where the words around say it, `unsaid` where they do not. What checks is rare, so the words
    /// are asked for last.
    fn rated(&self, datum: Datum, valid: bool, words: &[&str], unsaid: Option<Confidence>) -> Option<Hit> {
        let said = valid && self.is_said(words);
        let confidence = if said { Some(High) } else { unsaid };
        confidence
            .filter(|_| valid)
            .map(|confidence| self.candidate.hit(datum, confidence))
    }

    fn swedish(&self, dashed: bool) -> Option<Hit> {
        let words = &["personnummer", "personnr", "personal identity", "pnr"];
        let form = dashed || self.candidate.is_bare();
        let valid = form && checksum::se_personnummer(&self.candidate.digits);
        self.rated(Datum::SePersonnummer, valid, words, dashed.then_some(High))
    }

    fn medicare(&self) -> Option<Hit> {
        let valid = checksum::au_medicare(&self.candidate.digits);
        self.rated(Datum::AuMedicare, valid, &["medicare"], None)
    }

    fn of_nine(&self) -> Vec<Option<Hit>> {
        let (candidate, digits) = (self.candidate, self.candidate.digits.as_slice());
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
        let american = || dashed || (candidate.is_bare() && self.is_said(words));
        let unsaid = (dashed && candidate.all_separators("-")).then_some(Medium);
        let triple = candidate.is_grouped(&[3, 3, 3]);
        let canadian = triple || candidate.is_bare();
        vec![
            self.rated(Datum::UsSsn, checksum::us_ssn(digits) && american(), words, unsaid),
            self.rated(Datum::UsItin, checksum::us_itin(digits) && american(), words, unsaid),
            self.rated(
                Datum::CaSin,
                canadian && checksum::ca_sin(digits),
                &["social insurance", "sin:", "sin number", "sin is", "sin "],
                triple.then_some(Low),
            ),
            self.rated(
                Datum::NlBsn,
                checksum::nl_bsn(digits),
                &["bsn", "burgerservice", "sofinummer", "sofi"],
                None,
            ),
            self.rated(Datum::AuTfn, checksum::au_tfn(digits), &["tfn", "tax file"], None),
        ]
    }

    fn of_ten(&self) -> Vec<Option<Hit>> {
        let (candidate, digits) = (self.candidate, self.candidate.digits.as_slice());
        let dashed = candidate.is_grouped(&[6, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
        let british = candidate.is_bare() || candidate.is_grouped(&[3, 3, 4]);
        let czech = candidate.is_grouped(&[6, 4]) && candidate.all_separators("/");
        vec![
            self.swedish(dashed),
            self.rated(Datum::UkNhs, british && checksum::uk_nhs(digits), &["nhs"], None),
            self.medicare(),
            self.rated(
                Datum::NationalId,
                czech && checksum::cz_birth_number(digits),
                &["rodné", "birth number"],
                Some(Medium),
            ),
        ]
    }

    fn of_eleven(&self) -> Vec<Option<Hit>> {
        let (candidate, digits) = (self.candidate, self.candidate.digits.as_slice());
        let dotted = candidate.is_grouped(&[3, 3, 3, 2]) && candidate.separated_by(&[".", ".", "-"]);
        let brazilian = dotted || candidate.is_bare();
        vec![
            self.rated(
                Datum::BrCpf,
                brazilian && checksum::br_cpf(digits),
                &["cpf", "cadastro de pessoa"],
                dotted.then_some(High),
            ),
            self.rated(
                Datum::DeSteuerId,
                checksum::de_steuer_id(digits),
                &["steuer", "idnr", "tax id", "tin", "identifikationsnummer"],
                Some(Low),
            ),
            self.rated(
                Datum::PlPesel,
                candidate.is_bare() && checksum::pl_pesel(digits),
                &["pesel"],
                Some(Low),
            ),
            self.medicare(),
        ]
    }

    fn of_twelve(&self) -> Vec<Option<Hit>> {
        let (candidate, digits) = (self.candidate, self.candidate.digits.as_slice());
        let grouped = candidate.is_grouped(&[4, 4, 4]) && ["-", " "].iter().any(|sign| candidate.all_separators(sign));
        let indian = matches!(digits.first(), Some(b'2'..=b'9')) && (grouped || candidate.is_bare());
        let dashed = candidate.is_grouped(&[8, 4]) && matches!(candidate.separators.as_slice(), ["-" | "+"]);
        let century = digits.starts_with(b"19") || digits.starts_with(b"20");
        vec![
            self.swedish(dashed).filter(|_| century),
            self.rated(
                Datum::InAadhaar,
                indian && checksum::verhoeff(digits),
                &["aadhaar", "aadhar", "uidai", "uid"],
                grouped.then_some(Medium),
            ),
        ]
    }

    fn of_thirteen(&self) -> Vec<Option<Hit>> {
        let (candidate, digits) = (self.candidate, self.candidate.digits.as_slice());
        let grouped = candidate.is_grouped(&[3, 4, 4, 2]);
        let unsaid = if grouped { High } else { Medium };
        let korean = candidate.is_grouped(&[6, 7]) && candidate.all_separators("-");
        vec![
            self.rated(
                Datum::ChAhv,
                (grouped || candidate.is_bare()) && checksum::ch_ahv(digits),
                &["ahv", "avs", "social security"],
                Some(unsaid),
            ),
            self.rated(
                Datum::NationalId,
                korean && checksum::kr_resident(digits),
                &["resident", "주민등록"],
                Some(Medium),
            ),
        ]
    }

    fn of_fifteen(&self) -> Vec<Option<Hit>> {
        let unsaid = if self.candidate.groups.len() > 1 { High } else { Medium };
        let words = &[
            "sécurité sociale",
            "securite sociale",
            "nir",
            "insee",
            "social security",
            "sécu",
        ];
        let valid = checksum::fr_nir(&self.candidate.digits);
        vec![self.rated(Datum::FrNir, valid, words, Some(unsaid))]
    }
}
