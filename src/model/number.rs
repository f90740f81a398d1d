//! Numbers of JSON, and what readers make of them.
//!
//! A number is kept as it is written. Most readers hold it in a 64-bit double, which may be another number: an id of 64 bits loses
//! its last digits, `1e16` and `10000000000000000.0` become the same integer. Where a number is compared, both readings count.

/// The double nearest to a JSON number, as a plain decimal; `None` where that is the number's own text, where no double is near
/// (`1e400`), and for what is no number.
pub fn nearest_double(json: &str) -> Option<String> {
    let json = json.trim();
    if !json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = json.parse().ok()?;
    let text = value.is_finite().then(|| value.to_string())?;
    (text != json).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::nearest_double;

    #[test]
    fn the_other_reading_of_a_number() {
        for (written, nearest) in [
            ("9007199254740993", "9007199254740992"),
            ("4111111111111111.0", "4111111111111111"),
            ("4.111111111111111e15", "4111111111111111"),
            (" 1e3 ", "1000"),
            ("0.1000", "0.1"),
            ("1e-400", "0"),
        ] {
            assert_eq!(nearest_double(written).as_deref(), Some(nearest), "{written}");
        }
        for written in [
            "0", "17", "-3", "0.1", "1e400", "-1e999", "\"1e3\"", "inf", "NaN", "null", "", "[1]",
        ] {
            assert_eq!(nearest_double(written), None, "{written}");
        }
    }

    #[test]
    fn long_numbers_are_read_quickly() {
        assert_eq!(nearest_double(&"7".repeat(1_000_000)), None);
        assert!(nearest_double(&format!("0.{}1", "0".repeat(1_000_000))).is_some());
    }

    proptest! {
        #[test]
        fn integers_that_a_double_holds_have_one_reading(value in -(1_i64 << 53)..=(1_i64 << 53)) {
            prop_assert_eq!(nearest_double(&value.to_string()), None);
        }

        #[test]
        fn the_other_reading_is_the_same_double(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            if let Some(nearest) = nearest_double(&format!("{value:e}")) {
                prop_assert_eq!(nearest.parse::<f64>().unwrap(), value);
            }
        }
    }
}
