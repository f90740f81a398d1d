//! Bytes spelled in the rarer alphabets: base32, base36, base45, base58, base62, the three of base85, and uuencoding.
//!
//! Each reader answers bytes or nothing; whether these are a text is for the caller to say.

/// The longest block of base58 and its like: reading it takes time that grows with the square of its length.
const LONGEST_NUMBER: usize = 1024;

/// Base32 (RFC 4648), in the ordinary alphabet or in the one that goes on from the digits, in either case, without padding.
pub(super) fn base32(letters: &[u8]) -> [Option<Vec<u8>>; 2] {
    let lower = letters.iter().any(u8::is_ascii_lowercase);
    if lower && letters.iter().any(u8::is_ascii_uppercase) || !matches!(letters.len() % 8, 0 | 2 | 4 | 5 | 7) {
        return [None, None];
    }
    let extended = |byte: u8| match byte.to_ascii_uppercase() {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        letter @ b'A'..=b'V' => Some(letter - b'A' + 10),
        _ => None,
    };
    [ordinary_base32(letters), fives(letters, extended)]
}

/// Base32 in the ordinary alphabet, in any mix of cases and of any length.
pub(crate) fn ordinary_base32(letters: &[u8]) -> Option<Vec<u8>> {
    fives(letters, |byte| match byte.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => Some(letter - b'A'),
        digit @ b'2'..=b'7' => Some(digit - b'2' + 26),
        _ => None,
    })
}

/// Bytes of five bits a letter.
fn fives(letters: &[u8], value: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() * 5 / 8);
    let (mut bits, mut count) = (0u32, 0u32);
    for letter in letters {
        bits = bits << 5 | u32::from(value(*letter)?);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// An alphabet in which bytes are written as one great number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Great {
    /// Digits and small letters, or capitals for them.
    Base36,
    /// Base58, as addresses of coins are written in it: without the signs that look alike.
    Base58,
    /// Digits, capitals, small letters.
    Base62,
    /// Digits, small letters, capitals.
    Base62Small,
    /// Capitals, small letters, digits.
    Base62Letters,
}

impl Great {
    /// The alphabets in which few texts are written, so that a look at their end is taken first.
    pub(super) const RARE: [Self; 4] = [Self::Base62, Self::Base62Small, Self::Base62Letters, Self::Base36];

    const fn base(self) -> u64 {
        match self {
            Great::Base36 => 36,
            Great::Base58 => 58,
            Great::Base62 | Great::Base62Small | Great::Base62Letters => 62,
        }
    }

    fn digit(self, letter: u8) -> Option<u64> {
        const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        let [digits, small, capitals] = match self {
            Great::Base58 => {
                return BASE58
                    .iter()
                    .position(|known| *known == letter)
                    .map(|digit| digit as u64);
            }
            Great::Base36 => [0, 10, 10],
            Great::Base62 => [0, 36, 10],
            Great::Base62Small => [0, 10, 36],
            Great::Base62Letters => [52, 26, 0],
        };
        Some(match letter {
            b'0'..=b'9' => digits + u64::from(letter - b'0'),
            b'a'..=b'z' => small + u64::from(letter - b'a'),
            b'A'..=b'Z' => capitals + u64::from(letter - b'A'),
            _ => return None,
        })
    }

    /// The last eight bytes that letters spell: a look at them costs next to nothing.
    pub(super) fn last(self, letters: &[u8]) -> Option<[u8; 8]> {
        let base = self.base();
        let number = letters.iter().try_fold(0u64, |number, letter| {
            Some(number.wrapping_mul(base).wrapping_add(self.digit(*letter)?))
        });
        number.map(u64::to_be_bytes)
    }

    /// The bytes that letters spell.
    pub(super) fn bytes(self, letters: &[u8]) -> Option<Vec<u8>> {
        /// So many letters are read at once: their number fits into half a word.
        const AT_ONCE: usize = 5;
        if letters.len() > LONGEST_NUMBER {
            return None;
        }
        // The number in pieces of 32 bits, the least first.
        let mut number: Vec<u32> = Vec::new();
        for group in letters.chunks(AT_ONCE) {
            let (mut carry, mut scale) = (0u64, 1u64);
            for letter in group {
                carry = carry * self.base() + self.digit(*letter)?;
                scale *= self.base();
            }
            for piece in &mut number {
                let product = u64::from(*piece) * scale + carry;
                *piece = product as u32;
                carry = product >> 32;
            }
            if carry > 0 {
                number.push(carry as u32);
            }
        }
        let bytes = number.iter().rev().flat_map(|piece| piece.to_be_bytes());
        Some(bytes.skip_while(|byte| *byte == 0).collect())
    }
}

/// What stands for no sign of an alphabet.
const NO_SIGN: u8 = u8::MAX;

/// The place of each byte in an alphabet.
const fn places(alphabet: &[u8]) -> [u8; 256] {
    let mut places = [NO_SIGN; 256];
    let mut place = 0;
    while place < alphabet.len() {
        #[allow(clippy::indexing_slicing, reason = "constant evaluation, within bounds")]
        {
            places[alphabet[place] as usize] = place as u8;
        }
        place += 1;
    }
    places
}

/// An alphabet of 85 signs, five of which spell four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base85 {
    /// Every sign from `!` to `u`, and `z` for four zeros.
    Ascii,
    /// The alphabet of RFC 1924, which Git and Python use.
    Git,
    /// The alphabet of ZeroMQ.
    Z,
}

impl Base85 {
    pub(super) const ALL: [Self; 3] = [Self::Ascii, Self::Git, Self::Z];

    fn value(self, byte: u8) -> Option<u32> {
        const GIT: [u8; 256] =
            places(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~");
        const Z: [u8; 256] =
            places(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#");
        let place = |alphabet: &[u8; 256]| {
            let place = alphabet.get(usize::from(byte)).copied().unwrap_or(NO_SIGN);
            (place != NO_SIGN).then_some(u32::from(place))
        };
        match self {
            Base85::Ascii => (b'!'..=b'u').contains(&byte).then(|| u32::from(byte - b'!')),
            Base85::Git => place(&GIT),
            Base85::Z => place(&Z),
        }
    }

    /// The bytes that these signs spell.
    pub(super) fn bytes(self, signs: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(signs.len() / 5 * 4 + 4);
        for group in signs.chunks(5) {
            if group.len() == 1 {
                return None;
            }
            let mut number = 0u64;
            for place in 0..5 {
                let value = match group.get(place) {
                    Some(sign) => self.value(*sign)?,
                    // What is missing of the last group counts as its greatest sign.
                    None => 84,
                };
                number = number * 85 + u64::from(value);
            }
            let number = u32::try_from(number).ok()?.to_be_bytes();
            bytes.extend(number.iter().take(group.len() - 1));
        }
        Some(bytes)
    }
}

/// Base45 as far as it goes: how many signs were read, and the bytes that they spell.
pub(super) fn base45(signs: &[u8]) -> (usize, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut read = 0;
    for group in signs.chunks(3) {
        let number = group.iter().rev().try_fold(0u32, |number, sign| {
            let value = base45_value(*sign)?;
            Some(number * 45 + value)
        });
        match (number.map(u16::try_from), group.len()) {
            (Some(Ok(number)), 3) => bytes.extend(number.to_be_bytes()),
            (Some(Ok(number)), 2) if number < 256 => bytes.push(number as u8),
            _ => break,
        }
        read += group.len();
    }
    (read, bytes)
}

/// The value of a sign of base45.
pub(super) fn base45_value(sign: u8) -> Option<u32> {
    Some(match sign {
        b'0'..=b'9' => u32::from(sign - b'0'),
        b'A'..=b'Z' => u32::from(sign - b'A') + 10,
        b' ' => 36,
        b'$' => 37,
        b'%' => 38,
        b'*' => 39,
        b'+' => 40,
        b'-' => 41,
        b'.' => 42,
        b'/' => 43,
        b':' => 44,
        _ => return None,
    })
}

/// A line of uuencoded text: its first sign tells how many bytes the others spell.
pub(super) fn uuencoded(line: &[u8]) -> Option<Vec<u8>> {
    let (length, signs) = line.split_first()?;
    let length = usize::from(length.checked_sub(b' ')?) & 0x3f;
    if length == 0 || signs.len() < length.div_ceil(3) * 4 - 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(length + 2);
    for group in signs.chunks(4) {
        let mut number = 0u32;
        for place in 0..4 {
            let sign = group.get(place).copied().unwrap_or(b' ');
            let value = sign.checked_sub(b' ').filter(|value| *value <= 64)?;
            number = number << 6 | u32::from(value & 0x3f);
        }
        bytes.extend(number.to_be_bytes().iter().skip(1));
    }
    bytes.truncate(length);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_spellings_are_read() {
        assert_eq!(base32(b"MZXW6YTBOI")[0].as_deref(), Some(&b"foobar"[..]));
        assert_eq!(base32(b"mzxw6ytb")[0].as_deref(), Some(&b"fooba"[..]));
        assert_eq!(base32(b"CPNMUOJ1E8")[1].as_deref(), Some(&b"foobar"[..]));
        assert_eq!(base32(b"Mixed234"), [None, None]);
        assert_eq!(
            Great::Base58.bytes(b"2NEpo7TZRRrLZSi2U").as_deref(),
            Some(&b"Hello World!"[..])
        );
        assert_eq!(Great::Base58.bytes(b"0OIl"), None);
        for (alphabet, letters) in [
            (Great::Base62, "T8dgcjRGkZ3aysdN"),
            (Great::Base62Small, "t8DGCJrgKz3AYSDn"),
            (Great::Base62Letters, "dInqmtbQujDk823X"),
            (Great::Base36, "fuvrsivvnfrbjwajo"),
        ] {
            let bytes = alphabet.bytes(letters.as_bytes());
            let last = alphabet.last(letters.as_bytes()).map(Vec::from);
            assert_eq!(
                last.as_deref(),
                bytes
                    .as_deref()
                    .and_then(|bytes| bytes.last_chunk::<8>())
                    .map(|last| &last[..])
            );
        }
        assert_eq!(
            Base85::Z.bytes(b"HelloWorld").as_deref(),
            Some(&[0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b][..])
        );
        assert_eq!(Base85::Ascii.bytes(b"87cURDZ").as_deref(), Some(&b"Hello"[..]));
        assert_eq!(Base85::Git.bytes(b"NM&qnZv").as_deref(), Some(&b"Hello"[..]));
        assert_eq!(base45(b"%69 VD92EX0"), (11, b"Hello!!".to_vec()));
        assert_eq!(uuencoded(b"#0V%T").as_deref(), Some(&b"Cat"[..]));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (base32(&bytes), Great::Base58.bytes(&bytes), base45(&bytes), uuencoded(&bytes));
            for alphabet in Great::RARE {
                let _ = (alphabet.last(&bytes), alphabet.bytes(&bytes));
            }
            for alphabet in Base85::ALL {
                let _ = alphabet.bytes(&bytes);
            }
        }
    }
}
