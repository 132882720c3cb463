//! TensorBoard's file format: records with checksums around protocol-buffer messages.
//!
//! A record is its length (u64, little endian), the masked CRC32C of those eight bytes, the payload, the masked CRC32C of
//! the payload (TFRecord, TensorFlow documentation). Each payload is an `Event` of TensorFlow's `event.proto`; of its
//! fields this module writes those that scalars, images and histograms need.

use std::io::{self, Write};

/// CRC32C (Castagnoli), bit-reversed polynomial.
const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ crc >> 8
    })
}

/// A checksum that is safe to store beside data that holds checksums.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Writes one record.
pub(super) fn write(out: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    let length = (payload.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked(&length).to_le_bytes())?;
    out.write_all(payload)?;
    out.write_all(&masked(payload).to_le_bytes())
}

/// A protocol-buffer message being written.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn integer(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        self.varint(value);
        self
    }

    fn double(mut self, field: u32, value: f64) -> Self {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn float(mut self, field: u32, value: f32) -> Self {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn doubles(self, field: u32, values: impl Iterator<Item = f64>) -> Self {
        let packed: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        self.bytes(field, &packed)
    }
}

/// A histogram as TensorBoard stores it. Smallest and largest value, sums and squares are those of the bins, because only
/// the bins are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bins<'a> {
    /// The ends of the bins, one more than `counts`.
    pub(super) edges: &'a [f64],
    /// Values in each bin.
    pub(super) counts: &'a [u32],
}

impl Bins<'_> {
    fn message(&self) -> Message {
        let spans = || self.edges.windows(2).map(|pair| (pair[0], pair[1])).zip(self.counts);
        let filled = || spans().filter(|(_, count)| **count > 0).map(|(span, _)| span);
        let sum = |of: fn(f64) -> f64| -> f64 {
            spans()
                .map(|((low, high), count)| f64::from(*count) * of(0.5 * (low + high)))
                .sum()
        };
        Message::default()
            .double(1, filled().next().map_or(0.0, |(low, _)| low))
            .double(2, filled().next_back().map_or(0.0, |(_, high)| high))
            .double(3, self.counts.iter().map(|count| f64::from(*count)).sum())
            .double(4, sum(|x| x))
            .double(5, sum(|x| x * x))
            .doubles(6, spans().map(|((_, high), _)| high))
            .doubles(7, self.counts.iter().map(|count| f64::from(*count)))
    }
}

/// An `Event` being written.
#[derive(Clone, Debug)]
pub(super) struct Event {
    head: Message,
    values: Message,
}

impl Event {
    /// An event at `wall_s`, seconds since 1970 UTC, of iteration `step`.
    pub(crate) fn new(wall_s: f64, step: u32) -> Self {
        Self {
            head: Message::default().double(1, wall_s).integer(2, step.into()),
            values: Message::default(),
        }
    }

    /// The first record of a file.
    pub(super) fn version(wall_s: f64) -> Vec<u8> {
        Message::default().double(1, wall_s).bytes(3, b"brain.Event:2").0
    }

    /// Says that whatever other files hold of `step` and later is void: a run goes on from there.
    pub(super) fn restart(wall_s: f64, step: u32) -> Vec<u8> {
        const START: u64 = 1;
        let log = Message::default().integer(1, START);
        Self::new(wall_s, step).head.bytes(7, &log.0).0
    }

    /// Adds a scalar.
    pub(super) fn scalar(&mut self, tag: &str, value: f32) {
        self.value(Message::default().bytes(1, tag.as_bytes()).float(2, value));
    }

    /// Adds an image that is encoded as PNG.
    pub(super) fn image(&mut self, tag: &str, [width, height]: [u32; 2], png: &[u8]) {
        const RGB: u64 = 3;
        let image = Message::default()
            .integer(1, height.into())
            .integer(2, width.into())
            .integer(3, RGB)
            .bytes(4, png);
        self.value(Message::default().bytes(1, tag.as_bytes()).bytes(4, &image.0));
    }

    /// Adds a histogram.
    pub(crate) fn histogram(&mut self, tag: &str, bins: &Bins<'_>) {
        self.value(Message::default().bytes(1, tag.as_bytes()).bytes(5, &bins.message().0));
    }

    fn value(&mut self, value: Message) {
        let values = std::mem::take(&mut self.values);
        self.values = values.bytes(1, &value.0);
    }

    /// The payload of a record; none when nothing was added.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        let Self { head, values } = self;
        (!values.0.is_empty()).then(|| head.bytes(5, &values.0).0)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn checksums_are_castagnolis() {
        // RFC 3720, B.4
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn the_first_record_byte_for_byte() {
        let mut out = Vec::new();
        write(&mut out, &Event::version(1.5)).unwrap();
        assert_eq!(out[..8], 24_u64.to_le_bytes());
        assert_eq!(out[8..12], masked(&24_u64.to_le_bytes()).to_le_bytes());
        let payload = b"\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0dbrain.Event:2";
        assert_eq!(out[12..36], payload[..]);
        assert_eq!(out[36..], masked(payload).to_le_bytes());
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let bytes = |value| Message::default().integer(2, value).0;
        assert_eq!(bytes(0), [0x10, 0]);
        assert_eq!(bytes(127), [0x10, 127]);
        assert_eq!(bytes(300), [0x10, 0xac, 2]);
        assert_eq!(bytes(u64::MAX).len(), 11);
    }

    #[test]
    fn an_event_without_values_is_none() {
        assert_eq!(Event::new(0.0, 1).finish(), None);
        let mut event = Event::new(0.0, 1);
        event.scalar("a", 1.0);
        let mut payload = vec![
            9, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 0x2a, 10, 0x0a, 8, 0x0a, 1, b'a', 0x15,
        ];
        payload.extend(1.0_f32.to_le_bytes());
        assert_eq!(event.finish(), Some(payload));
    }
}
