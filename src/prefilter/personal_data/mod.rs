//! Personal data: addresses, phones, cards, accounts and national numbers by their form, other data by its name.
//!
//! Ordinary customer data must flow, so a finding here is evidence unless the organisation's policy masks it. Confidence says
//! how sure the form is: check digits are sure, a bare row of digits is a hint. Whether a person is real is not known here.

mod addresses;
mod cards;
mod checksum;
mod context;
mod digit_runs;
mod labelled;
mod names;
mod national;
mod numbers;
mod phones;
mod tokens;
mod values;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

use super::engine::rules::{self, NothingElse};
use super::engine::{RuleFile, RuleKey, RuleTable, rule_keys};
use super::{Family, KeywordHit, Prefilter, Subject, Word, Work};
use crate::model::{Confidence, Finding, ReasonCode, Rule, RuleObject, Treatment, View};
use crate::text::bytes::{ByteClasses, Digits};
use crate::text::spans::first_of_overlapping;
use crate::text::{DataError, data_file};

/// The family's name.
const FAMILY: &str = "personal_data";

/// The views that are read.
const VIEWS: &[View] = &[View::Raw, View::Normalized, View::Hidden, View::Decoded, View::Json];

/// Findings of one content that are reported one by one.
const MAX_HITS: usize = 1000;

/// Contents on either side that may be members of the same record.
const RECORD_REACH: usize = 48;

rule_keys! {
    /// A kind of personal data, one rule each; where two fit alike, the earlier is meant.
    enum Datum {
        PaymentCard = "payment_card",
        Iban = "iban",
        Email = "email",
        UsSsn = "us_ssn",
        UsItin = "us_itin",
        CaSin = "ca_sin",
        UkNhs = "uk_nhs",
        UkNino = "uk_nino",
        DeSteuerId = "de_steuer_id",
        FrNir = "fr_nir",
        EsDni = "es_dni",
        EsNie = "es_nie",
        ItCodiceFiscale = "it_codice_fiscale",
        NlBsn = "nl_bsn",
        PlPesel = "pl_pesel",
        BrCpf = "br_cpf",
        SePersonnummer = "se_personnummer",
        ChAhv = "ch_ahv",
        InAadhaar = "in_aadhaar",
        InPan = "in_pan",
        AuTfn = "au_tfn",
        AuMedicare = "au_medicare",
        IpAddress = "ip_address",
        DriverLicence = "driver_licence",
        Passport = "passport",
        HealthId = "health_id",
        InsuranceId = "insurance_id",
        NationalId = "national_id",
        BankAccount = "bank_account",
        DateOfBirth = "date_of_birth",
        CardDetail = "card_detail",
        DeviceId = "device_id",
        VehicleId = "vehicle_id",
        CryptoWallet = "crypto_wallet",
        Phone = "phone",
        Name = "name",
        PostalAddress = "postal_address",
        UserName = "user_name",
        Location = "location",
        Person = "person",
        Flood = "flood",
    }
}

/// Personal data in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hit {
    datum: Datum,
    /// The bytes of exactly the value, on character borders.
    span: Range<usize>,
    confidence: Confidence,
}

/// Its rules.
const RULES: RuleFile = RuleFile {
    data: data_file!("prefilter/rules/personal_data.toml"),
    family: FAMILY,
    reason: ReasonCode::PersonalData,
    suggests: Treatment::Evidence,
    object: RuleObject::Words,
};

/// The fields of a rule of this family beyond those of every rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// The names under which it stands, in plain words.
    #[serde(default)]
    names: Vec<String>,
}

/// The rules, and the names of their values.
struct DatumTable {
    rules: RuleTable<Datum>,
    names: Vec<(String, Datum)>,
}

static KNOWN: LazyLock<Result<DatumTable, DataError>> = LazyLock::new(read);

/// Every name of a value with what it promises.
fn known_names() -> impl Iterator<Item = (&'static str, Datum)> {
    // INVARIANT: a process that screens has read the rules at the start.
    let names = KNOWN.as_ref().map_or(&[][..], |known| known.names.as_slice());
    names.iter().map(|(name, datum)| (name.as_str(), *datum))
}

/// Reads the rules, and the names of their values.
fn read() -> Result<DatumTable, DataError> {
    let mut names = Vec::new();
    let mut found = Vec::new();
    let (read, NothingElse {}) = rules::read::<Data, _>(&RULES)?;
    for (rule, data) in read {
        let id = rule.id.strip_prefix(FAMILY).and_then(|id| id.strip_prefix('.'));
        let known = Datum::ALL.iter().find(|(_, known)| Some(*known) == id);
        if let Some((datum, _)) = known {
            names.extend(data.names.into_iter().map(|name| (name, *datum)));
        }
        found.push(rule);
    }
    let rules = RuleTable::of_file(&RULES, found)?;
    Ok(DatumTable { rules, names })
}

/// The family of rules that find personal data.
pub(super) struct PersonalData {
    rules: &'static RuleTable<Datum>,
}

impl PersonalData {
    /// Reads the rules and what they are found by.
    pub(super) fn new() -> Result<Self, DataError> {
        national::NUMBERS.check()?;
        let known = KNOWN.as_ref().map_err(Clone::clone)?;
        Ok(Self { rules: &known.rules })
    }
}

impl Family for PersonalData {
    fn family(&self) -> &'static str {
        FAMILY
    }

    fn rules(&self) -> &[Rule] {
        self.rules.rules()
    }
}

impl Prefilter for PersonalData {
    fn words(&self) -> Vec<Word> {
        names::words()
    }

    fn is_told_by_name(&self, label: &str) -> bool {
        names::meaning(&context::plain_name(label)).is_some()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let name = subject
            .content
            .label
            .as_deref()
            .map(context::plain_name)
            .unwrap_or_default();
        let mut taken: Vec<Range<usize>> = Vec::new();
        for view in subject.views.of_kind(VIEWS) {
            if view.kinds().has(ByteClasses::DIGIT) {
                subject.context.work(Work::Digit, view.text().len());
            }
            let mut hits = hits(view.text(), view.kinds(), subject.hits(view), &name);
            if view.view() == View::Raw {
                hits.extend(by_name(subject, &name));
                hits = best(hits);
            }
            for hit in hits {
                let raw = view.raw_span(hit.span.clone());
                if taken.iter().any(|other| other.start < raw.end && raw.start < other.end) {
                    continue;
                }
                let rule = self.rules.rule(hit.datum);
                let mut finding = rule.at(subject, view, hit.span, format!("{}.", rule.title));
                finding.confidence = hit.confidence;
                found.push(finding);
                taken.push(raw);
            }
        }
    }
}

/// Everything personal in a text that stands under this name, in plain words; in its order, without overlaps.
fn hits(text: &str, kinds: ByteClasses, words: impl Iterator<Item = KeywordHit>, name: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    labelled::find(text, words, &mut hits);
    if kinds.has(ByteClasses::AT) {
        addresses::emails(text, &mut hits);
    }
    if kinds.has(ByteClasses::DIGIT) {
        let digits = Digits(text.as_bytes());
        addresses::ips(text, digits, name, &mut hits);
        numbers::find(text, name, &mut hits);
        tokens::find(text, digits, name, &mut hits);
    }
    let hits = best(hits);
    if hits.len() > MAX_HITS {
        return vec![Hit {
            datum: Datum::Flood,
            span: 0..text.len(),
            confidence: Confidence::Medium,
        }];
    }
    hits
}

/// Keeps, of overlapping hits, the surest; among equally sure ones the more specific kind.
fn best(hits: Vec<Hit>) -> Vec<Hit> {
    let order = |hit: &Hit| (Reverse(hit.confidence), hit.datum, hit.span.start);
    first_of_overlapping(hits, |hit| hit.span.clone(), order)
}

/// Returns the hit on the whole content by the name it stands under, in plain words.
fn by_name(subject: &Subject<'_>, name: &str) -> Option<Hit> {
    labelled::whole(name, &subject.content.text, || has_personal_siblings(subject))
}

/// Returns `true` if other members of the content's container describe a person.
fn has_personal_siblings(subject: &Subject<'_>) -> bool {
    let own = &subject.content.pointer;
    let from = subject.content.id.index().saturating_sub(RECORD_REACH);
    let mut around = subject.step.contents.iter().skip(from).take(2 * RECORD_REACH);
    around.any(|other| {
        let is_personal = other.label.as_deref().is_some_and(names::is_personal);
        is_personal && other.pointer != *own && other.pointer.is_sibling_of(own)
    })
}

#[cfg(test)]
mod tests;
