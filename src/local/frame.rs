//! The frame of a model's file: a mark, the length of a header, the header as JSON, and what follows.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The header, and the bytes behind it.
///
/// # Errors
///
/// What is wrong with the bytes, for a message.
pub(crate) fn read<'b, H: DeserializeOwned>(
    bytes: &'b [u8],
    mark: &[u8; 8],
    max_header: usize,
) -> Result<(H, &'b [u8]), String> {
    let rest = bytes.strip_prefix(mark).ok_or("it does not begin like one")?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("it is cut")?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > max_header {
        return Err(format!(
            "its header has {length} bytes, and at most {max_header} are read"
        ));
    }
    let (header, rest) = rest.split_at_checked(length).ok_or("it is cut")?;
    let header = serde_json::from_slice(header).map_err(|error| format!("its header: {error}"))?;
    Ok((header, rest))
}

/// The bytes up to the end of the header.
pub(crate) fn written<H: Serialize>(header: &H, mark: &[u8; 8]) -> Vec<u8> {
    // A header of plain values is always JSON.
    let json = serde_json::to_vec(header).unwrap_or_default();
    let mut bytes = mark.to_vec();
    bytes.extend(u32::try_from(json.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(json);
    bytes
}
