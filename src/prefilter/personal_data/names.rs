//! The names under which personal data stands, in plain words, and how they are recognised in any spelling.

use std::sync::LazyLock;

use super::Datum;
use super::context::plain_name;
use crate::prefilter::{Gate, Word};

/// What names promise. The longest that fits decides.
#[rustfmt::skip]
const NAMES: &[(Datum, &[&str])] = &[
    (Datum::DateOfBirth, &[
        "date of birth", "birth date", "birthdate", "birthday", "born on", "dob", "d.o.b", "geburtsdatum",
        "geboren am", "date de naissance", "fecha de nacimiento", "data di nascita",
    ]),
    (Datum::DriverLicence, &[
        "driver license", "driver licence", "drivers license", "drivers licence", "driver's license",
        "driver's licence", "driver’s license", "driver’s licence", "driving license", "driving licence",
        "license number", "licence number", "dl", "dl number", "dl no", "dl#", "führerschein", "permis de conduire",
        "licencia de conducir",
    ]),
    (Datum::Passport, &[
        "passport", "reisepass", "passeport", "pasaporte",
    ]),
    (Datum::HealthId, &[
        "patient id", "patientid", "patient number", "patient no", "mrn", "medical record", "health card",
        "health insurance", "nhs number", "nhs no", "medicare", "medicaid",
    ]),
    (Datum::InsuranceId, &[
        "insurance number", "insurance id", "insurance no", "insurance policy", "policy number", "policy no",
        "member id", "member number", "subscriber id", "subscriber number", "versichertennummer",
    ]),
    (Datum::BankAccount, &[
        "account number", "account no", "acct number", "acct no", "bank account", "routing number", "routing",
        "sort code", "kontonummer",
    ]),
    (Datum::NationalId, &[
        "national id", "national identity", "national insurance number", "identity card", "id card",
        "social security", "ssn", "tax id", "tax number", "taxpayer id", "steuernummer", "personalausweis",
    ]),
    (Datum::Name, &[
        "full name", "first name", "last name", "middle name", "given name", "family name", "surname", "patient name",
        "customer name", "maiden name", "name",
    ]),
    (Datum::PostalAddress, &[
        "street", "street address", "home address", "postal address", "mailing address", "billing address",
        "shipping address", "address line", "address", "address1", "address2", "zip", "zip code", "postal code",
        "postcode",
    ]),
];

/// Names that make their container a record of a person.
#[rustfmt::skip]
const PERSONAL: &[&str] = &[
    "email", "e mail", "mail", "phone", "mobile", "tel", "cell", "fax", "ssn", "iban", "gender", "sex", "age",
    "nationality", "salary", "first name", "last name", "surname", "date of birth", "dob", "birth", "passport",
    "patient", "licence", "license", "address", "zip", "postcode", "payment method", "marital", "diagnosis",
    "symptoms", "insurance",
];

static SPELLINGS: LazyLock<Vec<(String, Datum)>> = LazyLock::new(|| {
    let mut spellings: Vec<(String, Datum)> = Vec::new();
    for (name, datum) in known() {
        for spelling in [
            name.to_owned(),
            name.replace(' ', "_"),
            name.replace(' ', "-"),
            name.replace(' ', ""),
        ] {
            if !spellings.iter().any(|(known, _)| *known == spelling) {
                spellings.push((spelling, datum));
            }
        }
    }
    spellings
});

/// Whether a container with members of these names describes a person.
pub(super) fn is_personal(name: &str) -> bool {
    let plain = plain_name(name);
    PERSONAL
        .iter()
        .any(|known| is_named(&plain, known) || plain.split(' ').any(|word| word == *known))
}

/// Whether a name is this known one, alone or at its end (`customer date of birth`), perhaps with a number word behind.
fn is_named(plain: &str, known: &str) -> bool {
    let tail_fits = |tail: &str| {
        matches!(
            tail,
            "" | " number" | " no" | " num" | " nr" | " id" | " code" | " 1" | " 2"
        )
    };
    plain.rfind(known).is_some_and(|at| {
        let free = at == 0 || plain.get(..at).is_some_and(|before| before.ends_with(' '));
        // `file name`, `host name`, `user name`: only a bare `name` is a person's.
        let bare = known != "name" || at == 0;
        // `ip address`, `email address` are other things.
        let postal = known != "address" || at == 0;
        free && bare && postal && plain.get(at + known.len()..).is_some_and(tail_fits)
    })
}

/// Every known name with what it promises.
fn known() -> impl Iterator<Item = (&'static str, Datum)> {
    NAMES
        .iter()
        .flat_map(|(datum, names)| names.iter().map(move |name| (*name, *datum)))
}

/// What a member of this name, in plain words, holds.
pub(super) fn meaning(plain: &str) -> Option<Datum> {
    /// Most names hold none of these.
    static GATE: LazyLock<Gate> = LazyLock::new(|| Gate::of([known().map(|(name, _)| Word::exact(name)).collect()]));
    GATE.sightings(plain).of(0).next()?;
    known()
        .filter(|(known, _)| is_named(plain, known))
        .max_by_key(|(known, _)| known.len())
        .map(|(_, datum)| datum)
}

/// The names, in every spelling.
pub(super) fn words() -> Vec<Word> {
    SPELLINGS.iter().map(|(spelling, _)| Word::any_case(spelling)).collect()
}

/// What the name at this place of [`words`] promises.
pub(super) fn datum(word: usize) -> Option<Datum> {
    SPELLINGS.get(word).map(|(_, datum)| *datum)
}
