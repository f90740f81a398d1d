//! The encoding of a body: its headers, and the body without its compression.

use std::io::Read;

use axum::body::Bytes;
use flate2::read::MultiGzDecoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use super::Refusal;
use crate::wire::Leniency;

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Gzip,
}

impl Encoding {
    /// Reads `Content-Encoding`.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let (value, more) = (values.next(), values.next());
        if more.is_some() {
            return Err(Refusal::Encoded);
        }
        let name = value
            .map_or(Ok(""), HeaderValue::to_str)
            .map_err(|_| Refusal::Encoded)?;
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Encoding::Plain),
            "gzip" | "x-gzip" => Ok(Encoding::Gzip),
            _ => Err(Refusal::Encoded),
        }
    }
}

/// Checks that the body is declared as JSON: `application/json`, a name of JSON-RPC, or `application/*+json`, with any parameters.
pub(super) fn declared_as_json(headers: &HeaderMap) -> Result<Option<Leniency>, Refusal> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    match essence.trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(None),
        "application/json-rpc" | "application/jsonrpc" | "application/jsonrequest" => Ok(Some(Leniency::ContentType)),
        other if other.starts_with("application/") && other.ends_with("+json") => Ok(Some(Leniency::ContentType)),
        _ => Err(Refusal::NotJson),
    }
}

/// Returns the body without its compression, of at most so many bytes: a small body may unfold to a thousand times its size.
pub(super) fn unpack(packed: &[u8], most: usize) -> Result<Bytes, Refusal> {
    let mut body = Vec::with_capacity(packed.len().saturating_mul(4).min(most));
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut body)
        .map_err(|_| Refusal::NotGzip)?;
    if body.len() > most {
        return Err(Refusal::TooLarge(most));
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
        assert_eq!(unpack(&bomb, 1 << 20), Err(Refusal::TooLarge(1 << 20)));
        assert_eq!(unpack(&packed(&[b'x'; 100]), 100).unwrap().len(), 100);
        assert_eq!(unpack(&packed(&[b'x'; 101]), 100), Err(Refusal::TooLarge(100)));
        let twice = [packed(&[b'x'; 60]), packed(&[b'x'; 60])].concat();
        assert_eq!(unpack(&twice, 100), Err(Refusal::TooLarge(100)));
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
            assert_eq!(unpack(broken, 100), Err(Refusal::NotGzip), "{broken:?}");
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
            assert_eq!(of(values), Err(Refusal::Encoded), "{values:?}");
        }
        let typed = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            declared_as_json(&headers)
        };
        assert_eq!(typed("application/json; charset=utf-8"), Ok(None));
        for other in [
            "application/json-rpc",
            "Application/JSON-RPC ; v=2",
            "application/vnd.acme+json",
        ] {
            assert_eq!(typed(other), Ok(Some(Leniency::ContentType)), "{other}");
        }
        for refused in [
            "text/plain",
            "text/json",
            "application/jsonp",
            "application/x-www-form-urlencoded",
            "",
        ] {
            assert_eq!(typed(refused), Err(Refusal::NotJson), "{refused}");
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
