//! Whole numbers as people type them: `30000`, `1e4`, `2M`, `500k`, `1_000_000`.

use std::fmt::Display;
use std::str::FromStr;

/// The number as YAML.
///
/// # Errors
/// What is expected.
pub(super) fn whole<T: FromStr + Display>(text: &str) -> Result<String, String> {
    let plain = text.replace('_', "");
    let number = match plain.parse::<T>() {
        Ok(number) => Some(number),
        Err(_) => scaled(&plain).and_then(|number| format!("{number}").parse().ok()),
    };
    number
        .map(|number| number.to_string())
        .ok_or_else(|| "a whole number is expected, such as 30000, 1e4 or 2M".to_owned())
}

/// `1e4`, `2M`, `500k`, `1.5M`, where they are whole.
fn scaled(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text
            .strip_suffix(['m', 'M'])
            .map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number = digits.parse::<f64>().ok().filter(|_| is_plain)? * factor;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_type_them() {
        for (text, number) in [
            ("30000", "30000"),
            ("1e4", "10000"),
            ("2M", "2000000"),
            ("500k", "500000"),
            ("1.5M", "1500000"),
            ("1_000_000", "1000000"),
            ("-1", "-1"),
        ] {
            assert_eq!(whole::<i64>(text).as_deref(), Ok(number));
        }
        for wrong in ["many", "", "1.5", "inf", "nan", "k", "1e99", "0x10"] {
            assert!(whole::<i64>(wrong).is_err(), "{wrong}");
        }
        assert!(whole::<u32>("-1").is_err() && whole::<u32>("5e9").is_err());
        assert_eq!(
            whole::<u64>("18446744073709551615").as_deref(),
            Ok("18446744073709551615")
        );
    }
}
