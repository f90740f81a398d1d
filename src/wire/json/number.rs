//! Numbers that every reader reads alike.
//!
//! Most readers hold a number in a 64-bit double. One that a double cannot hold exactly means one thing to a reader with
//! big integers and another to the rest, so it is refused.

/// Significant digits beyond which a number is refused unseen; no double needs more than 767.
const MOST_DIGITS: usize = 800;

/// Whether a JSON number survives a double: as many significant digits of the double as were written are those written.
///
/// `0.1` and `1e10` and 2^60 do; 2^53 + 1, `1e999` and `1e-999` do not. `0.1` is no exact double, but it is the
/// double that every reader makes of it, and the text that every writer makes of that double.
pub(super) fn is_exact(number: &str) -> bool {
    // Up to 15 significant digits always survive (DBL_DIG), as long as the exponent is small.
    if number.len() <= 15 && !number.contains(['e', 'E']) {
        return true;
    }
    let Some(written) = Decimal::read(number) else {
        return false;
    };
    // An integer is meant to the last digit, zeros included; a fraction's trailing zeros mean nothing.
    let count = if number.contains(['.', 'e', 'E']) {
        written.digits.trim_end_matches('0').len()
    } else {
        written.digits.len()
    };
    if count == 0 {
        return true;
    }
    if count > MOST_DIGITS {
        return false;
    }
    let Ok(value) = number.parse::<f64>() else { return false };
    if !value.is_finite() {
        return false;
    }
    let printed = format!("{:.*e}", count - 1, value);
    Decimal::read(&printed).is_some_and(|printed| {
        printed.exponent == written.exponent
            && printed.digits.trim_end_matches('0') == written.digits.trim_end_matches('0')
    })
}

/// A decimal number without its sign: `0.DIGITS × 10^exponent`, without leading zeros.
#[derive(Debug)]
struct Decimal {
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn read(number: &str) -> Option<Self> {
        let unsigned = number.strip_prefix('-').unwrap_or(number);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { digits, exponent: 0 });
        }
        let leading = i64::try_from(all.len() - digits.len()).ok()?;
        let shift = i64::try_from(whole.len()).ok()? - leading;
        let exponent = exponent.parse::<i64>().ok()?.checked_add(shift)?;
        Some(Self { digits, exponent })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_double_holds_is_accepted() {
        for number in [
            "0",
            "-0",
            "0.0",
            "0e999",
            "0.000e-999",
            "1",
            "-1",
            "0.1",
            "0.30000000000000004",
            "1e10",
            "1E+10",
            "1e-7",
            "1152921504606846976",
            "9007199254740992",
            "9007199254740994",
            "-9007199254740991",
            "5e-324",
            "1.7976931348623157e308",
            "0.10000000000000000555",
            "3.00000000000000000000",
            "123456789012345",
            "1e22",
            "1e23",
            "0.1000000000000000000000000000",
        ] {
            assert!(is_exact(number), "{number}");
        }
    }

    #[test]
    fn what_a_double_cannot_hold_is_refused() {
        for number in [
            "9007199254740993",
            "-9007199254740993",
            "1e999",
            "-1e999",
            "1e-999",
            "1e99999999999999999999",
            "123456789012345678901234567890",
            "0.1000000000000000000000000000001",
            "3.14159265358979323846",
            "18446744073709551615",
            "1152921504606846977",
            "2e-324",
            "100000000000000000000000",
            "1113769911909976600",
        ] {
            assert!(!is_exact(number), "{number}");
        }
    }

    #[test]
    fn long_numbers_are_judged_quickly() {
        assert!(!is_exact(&"7".repeat(4_000)));
        assert!(!is_exact(&format!("1{}", "0".repeat(300))));
        assert!(is_exact(&format!("{:.0}", 2_f64.powi(1000))));
        assert!(is_exact(&format!("0.{}", "0".repeat(1_000_000))));
        assert!(!is_exact(&format!("0.{}1", "0".repeat(1_000_000))));
    }

    proptest! {
        #[test]
        fn every_double_that_is_printed_is_accepted(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            prop_assert!(is_exact(&serde_json::to_string(&value).unwrap()));
            for printed in [format!("{value:.20}"), format!("{value:.3e}"), format!("{value:.15e}"), format!("{value:.16e}")] {
                // Printing may round up to infinity, which is no number of JSON.
                prop_assert!(is_exact(&printed) || printed.parse::<f64>().is_ok_and(f64::is_infinite), "{}", printed);
            }
        }

        #[test]
        fn integers_are_exact_up_to_two_to_the_53(value in -(1_i64 << 53)..=(1_i64 << 53)) {
            prop_assert!(is_exact(&value.to_string()));
        }

        #[test]
        fn integers_beyond_are_exact_when_they_come_back(value in any::<i64>()) {
            let back = format!("{:.0}", value as f64);
            prop_assert_eq!(is_exact(&value.to_string()), back == value.to_string());
        }
    }
}
