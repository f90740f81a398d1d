use super::*;

#[test]
fn what_everybody_writes_is_no_surprise() {
    let surprise = |four: &[u8; 4]| surprise_of_four(*four);
    assert!(surprise(b"the ") < surprise(b"plac"));
    assert!(surprise(b"plac") < surprise(b"xprv"));
    assert!(surprise(b"tion") < surprise(b"ghp_"));
    assert_eq!(surprise(b"TION"), surprise(b"tion"));
}

#[test]
fn the_tables_are_whole() {
    assert_eq!(COMMONEST.len() % 4, 0);
    let all = || ALONE.iter().chain(BEHIND.into_iter().flatten());
    assert!(all().all(u8::is_ascii_hexdigit));
}
