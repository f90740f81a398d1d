//! Base 58 with a check sum, as addresses and keys of currencies are written.

use sha2::{Digest, Sha256};

/// Decodes base 58 with a check sum (Bitcoin): the last four bytes are the beginning of a double SHA-256 of those before.
pub(crate) fn base58check(letters: &[u8]) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    // Little-endian base 256; the longest format has 82 bytes.
    let mut number: Vec<u8> = Vec::with_capacity(90);
    for byte in letters.iter().take(120) {
        let digit = ALPHABET.iter().position(|have| have == byte)?;
        let mut carry = digit as u32;
        for place in &mut number {
            carry += u32::from(*place) * 58;
            *place = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        while carry > 0 {
            number.push(carry.to_le_bytes()[0]);
            carry >>= 8;
        }
    }
    // Every leading zero is written as one sign.
    number.extend(letters.iter().take_while(|byte| **byte == b'1').map(|_| 0));
    number.reverse();
    let (payload, sum) = number.split_last_chunk::<4>()?;
    let twice = Sha256::digest(Sha256::digest(payload));
    (twice.get(..4) == Some(sum.as_slice())).then(|| payload.to_vec())
}
