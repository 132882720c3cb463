//! Numbers from text, to the last bit or two.
//!
//! The standard library's exact conversion brings a table of ten kilobytes; what is shown here needs fewer digits.

/// A decimal number such as `-12.5e3`; `None` for anything else.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, exponent) = match rest.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?.clamp(-1000, 1000)),
        None => (rest, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut power = exponent;
    for (at, digit) in whole.bytes().chain(part.bytes()).enumerate() {
        let value = (digit as char).to_digit(10)?;
        let room = mantissa < 100_000_000_000_000_000;
        if room {
            mantissa = mantissa * 10 + u64::from(value);
        }
        // A digit behind the point divides by ten; one that no longer fits multiplies.
        power += i32::from(!room) - i32::from(at >= whole.len());
    }
    // Powers up to 22 are exact; larger ones go in two steps, so that the smallest numbers do not vanish on the way.
    let value = mantissa as f64;
    let half = power / 2;
    let value = if power.abs() <= 22 {
        scaled(value, power)
    } else {
        scaled(scaled(value, half), power - half)
    };
    Some(if negative { -value } else { value })
}

fn scaled(value: f64, power: i32) -> f64 {
    if value == 0.0 {
        0.0
    } else if power < 0 {
        value / 10_f64.powi(-power)
    } else {
        value * 10_f64.powi(power)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn numbers_agree_with_the_exact_conversion() {
        for text in [
            "0",
            "-0.0",
            "7",
            "-12.5e3",
            "0.025334596997715363",
            "30.661797849481015",
            "17179869184",
            "1e-15",
            "1E22",
            "0.1",
            "6.103515625e-05",
            "1e300",
            "123456789012345678901234567890",
            "4.9e-300",
            ".5",
            "5.",
            "+3",
        ] {
            let (found, exact) = (parse(text), text.parse::<f64>().ok());
            let (Some(found), Some(exact)) = (found, exact) else {
                panic!("{text}: {found:?} {exact:?}");
            };
            assert!((found - exact).abs() <= exact.abs() * 1e-14, "{text}: {found} {exact}");
        }
        assert_eq!(parse("0e999"), Some(0.0));
    }

    #[test]
    fn other_text_is_no_number() {
        for text in [
            "", "-", ".", "e5", "1e", "1.2.3", "0x1", "NaN", "inf", "1 2", "--1", "１",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
