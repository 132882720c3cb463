//! Half-open boxes in the plane, and where two of them touch.

/// A box in the plane: from `min`, itself included, to `max`, itself not; sides may be infinite. World units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Smallest coordinates.
    pub min: [f64; 2],
    /// Coordinates that are outside already.
    pub max: [f64; 2],
}

impl Rect {
    /// Everything.
    pub const PLANE: Self = Self {
        min: [f64::NEG_INFINITY; 2],
        max: [f64::INFINITY; 2],
    };

    /// True for places inside; nothing that is not a number is.
    #[must_use]
    pub fn contains(&self, place: [f64; 2]) -> bool {
        (0..2).all(|axis| self.min[axis] <= place[axis] && place[axis] < self.max[axis])
    }

    /// The box in two, below and from `at` on an axis.
    #[must_use]
    pub const fn cut(self, axis: usize, at: f64) -> [Self; 2] {
        let (mut low, mut high) = (self, self);
        low.max[axis] = at;
        high.min[axis] = at;
        [low, high]
    }

    /// The box with `margin` around it.
    #[must_use]
    pub fn widened(&self, margin: f64) -> Self {
        Self {
            min: self.min.map(|side| side - margin),
            max: self.max.map(|side| side + margin),
        }
    }

    /// What of it lies in another.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self {
            min: std::array::from_fn(|axis| self.min[axis].max(other.min[axis])),
            max: std::array::from_fn(|axis| self.max[axis].min(other.max[axis])),
        }
    }

    /// Lengths of its sides, 0 for those that are turned over.
    #[must_use]
    pub fn sides(&self) -> [f64; 2] {
        std::array::from_fn(|axis| (self.max[axis] - self.min[axis]).max(0.0))
    }
}

/// Where the cores of two blocks touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Border {
    /// The block below it and the block above it.
    pub blocks: [usize; 2],
    /// The axis that it stands on.
    pub axis: usize,
    /// Its coordinate there.
    pub at: f64,
    /// From where to where it runs on the other axis, cut at the bounds that were given.
    pub along: [f64; 2],
}

impl Border {
    /// How far a place is from the border's line, above it positive; none for places beside the border.
    #[must_use]
    pub fn distance(&self, place: [f64; 2]) -> Option<f64> {
        let along = place[1 - self.axis];
        (self.along[0] <= along && along < self.along[1]).then_some(place[self.axis] - self.at)
    }

    /// Length, world units.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.along[1] - self.along[0]
    }
}

/// All borders between cores that tile the plane, by their blocks; infinite ones are cut at `bounds`.
#[must_use]
pub fn borders(cores: &[Rect], bounds: &Rect) -> Vec<Border> {
    let mut found = Vec::new();
    for (low, a) in cores.iter().enumerate() {
        for (high, b) in cores.iter().enumerate() {
            for axis in 0..2 {
                let shared = a.within(b).within(bounds);
                let along = [shared.min[1 - axis], shared.max[1 - axis]];
                if a.max[axis] == b.min[axis] && along[0] < along[1] {
                    found.push(Border {
                        blocks: [low, high],
                        axis,
                        at: a.max[axis],
                        along,
                    });
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_share_a_border_and_no_place() {
        let [low, high] = Rect::PLANE.cut(0, 2.0);
        assert!(!low.contains([2.0, 0.0]) && high.contains([2.0, 0.0]));
        assert!(!Rect::PLANE.contains([f64::NAN, 0.0]));
        let [near, far] = high.cut(1, 1.0);
        let bounds = Rect {
            min: [0.0, -3.0],
            max: [5.0, 4.0],
        };
        let found = borders(&[low, near, far], &bounds);
        let of = |border: &Border| (border.blocks, border.axis, border.at, border.along);
        assert_eq!(
            found.iter().map(of).collect::<Vec<_>>(),
            [
                ([0, 1], 0, 2.0, [-3.0, 1.0]),
                ([0, 2], 0, 2.0, [1.0, 4.0]),
                ([1, 2], 1, 1.0, [2.0, 5.0])
            ]
        );
        assert_eq!(found[0].distance([2.5, 0.0]), Some(0.5));
        assert_eq!(found[0].distance([2.5, 1.0]), None);
        assert_eq!(found[1].length(), 3.0);
    }
}
