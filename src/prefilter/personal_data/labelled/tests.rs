use super::*;
use crate::prefilter::Keywords;

fn found(text: &str) -> Vec<(Datum, &str)> {
    let mut hits = Vec::new();
    find(text, Keywords::of([names::words()]).hits(text).of(0), &mut hits);
    hits.iter()
        .map(|hit| (hit.datum, text.get(hit.span.clone()).unwrap()))
        .collect()
}

#[test]
fn values_are_read_after_their_names_in_prose_and_in_data() {
    for (text, datum, value) in [
        (
            "Her date of birth is 12 April 1982, she said",
            Datum::DateOfBirth,
            "12 April 1982",
        ),
        (
            "driver's license number: D123-4567-8901.",
            Datum::DriverLicence,
            "D123-4567-8901",
        ),
        ("{\"patientId\": \"P1234567\"}", Datum::HealthId, "P1234567"),
        ("Passport No. X1234567 was lost", Datum::Passport, "X1234567"),
        (
            "Meine Steueridentifikationsnummer lautet 86 095 742 719.",
            Datum::NationalId,
            "86 095 742 719",
        ),
        ("numéro de passeport : 12AB34567", Datum::Passport, "12AB34567"),
        (
            "His policy number (ABX-9234-8821) has lapsed",
            Datum::InsuranceId,
            "ABX-9234-8821",
        ),
        ("<th>Passport</th><td>X1234567</td>", Datum::Passport, "X1234567"),
        (
            "<input name=\"passport\" value=\"X1234567\">",
            Datum::Passport,
            "X1234567",
        ),
        (
            "update my account number to 31926819 today",
            Datum::BankAccount,
            "31926819",
        ),
        ("SWIFT code: HARBCH22XXX", Datum::BankAccount, "HARBCH22XXX"),
        ("VIN: 1HGCM82633A004352.", Datum::VehicleId, "1HGCM82633A004352"),
        ("licence plate is LI-NF 4471", Datum::VehicleId, "LI-NF 4471"),
        (
            "the MAC address 3c:5a:b4:1f:22:90 joined",
            Datum::DeviceId,
            "3c:5a:b4:1f:22:90",
        ),
        ("PIN: 4471", Datum::CardDetail, "4471"),
        ("name: Nina van der Falk was late", Datum::Person, "Nina van der Falk"),
        (
            "home address: 12 Quay Road, Harbour",
            Datum::Location,
            "12 Quay Road, Harbour",
        ),
    ] {
        assert_eq!(found(text), [(datum, value)], "{text}");
    }
    assert_eq!(
        found("{\"mrn\": \"884210\", \"name\": \"Nina Falk\"}"),
        [(Datum::HealthId, "884210"), (Datum::Name, "Nina Falk")]
    );
}

#[test]
fn words_after_a_name_are_no_value() {
    for text in [
        "passport control is closed",
        "The policy number is required",
        "{\"name\": \"search_orders\"}",
        "your date of birth please",
        "shipping: 44710, spin: 4471",
        "the MAC address is checked",
        "BANK ACCOUNT REQUIRED",
        "name: the order",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn a_name_counts_only_in_a_record() {
    let datum = |name: &str, text: &str, in_record| whole(&plain_name(name), text, || in_record).map(|hit| hit.datum);
    assert_eq!(datum("name", "Nina Falk", true), Some(Datum::Name));
    assert_eq!(datum("name", "Nina Falk", false), Some(Datum::Person));
    assert_eq!(datum("fileName", "Nina Falk", true), None);
    assert_eq!(datum("dateOfBirth", "1982-04-12", false), Some(Datum::DateOfBirth));
    assert_eq!(
        datum("nationalIDNumber", "8801235111088", false),
        Some(Datum::NationalId)
    );
    assert!(
        names::is_personal("dateOfBirth") && names::is_personal("patient_id") && !names::is_personal("symptom_count")
    );
}
