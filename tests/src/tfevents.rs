//! Reads TensorBoard event files, by the format's description and not by the code that writes them: every length, every
//! checksum, every field.

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Seconds since 1970 UTC.
    pub wall_s: f64,
    /// Iteration.
    pub step: u64,
    /// Content.
    pub what: What,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The first record of a file.
    Version(String),
    /// Later steps of older files are void from this step on.
    Restart,
    /// Values by tag.
    Values(Vec<(String, Value)>),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Scalar(f32),
    /// A PNG file.
    Image {
        /// Width and height, pixels.
        size_px: [u64; 2],
        /// The file.
        png: Vec<u8>,
    },
    /// Counts by upper end.
    Histogram {
        /// Smallest and largest value, number, sum, sum of squares.
        figures: [f64; 5],
        /// Upper ends of the bins.
        limits: Vec<f64>,
        /// Values in each.
        counts: Vec<f64>,
    },
}

/// Bit by bit, as the polynomial is defined.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & 0_u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

fn masked(bytes: &[u8]) -> u32 {
    let crc = crc32c(bytes);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8], String> {
    let (head, rest) = bytes
        .split_at_checked(n)
        .ok_or_else(|| format!("{n} bytes wanted, {} left", bytes.len()))?;
    *bytes = rest;
    Ok(head)
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
    take(bytes, N)?.try_into().map_err(|_| "length".to_owned())
}

/// A field of a message: its number and its content.
enum Field<'a> {
    Integer(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = array(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of more than ten bytes".to_owned())
}

fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, String> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Integer(varint(&mut bytes)?),
            1 => Field::Fixed64(array(&mut bytes)?),
            2 => {
                let n = usize::try_from(varint(&mut bytes)?).map_err(|e| e.to_string())?;
                Field::Bytes(take(&mut bytes, n)?)
            }
            5 => Field::Fixed32(array(&mut bytes)?),
            other => return Err(format!("wire type {other}")),
        };
        list.push((key >> 3, field));
    }
    Ok(list)
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string())
}

fn image(bytes: &[u8]) -> Result<Value, String> {
    let (mut size_px, mut png) = ([0; 2], Vec::new());
    for field in fields(bytes)? {
        match field {
            (1, Field::Integer(height)) => size_px[1] = height,
            (2, Field::Integer(width)) => size_px[0] = width,
            (3, Field::Integer(3)) => {}
            (4, Field::Bytes(bytes)) => png = bytes.to_vec(),
            (other, _) => return Err(format!("field {other} of an image")),
        }
    }
    Ok(Value::Image { size_px, png })
}

fn histogram(bytes: &[u8]) -> Result<Value, String> {
    let doubles = |bytes: &[u8]| -> Vec<f64> {
        let words = bytes.chunks_exact(8);
        words
            .map(|w| f64::from_le_bytes(std::array::from_fn(|i| w[i])))
            .collect()
    };
    let (mut figures, mut limits, mut counts) = ([f64::NAN; 5], Vec::new(), Vec::new());
    for field in fields(bytes)? {
        match field {
            (n @ 1..=5, Field::Fixed64(bytes)) => figures[n as usize - 1] = f64::from_le_bytes(bytes),
            (6, Field::Bytes(bytes)) => limits = doubles(bytes),
            (7, Field::Bytes(bytes)) => counts = doubles(bytes),
            (other, _) => return Err(format!("field {other} of a histogram")),
        }
    }
    Ok(Value::Histogram {
        figures,
        limits,
        counts,
    })
}

fn value(bytes: &[u8]) -> Result<(String, Value), String> {
    let (mut tag, mut value) = (String::new(), None);
    for field in fields(bytes)? {
        match field {
            (1, Field::Bytes(bytes)) => tag = text(bytes)?,
            (2, Field::Fixed32(bytes)) => value = Some(Value::Scalar(f32::from_le_bytes(bytes))),
            (4, Field::Bytes(bytes)) => value = Some(image(bytes)?),
            (5, Field::Bytes(bytes)) => value = Some(histogram(bytes)?),
            (other, _) => return Err(format!("field {other} of a value")),
        }
    }
    value
        .map(|value| (tag, value))
        .ok_or_else(|| "a value without content".to_owned())
}

fn event(bytes: &[u8]) -> Result<Event, String> {
    let (mut wall_s, mut step, mut what) = (f64::NAN, 0, None);
    for field in fields(bytes)? {
        match field {
            (1, Field::Fixed64(bytes)) => wall_s = f64::from_le_bytes(bytes),
            (2, Field::Integer(value)) => step = value,
            (3, Field::Bytes(bytes)) => what = Some(What::Version(text(bytes)?)),
            (5, Field::Bytes(bytes)) => {
                let mut values = Vec::new();
                for field in fields(bytes)? {
                    match field {
                        (1, Field::Bytes(bytes)) => values.push(value(bytes)?),
                        (other, _) => return Err(format!("field {other} of a summary")),
                    }
                }
                what = Some(What::Values(values));
            }
            // status START
            (7, Field::Bytes([0x08, 1])) => what = Some(What::Restart),
            (other, _) => return Err(format!("field {other} of an event")),
        }
    }
    Ok(Event {
        wall_s,
        step,
        what: what.ok_or("an event without content")?,
    })
}

/// All records of a file.
///
/// # Errors
/// What is wrong with it, and in which record.
pub fn read(mut bytes: &[u8]) -> Result<Vec<Event>, String> {
    let mut list: Vec<Event> = Vec::new();
    while !bytes.is_empty() {
        let mut record = || -> Result<Event, String> {
            let length: [u8; 8] = array(&mut bytes)?;
            if u32::from_le_bytes(array(&mut bytes)?) != masked(&length) {
                return Err("the checksum of the length is wrong".to_owned());
            }
            let n = usize::try_from(u64::from_le_bytes(length)).map_err(|e| e.to_string())?;
            let payload = take(&mut bytes, n)?;
            if u32::from_le_bytes(array(&mut bytes)?) != masked(payload) {
                return Err("the checksum of the payload is wrong".to_owned());
            }
            event(payload)
        };
        let next = record().map_err(|error| format!("record {}: {error}", list.len()))?;
        if list.is_empty() != matches!(next.what, What::Version(_)) {
            return Err(format!("record {}: a version comes first and once", list.len()));
        }
        list.push(next);
    }
    Ok(list)
}

/// Steps and values of one tag, in order.
#[must_use]
pub fn of_tag<'a>(events: &'a [Event], tag: &str) -> Vec<(u64, &'a Value)> {
    let mut found = Vec::new();
    for event in events {
        if let What::Values(values) = &event.what {
            let own = values.iter().filter(|(name, _)| name == tag);
            found.extend(own.map(|(_, value)| (event.step, value)));
        }
    }
    found
}

/// Every tag, sorted.
#[must_use]
pub fn tags(events: &[Event]) -> Vec<String> {
    let mut tags: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Values(values) => Some(values),
            _ => None,
        })
        .flatten()
        .map(|(tag, _)| tag.clone())
        .collect();
    tags.sort();
    tags.dedup();
    tags
}
