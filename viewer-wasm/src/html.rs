//! Pieces of HTML as text.

/// Text made safe between tags and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Adds pieces behind each other: smaller in the bundle than a format with as many places.
#[inline(never)]
pub(crate) fn put(out: &mut String, pieces: &[&str]) {
    for piece in pieces {
        out.push_str(piece);
    }
}

/// A count with thin spaces between thousands.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Bytes with a binary unit.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit < 4 {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Seconds as people say them.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_becomes_markup() {
        assert_eq!(
            escape("<img src=x onerror='a'>\"&"),
            "&lt;img src=x onerror=&#39;a&#39;&gt;&quot;&amp;"
        );
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!(
            (count(999.0).as_str(), count(-1000.0).as_str()),
            ("999", "-1\u{202f}000")
        );
        assert_eq!(
            [0.0, 1536.0, 786_432.0, 17_179_869_184.0].map(bytes),
            ["0 B", "1.50 KiB", "768 KiB", "16.0 GiB"]
        );
        assert_eq!(
            [3.21, 75.0, 7290.0].map(duration),
            ["3.2 s", "1 min 15 s", "2 h 01 min"]
        );
    }
}
