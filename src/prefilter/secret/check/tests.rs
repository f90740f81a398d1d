use proptest::prelude::*;

use super::*;

const ALL: &[Check] = &[
    Check::None,
    Check::Crc32Base62,
    Check::Jwt,
    Check::Jwe,
    Check::Base58check,
    Check::BasicAuth,
    Check::Pem,
    Check::Password,
    Check::StrongPassword,
    Check::UrlPassword,
    Check::UserPassword,
    Check::Setting,
    Check::StrongUserPassword,
    Check::DigitsAndLetters,
    Check::EncodedText,
    Check::Random,
    Check::SeedWords,
];

#[test]
fn one_wrong_letter_breaks_a_base58_sum() {
    assert!(base58check(b"5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ").is_some());
    assert!(base58check(b"5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK").is_none());
}

#[test]
fn a_password_is_neither_a_reference_nor_a_stand_in() {
    assert_eq!(password("t7Hq-22mV"), Opinion::Plausible);
    assert_eq!(password("changeme"), Opinion::Weak);
    for no in [
        "${DB_PASSWORD}",
        "********",
        "password",
        "Passwort",
        "Пароль",
        "パスワード",
        "xxxx",
        "<secret>",
        "",
    ] {
        assert_eq!(password(no), Opinion::Refuted, "{no}");
    }
}

proptest! {
    #[test]
    fn no_check_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), from in 0_usize..200, len in 0_usize..200) {
        for check in ALL {
            check.opinion(&bytes, from..from + len);
        }
    }
}
