//! The body of a request: its announcement in the headers, and its bytes, without their compression.

use std::io::Read;
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue};

use crate::work::{NoRoom, Taken};

/// A body that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// It is larger than this many bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The connection broke off inside it.
    #[error("the body broke off")]
    Broken,
    /// It did not arrive in time.
    #[error("the body did not arrive in time")]
    TooSlow,
    /// It is compressed in another way than with gzip.
    #[error("expected a body without `Content-Encoding`, or with `gzip`")]
    Encoded,
    /// It is declared as gzip, and is none.
    #[error("the body is declared as gzip, and cannot be unpacked")]
    NotGzip,
    /// Others take all memory that there is for bodies.
    #[error("too much is under way")]
    NoRoom,
}

impl From<NoRoom> for BodyFault {
    fn from(NoRoom: NoRoom) -> Self {
        BodyFault::NoRoom
    }
}

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// None.
    Plain,
    /// Gzip.
    Gzip,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Result<Self, BodyFault> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let (value, more) = (values.next(), values.next());
        let name = value.map_or(Ok(""), HeaderValue::to_str).unwrap_or("?");
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" if more.is_none() => Ok(Encoding::Plain),
            "gzip" | "x-gzip" if more.is_none() => Ok(Encoding::Gzip),
            _ => Err(BodyFault::Encoded),
        }
    }
}

/// Reads what the headers say of a body of at most so many bytes.
///
/// # Errors
///
/// When such a body is not taken.
pub fn announced(headers: &HeaderMap, most: usize) -> Result<Encoding, BodyFault> {
    let encoding = Encoding::of(headers)?;
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(BodyFault::TooLarge(most));
    }
    Ok(encoding)
}

/// Reads a whole body and unpacks it. Bytes that have arrived count; a declared length does not. Until it is unpacked, a packed one counts as large as
/// it may become.
///
/// # Errors
///
/// When it is not taken.
pub async fn read(
    body: &mut BodyDataStream,
    encoding: Encoding,
    most: usize,
    timeout: Duration,
    arrived: &Taken,
) -> Result<Bytes, BodyFault> {
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| BodyFault::Broken)?;
            let length = whole.len() + chunk.len();
            if length > most {
                return Err(BodyFault::TooLarge(most));
            }
            arrived.grow(length).await?;
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    };
    let read = tokio::time::timeout(timeout, reading).await;
    let body = read.map_err(|_| BodyFault::TooSlow)??;
    if encoding == Encoding::Plain {
        return Ok(body);
    }
    arrived.grow(body.len().saturating_add(most)).await?;
    match tokio::task::spawn_blocking(move || unpack(&body, most)).await {
        Ok(unpacked) => unpacked,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Returns the body without its compression, of at most so many bytes: a small body may unfold to a thousand times its size.
fn unpack(packed: &[u8], most: usize) -> Result<Bytes, BodyFault> {
    let mut body = Vec::with_capacity(packed.len().saturating_mul(4).min(most));
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut body)
        .map_err(|_| BodyFault::NotGzip)?;
    if body.len() > most {
        return Err(BodyFault::TooLarge(most));
    }
    Ok(Bytes::from(body))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_body_unfolds_to_so_many_bytes_and_no_more() {
        let bomb = packed(&vec![b' '; 50 * 1024 * 1024]);
        assert_eq!(unpack(&bomb, 1 << 20), Err(BodyFault::TooLarge(1 << 20)));
        assert_eq!(unpack(&packed(&[b'x'; 100]), 100).unwrap().len(), 100);
        assert_eq!(unpack(&packed(&[b'x'; 101]), 100), Err(BodyFault::TooLarge(100)));
        let twice = [packed(&[b'x'; 60]), packed(&[b'x'; 60])].concat();
        assert_eq!(unpack(&twice, 100), Err(BodyFault::TooLarge(100)));
    }

    #[test]
    fn what_is_no_gzip_or_cut_short_is_refused() {
        let whole = packed(b"{}");
        for broken in [
            &b""[..],
            b"{}",
            &whole[..whole.len() - 1],
            &[&whole[..], b"{}"].concat(),
        ] {
            assert_eq!(unpack(broken, 100), Err(BodyFault::NotGzip), "{broken:?}");
        }
    }

    #[test]
    fn headers_say_how_a_body_is_written() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            Encoding::of(&headers)
        };
        assert_eq!(of(&[]), Ok(Encoding::Plain));
        assert_eq!(of(&["identity"]), Ok(Encoding::Plain));
        assert_eq!(of(&["GZIP"]), Ok(Encoding::Gzip));
        for values in [
            &["br"][..],
            &["gzip, gzip"],
            &["gzip", "gzip"],
            &["identity", "gzip"],
            &["deflate"],
        ] {
            assert_eq!(of(values), Err(BodyFault::Encoded), "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_packed_comes_back(body in prop::collection::vec(any::<u8>(), 0..2000)) {
            let unpacked = unpack(&packed(&body), 2000).unwrap();
            prop_assert_eq!(unpacked.as_ref(), body.as_slice());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes, 1000);
        }
    }
}
