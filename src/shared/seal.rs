//! The form of a value: a byte for the format's version, one for what was done to it, then the value, compressed and encrypted.
//!
//! An encrypted value is bound to its key's name, so that it cannot be put under another one. Where encryption is configured,
//! a value that is not encrypted is no value.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};

use super::Key;

/// The version of the form, raised when values change their meaning.
const VERSION: u8 = 1;
const COMPRESSED: u8 = 1;
const ENCRYPTED: u8 = 2;
/// Bytes from which a value is compressed.
const COMPRESSED_FROM: usize = 2 * 1024;
/// The fastest level: values are written after every step.
const LEVEL: u8 = 1;
/// Bytes that a value may unfold to.
const MAX: usize = 128 * 1024 * 1024;

/// Writes and reads values.
pub(super) struct Seal(Option<RandomizedNonceKey>);

impl Seal {
    /// Makes a seal; `None` where the key cannot be used.
    pub(super) fn new(key: Option<&Key>) -> Option<Self> {
        match key {
            None => Some(Self(None)),
            Some(Key(key)) => RandomizedNonceKey::new(&AES_256_GCM, key)
                .ok()
                .map(|key| Self(Some(key))),
        }
    }

    /// Returns a value in its written form; `None` where it cannot be encrypted.
    pub(super) fn close(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let mut flags = 0;
        let mut body = if value.len() >= COMPRESSED_FROM {
            flags |= COMPRESSED;
            miniz_oxide::deflate::compress_to_vec(value, LEVEL)
        } else {
            value.to_vec()
        };
        let Some(key) = &self.0 else {
            return Some([&[VERSION, flags], body.as_slice()].concat());
        };
        flags |= ENCRYPTED;
        let nonce = key.seal_in_place_append_tag(Aad::from(name), &mut body).ok()?;
        Some([&[VERSION, flags], nonce.as_ref().as_slice(), &body].concat())
    }

    /// Returns the value of a written form; `None` where it is of another version, altered, or of another key.
    pub(super) fn open(&self, name: &str, written: &[u8]) -> Option<Vec<u8>> {
        let (&[version, flags], body) = written.split_first_chunk::<2>()?;
        if version != VERSION || (flags & ENCRYPTED != 0) != self.0.is_some() {
            return None;
        }
        let mut body = body.to_vec();
        if let Some(key) = &self.0 {
            let (nonce, sealed) = body.split_first_chunk::<NONCE_LEN>()?;
            let (nonce, mut sealed) = (Nonce::assume_unique_for_key(*nonce), sealed.to_vec());
            let length = key.open_in_place(nonce, Aad::from(name), &mut sealed).ok()?.len();
            sealed.truncate(length);
            body = sealed;
        }
        if flags & COMPRESSED == 0 {
            return Some(body);
        }
        miniz_oxide::inflate::decompress_to_vec_with_limit(&body, MAX).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_only_unaltered_under_its_own_name_and_key() {
        let values = [Vec::new(), b"short".to_vec(), vec![7; 100_000]];
        for key in [None, Some(Key([1; 32]))] {
            let seal = Seal::new(key.as_ref()).unwrap();
            for value in &values {
                let written = seal.close("a", value).unwrap();
                assert!(written.len() < 10_000);
                assert_eq!(seal.open("a", &written).as_ref(), Some(value));
                let mut other = written.clone();
                other[0] = VERSION + 1;
                assert_eq!(seal.open("a", &other), None);
                for cut in 0..2 {
                    assert_eq!(seal.open("a", &written[..cut]), None);
                }
                let Some(key) = &key else { continue };
                assert_eq!(seal.open("b", &written), None);
                assert_eq!(Seal::new(Some(&Key([2; 32]))).unwrap().open("a", &written), None);
                assert_eq!(Seal::new(None).unwrap().open("a", &written), None);
                let plain = Seal::new(None).unwrap().close("a", value).unwrap();
                assert_eq!(Seal::new(Some(key)).unwrap().open("a", &plain), None);
                let at = written.len() - 1;
                other.clone_from(&written);
                other[at] ^= 1;
                assert_eq!(seal.open("a", &other), None);
            }
        }
    }
}
