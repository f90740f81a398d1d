use proptest::prelude::*;

use super::*;

#[test]
fn published_examples_pass() {
    assert!(luhn(b"4539578763621486") && is_card_issuer(b"4539578763621486"));
    assert!(luhn(b"79927398713"));
    assert!(verhoeff(b"2363"));
    assert!(iban(b"GB82WEST12345698765432"));
    assert!(iban(b"DE89370400440532013000"));
    assert!(uk_nhs(b"9434765919"));
    assert!(de_steuer_id(b"86095742719"));
    assert!(fr_nir(b"255081416802538"));
    assert!(es_dni(b"12345678Z") && es_dni(b"X1234567L"));
    assert!(it_codice_fiscale(b"RSSMRA85T10A562S"));
    assert!(nl_bsn(b"111222333"));
    assert!(pl_pesel(b"44051401359"));
    assert!(br_cpf(b"52998224725"));
    assert!(se_personnummer(b"8112189876") && se_personnummer(b"198112189876"));
    assert!(ch_ahv(b"7569217076985"));
    assert!(au_tfn(b"123456782"));
    assert!(au_medicare(b"2123456701"));
    assert!(ca_sin(b"130692544"));
    assert!(us_ssn(b"219099999") && !us_ssn(b"666123456") && !us_ssn(b"078051120"));
    assert!(us_itin(b"900700000") && !us_itin(b"900660000"));
}

type Checks = [(&'static str, fn(&[u8]) -> bool); 17];

const CHECKS: Checks = [
    ("luhn", luhn),
    ("verhoeff", verhoeff),
    ("iban", iban),
    ("uk_nhs", uk_nhs),
    ("de_steuer_id", de_steuer_id),
    ("fr_nir", fr_nir),
    ("es_dni", es_dni),
    ("it_codice_fiscale", it_codice_fiscale),
    ("nl_bsn", nl_bsn),
    ("pl_pesel", pl_pesel),
    ("br_cpf", br_cpf),
    ("se_personnummer", se_personnummer),
    ("ch_ahv", ch_ahv),
    ("au_tfn", au_tfn),
    ("au_medicare", au_medicare),
    ("ca_sin", ca_sin),
    ("us_ssn", us_ssn),
];

proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for (_, check) in CHECKS {
            check(&bytes);
        }
        is_card_issuer(&bytes);
        us_itin(&bytes);
    }

    #[test]
    fn one_wrong_digit_never_passes_luhn_or_verhoeff(body in "[0-9]{8,18}", place in 0_usize..18, shift in 1_u8..10) {
        for check in [luhn as fn(&[u8]) -> bool, verhoeff] {
            let whole = (b'0'..=b'9').map(|last| [body.as_bytes(), &[last]].concat()).find(|number| check(number));
            let mut number = whole.expect("some check digit fits");
            let place = place % number.len();
            number[place] = b'0' + (number[place] - b'0' + shift) % 10;
            prop_assert!(!check(&number));
        }
    }

    #[test]
    fn exactly_one_pair_of_digits_completes_an_iban(tail in "[A-Z]{4}[0-9]{14}") {
        let fitting = (2..99).filter(|check| iban(format!("GB{check:02}{tail}").as_bytes())).count();
        prop_assert_eq!(fitting, 1);
    }
}
