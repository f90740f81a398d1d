use super::*;

fn is_any(rule: &str, number: &str) -> bool {
    let of_rule = |number: &&Number| number.data.rule == rule;
    NUMBERS
        .get()
        .iter()
        .filter(of_rule)
        .any(|known| known.is(number.as_bytes()))
}

#[test]
fn published_examples_pass_and_their_neighbours_do_not() {
    NUMBERS.check().unwrap();
    for (rule, number) in [
        ("uk_nhs", "9434765919"),
        ("de_steuer_id", "86095742719"),
        ("fr_nir", "255081416802538"),
        ("es_dni", "12345678Z"),
        ("es_nie", "X1234567L"),
        ("it_codice_fiscale", "RSSMRA85T10A562S"),
        ("nl_bsn", "111222333"),
        ("pl_pesel", "44051401359"),
        ("br_cpf", "52998224725"),
        ("se_personnummer", "8112189876"),
        ("se_personnummer", "198112189876"),
        ("ch_ahv", "7569217076985"),
        ("au_tfn", "123456782"),
        ("au_medicare", "2123456701"),
        ("ca_sin", "130692544"),
        ("us_ssn", "219099999"),
        ("us_itin", "900700000"),
        ("uk_nino", "AB123456C"),
        ("national_id", "11010519491231002X"),
    ] {
        assert!(is_any(rule, number), "{rule} {number}");
        let neighbour = match number.contains('1') {
            true => number.replacen('1', "2", 1),
            false => number.replacen('8', "9", 1),
        };
        let checks = !matches!(rule, "us_ssn" | "us_itin" | "uk_nino");
        assert!(!checks || !is_any(rule, &neighbour), "{rule} {neighbour}");
    }
    for (rule, number) in [
        ("us_ssn", "666123456"),
        ("us_itin", "900660000"),
        ("uk_nino", "GB123456C"),
    ] {
        assert!(!is_any(rule, number), "{rule} {number}");
    }
}

#[test]
fn every_expression_compiles() {
    for number in NUMBERS.get() {
        let spelled = number.spelled.iter().map(|(_, form)| &form.written);
        assert!(
            spelled.chain([&number.fits]).all(|one| one.regex().is_some()),
            "{}",
            number.data.rule
        );
    }
}

proptest::proptest! {
    #[test]
    fn nothing_panics(text in ".{0,40}", digits in "[0-9]{0,20}") {
        for number in NUMBERS.get() {
            number.is(text.as_bytes());
            number.is(digits.as_bytes());
        }
    }
}

#[test]
fn every_expression_of_the_table_compiles() {
    for number in NUMBERS.get() {
        let spelled = number.spelled.iter().map(|(_, form)| &form.written);
        assert!(
            spelled.chain([&number.fits]).all(|fits| fits.regex().is_some()),
            "{}",
            number.data.fits
        );
    }
}
