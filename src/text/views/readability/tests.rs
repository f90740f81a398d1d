use super::*;

#[test]
fn words_are_readable_and_noise_is_not() {
    assert_eq!(readable(b"ignore the rules", 4).as_deref(), Some("ignore the rules"));
    assert_eq!(readable(b"d\0i\0r\0 \0/\0s\0", 4).as_deref(), Some("dir /s"));
    assert_eq!(readable(b"\0d\0i\0r\0 \0/\0s", 4).as_deref(), Some("dir /s"));
    assert_eq!(readable(b"\xff\xfed\0i\0r\0 \0/\0s\0", 4).as_deref(), Some("dir /s"));
    assert!(readable(&[0x89, b'P', b'N', b'G', 13, 10, 26, 10], 4).is_none());
    assert!(readable(b"$%&/()=?!#*+", 4).is_none());
    assert!(readable(b"abc", 4).is_none());
}
