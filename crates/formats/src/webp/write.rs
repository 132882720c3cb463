//! Lossless WebP images, written.
//!
//! What pixels of Gaussians need and no more: each pixel less its left neighbour or not, channels less green or not,
//! whichever takes fewer bits, runs of one pixel, and a prefix code for each channel. Matches at a distance and codes for
//! parts of an image gain nothing on such values.

use super::huffman::Code;
use super::{MOST_SIDE, Pixel};
use crate::Error;

/// Longest run that one symbol codes, and the shortest that is worth it.
const MOST_RUN: usize = 4096;
const LEAST_RUN: usize = 3;
/// Symbols of literals and of lengths in the first code.
const GREENS: usize = 256 + 24;
/// Symbol of the distance to the left neighbour, and how many there are.
const LEFT: usize = 1;
const DISTANCES: usize = 40;
/// Mode of the predictor that takes the left neighbour.
const PREDICT_LEFT: usize = 1;

/// Bits, the lowest first.
#[derive(Default)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    open: u64,
    n_open: u32,
}

impl Bits {
    pub(crate) fn put(&mut self, value: u64, n: u32) {
        self.open |= value << self.n_open;
        self.n_open += n;
        while self.n_open >= 8 {
            self.bytes.push(self.open as u8);
            self.open >>= 8;
            self.n_open -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.n_open > 0 {
            self.bytes.push(self.open as u8);
        }
        self.bytes
    }
}

/// What is done to pixels before they are coded.
#[derive(Clone, Copy, Debug)]
struct Transforms {
    left: bool,
    green: bool,
}

impl Transforms {
    const ALL: [Self; 4] = [
        Self {
            left: false,
            green: false,
        },
        Self {
            left: true,
            green: false,
        },
        Self {
            left: false,
            green: true,
        },
        Self {
            left: true,
            green: true,
        },
    ];

    fn colour(self, [red, green, blue, alpha]: Pixel) -> Pixel {
        match self.green {
            true => [red.wrapping_sub(green), green, blue.wrapping_sub(green), alpha],
            false => [red, green, blue, alpha],
        }
    }

    /// The pixel at a place as it is coded.
    fn at(self, pixels: &[Pixel], width: usize, place: usize) -> Pixel {
        let own = self.colour(pixels[place]);
        if !self.left {
            return own;
        }
        // the first of a row looks up, the very first at opaque black
        let before = match (place, place % width) {
            (0, _) => [0, 0, 0, 255],
            (_, 0) => self.colour(pixels[place - width]),
            _ => self.colour(pixels[place - 1]),
        };
        [0, 1, 2, 3].map(|channel| own[channel].wrapping_sub(before[channel]))
    }

    /// Calls `token` for every literal and every run of the pixel before it.
    fn tokens(self, pixels: &[Pixel], width: usize, mut token: impl FnMut(Token)) {
        let mut before = None;
        let mut run = 0;
        let flush = |run: &mut usize, before: Option<Pixel>, token: &mut dyn FnMut(Token)| {
            match (*run, before) {
                (LEAST_RUN.., _) => token(Token::Run(*run)),
                (_, Some(pixel)) => (0..*run).for_each(|_| token(Token::Literal(pixel))),
                (_, None) => {}
            }
            *run = 0;
        };
        for place in 0..pixels.len() {
            let pixel = self.at(pixels, width, place);
            if before == Some(pixel) && run < MOST_RUN {
                run += 1;
                continue;
            }
            flush(&mut run, before, &mut token);
            token(Token::Literal(pixel));
            before = Some(pixel);
        }
        flush(&mut run, before, &mut token);
    }
}

enum Token {
    Literal(Pixel),
    Run(usize),
}

/// Symbol, extra bits and their number of a length.
fn length_symbol(length: usize) -> (usize, u64, u32) {
    let less = length - 1;
    if less < 4 {
        return (256 + less, 0, 0);
    }
    let highest = less.ilog2();
    let second = less >> (highest - 1) & 1;
    let n = highest - 1;
    (256 + 2 * highest as usize + second, (less & ((1 << n) - 1)) as u64, n)
}

/// How often each symbol comes: green and lengths, red, blue, alpha, distance.
struct Counts([Vec<u32>; 5]);

impl Counts {
    fn of(pixels: &[Pixel], width: usize, transforms: Transforms) -> (Self, f64) {
        let mut counts = [GREENS, 256, 256, 256, DISTANCES].map(|symbols| vec![0_u32; symbols]);
        let mut extra = 0_u64;
        transforms.tokens(pixels, width, |token| match token {
            Token::Literal([red, green, blue, alpha]) => {
                for (code, symbol) in [green, red, blue, alpha].into_iter().enumerate() {
                    counts[code][usize::from(symbol)] += 1;
                }
            }
            Token::Run(length) => {
                let (symbol, _, n) = length_symbol(length);
                counts[0][symbol] += 1;
                counts[4][LEFT] += 1;
                extra += u64::from(n);
            }
        });
        let bits = counts.iter().map(|counts| entropy(counts)).sum::<f64>() + extra as f64;
        (Self(counts), bits)
    }
}

/// Bits that symbols of these counts take at least, all together.
fn entropy(counts: &[u32]) -> f64 {
    let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let bits = |&count: &u32| f64::from(count) * libm::log2(total / f64::from(count));
    counts.iter().filter(|&&count| count > 0).map(bits).sum()
}

/// Writes an image of `width` pixels a row.
///
/// # Errors
/// [`Error::TooLarge`] when a side has more than 16383 pixels or none, or pixels are no whole rows.
pub(crate) fn encode(pixels: &[Pixel], width: usize) -> Result<Vec<u8>, Error> {
    let height = pixels.len() / width.max(1);
    let sides = 1..=MOST_SIDE;
    if !sides.contains(&width) || !sides.contains(&height) || width * height != pixels.len() {
        return Err(Error::TooLarge(format!(
            "an image of {width} x {height} pixels cannot be written; a side has 1 to {MOST_SIDE}"
        )));
    }
    let tried = Transforms::ALL.map(|transforms| (transforms, Counts::of(pixels, width, transforms)));
    let best = tried.into_iter().min_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    let Some((transforms, (counts, _))) = best else {
        return Err(Error::TooLarge("an image has no pixels".to_owned()));
    };
    let mut bits = Bits::default();
    bits.put(0x2f, 8);
    bits.put(width as u64 - 1, 14);
    bits.put(height as u64 - 1, 14);
    bits.put(u64::from(pixels.iter().any(|pixel| pixel[3] != 255)), 1);
    bits.put(0, 3);
    // decoders undo what is written last first
    if transforms.green {
        bits.put(1 | 2 << 1, 3);
    }
    if transforms.left {
        bits.put(1, 3);
        // one mode for blocks of 512 pixels: an image of one value, whose other codes are of one symbol too
        bits.put(7, 3);
        bits.put(0, 1);
        for symbol in [PREDICT_LEFT, 0, 0, 0, 0] {
            let mut counts = [0; 256];
            counts[symbol] = 1;
            Code::new(&counts).describe(&mut bits);
        }
    }
    bits.put(0, 1);
    // no cache of colours, one group of codes
    bits.put(0, 2);
    let mut codes = counts.0.map(|counts| Code::new(&counts));
    for code in &mut codes {
        code.describe(&mut bits);
    }
    let [greens, reds, blues, alphas, distances] = codes;
    transforms.tokens(pixels, width, |token| match token {
        Token::Literal([red, green, blue, alpha]) => {
            greens.put(&mut bits, green.into());
            reds.put(&mut bits, red.into());
            blues.put(&mut bits, blue.into());
            alphas.put(&mut bits, alpha.into());
        }
        Token::Run(length) => {
            let (symbol, extra, n) = length_symbol(length);
            greens.put(&mut bits, symbol);
            bits.put(extra, n);
            distances.put(&mut bits, LEFT);
        }
    });
    Ok(in_container(&bits.finish()))
}

fn in_container(data: &[u8]) -> Vec<u8> {
    let padded = data.len().next_multiple_of(2);
    let mut file = Vec::with_capacity(20 + padded);
    let word = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    file.extend(b"RIFF");
    file.extend(word(12 + padded));
    file.extend(b"WEBPVP8L");
    file.extend(word(data.len()));
    file.extend(data);
    file.resize(20 + padded, 0);
    file
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{channels, read};
    use super::*;

    fn noise(seed: u32) -> impl FnMut() -> u8 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }
    }

    /// The reader gives every pixel back: noise, runs of all lengths, one value, slopes, one row and one column.
    #[test]
    fn pixels_come_back() {
        let mut random = noise(5);
        let mut runs = Vec::new();
        for length in [1, 2, 3, 4, 5, 6, 9, 17, 100, 4095, 4096, 4097, 4098, 9000] {
            let pixel = [(); 4].map(|()| random() & 1);
            runs.extend(vec![pixel; length]);
        }
        let images: [(usize, Vec<Pixel>); 7] = [
            (64, (0..64 * 48).map(|_| [(); 4].map(|()| random())).collect()),
            (3, runs.clone()),
            (runs.len().min(MOST_SIDE), runs[..runs.len().min(MOST_SIDE)].to_vec()),
            (20, vec![[7, 8, 9, 255]; 400]),
            (1, vec![[0, 0, 0, 0]]),
            (
                100,
                (0..20_000_u32)
                    .map(|i| [(i / 80) as u8, (i / 81) as u8, (i / 79) as u8, 255])
                    .collect(),
            ),
            (
                700,
                (0..700 * 3_u32)
                    .map(|i| [i as u8, 0, 255, 252 + (i % 4) as u8])
                    .collect(),
            ),
        ];
        for (width, pixels) in images {
            let file = encode(&pixels, width).unwrap();
            let image = read(&file, usize::MAX).unwrap();
            let found: Vec<Pixel> = image.pixels.iter().map(|pixel| channels(*pixel)).collect();
            assert_eq!((image.width, &found), (width, &pixels));
            assert_eq!(found.as_flattened(), super::super::tests::rgba_of(&file));
        }
        assert!(encode(&[[0; 4]; 6], 4).is_err() && encode(&[], 4).is_err());
        assert!(encode(&vec![[0; 4]; MOST_SIDE + 1], MOST_SIDE + 1).is_err());
    }

    /// Slopes are coded by differences, grey ones by green.
    #[test]
    fn transforms_pay() {
        let slope: Vec<Pixel> = (0..10_000_u32)
            .map(|i| [(i * 3) as u8, (i * 3) as u8, (i * 3) as u8, 255])
            .collect();
        assert!(encode(&slope, 100).unwrap().len() < 200);
        let mut random = noise(9);
        let grey: Vec<Pixel> = (0..10_000).map(|_| random()).map(|v| [v, v, v, 255]).collect();
        assert!(encode(&grey, 100).unwrap().len() < 11_000);
    }
}
