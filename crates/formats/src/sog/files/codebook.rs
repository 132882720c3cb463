//! 256 values that stand for all values of an attribute.
//!
//! Where many values lie the codebook is dense: its density is the cube root of that of the values, which makes the
//! squared error least for fine codebooks (Panter and Dite 1951), mixed with a share of an even one. The even share
//! bounds the error of every value, wherever it lies.

/// Values of a codebook.
pub(crate) const VALUES: usize = 256;
/// Classes of the histogram.
const BINS: usize = 1 << 14;
/// Share of the codebook that is even.
const EVEN: f64 = 0.25;

/// Ascending values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Codebook(Vec<f32>);

impl Codebook {
    /// The codebook for values that `each` passes on, in two passes over them.
    ///
    /// No value is farther from its nearest of the codebook than 1/128 of what all values span.
    pub(crate) fn new(each: impl Fn(&mut dyn FnMut(f32))) -> Self {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        each(&mut |value| {
            low = low.min(value);
            high = high.max(value);
        });
        if low >= high {
            return Self(vec![if low.is_finite() { low } else { 0.0 }; VALUES]);
        }
        let (low, span) = (f64::from(low), f64::from(high) - f64::from(low));
        let mut counts = vec![0_u32; BINS];
        each(&mut |value| {
            let bin = ((f64::from(value) - low) / span * BINS as f64) as usize;
            let count = &mut counts[bin.min(BINS - 1)];
            *count = count.saturating_add(1);
        });
        let weights: Vec<f64> = smooth(&counts).into_iter().map(f64::cbrt).collect();
        let total: f64 = weights.iter().sum();
        let even = EVEN / BINS as f64;
        let density = weights.iter().map(|weight| (1.0 - EVEN) * weight / total + even);
        // values are where the density's integral passes the middles of 256 equal parts
        let mut values = Vec::with_capacity(VALUES);
        let mut before = 0.0;
        for (bin, share) in density.enumerate() {
            let after = before + share;
            while values.len() < VALUES {
                let middle = (values.len() as f64 + 0.5) / VALUES as f64;
                if middle > after && bin + 1 < BINS {
                    break;
                }
                let within = ((middle - before) / share).clamp(0.0, 1.0);
                values.push((low + span * (bin as f64 + within) / BINS as f64) as f32);
            }
            before = after;
        }
        Self(values)
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.0
    }

    /// Place of the nearest value.
    pub(crate) fn nearest(&self, value: f32) -> u8 {
        let above = self.0.partition_point(|&known| known < value);
        let place = match above {
            0 => 0,
            VALUES.. => VALUES - 1,
            _ if value - self.0[above - 1] <= self.0[above] - value => above - 1,
            _ => above,
        };
        place as u8
    }
}

/// Counts averaged with their neighbours, so that a class without a value is not a class without values.
fn smooth(counts: &[u32]) -> Vec<f64> {
    const REACH: usize = 8;
    (0..counts.len())
        .map(|bin| {
            let near = &counts[bin.saturating_sub(REACH)..counts.len().min(bin + REACH + 1)];
            near.iter().map(|&count| f64::from(count)).sum::<f64>() / near.len() as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_where_values_are_and_nowhere_far() {
        // most values near 1, some all over from -10 to 10
        let values: Vec<f32> = (0..20_000_i16)
            .map(|i| match i % 10 {
                0 => f32::from(i) / 1000.0 - 10.0,
                _ => 1.0 + f32::from(i) / 200_000.0,
            })
            .collect();
        let book = Codebook::new(|take| values.iter().for_each(|&value| take(value)));
        assert!(book.0.is_sorted() && book.0.len() == VALUES);
        let error = |value: f32| (value - book.0[usize::from(book.nearest(value))]).abs();
        let most = values.iter().map(|&value| error(value)).fold(0.0, f32::max);
        assert!(most <= 20.0 / 128.0, "{most}");
        assert!(error(1.05) < 0.01, "{}", error(1.05));
    }

    #[test]
    fn one_value_and_none() {
        let one = Codebook::new(|take| take(3.5));
        assert_eq!((one.nearest(3.5), one.0[0], one.0[255]), (0, 3.5, 3.5));
        assert_eq!(Codebook::new(|_| ()).values(), [0.0; VALUES]);
    }
}
