//! How far two pictures are apart.

/// Differences of two pictures of the same size, over all colour values of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean absolute difference, in steps of 8 bits.
    pub mean: f64,
    /// Largest difference, in steps of 8 bits.
    pub largest: u8,
    /// Peak signal-to-noise ratio, dB; infinite for equal pictures.
    pub psnr: f64,
}

/// Compares colour values one by one.
///
/// # Panics
/// When the lengths differ.
#[must_use]
pub fn difference(a: &[u8], b: &[u8]) -> Difference {
    assert_eq!(a.len(), b.len(), "pictures of different sizes");
    let n = a.len().max(1) as f64;
    let each = || a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    let squares: f64 = each().map(|d| f64::from(d).powi(2)).sum();
    Difference {
        mean: each().map(f64::from).sum::<f64>() / n,
        largest: each().max().unwrap_or(0),
        psnr: 10.0 * (255.0_f64.powi(2) / (squares / n)).log10(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_differences() {
        let one = difference(&[10, 20, 30, 40], &[10, 22, 30, 38]);
        assert_eq!((one.mean, one.largest), (1.0, 2));
        assert!((one.psnr - 10.0 * (65025.0_f64 / 2.0).log10()).abs() < 1e-9);
        assert_eq!(difference(&[1], &[1]).psnr, f64::INFINITY);
    }
}
