//! Where nodes lie.

use serde_json::Value;

use super::file::damaged;
use crate::Error;
use crate::vector::{V3, cross, dot, narrow, unit, wide};

/// Rows of a placement: a turn or stretch, and a step.
pub(super) struct Placement([[f64; 4]; 3]);

impl Placement {
    /// Of what is wanted relative to `origin`.
    pub(super) fn relative_to(origin: [f64; 3]) -> Self {
        let [x, y, z] = origin.map(|value| 0.0 - value);
        Self([[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]])
    }

    /// Where a node lies in the one above it: its matrix, or its turn, stretch and step.
    pub(super) fn of(node: &Value) -> Result<Self, Error> {
        let numbers = |name: &str, usual: &[f64]| -> Result<Vec<f64>, Error> {
            let Some(found) = node.get(name) else {
                return Ok(usual.to_vec());
            };
            let values: Option<Vec<f64>> = found
                .as_array()
                .and_then(|list| list.iter().map(Value::as_f64).collect());
            values
                .filter(|values| values.len() == usual.len())
                .ok_or_else(|| damaged(format!("a node's {name} has not {} numbers", usual.len())))
        };
        if node.get("matrix").is_some() {
            // Column by column.
            let m = numbers("matrix", &[0.0; 16])?;
            return Ok(Self([0, 1, 2].map(|row| [m[row], m[4 + row], m[8 + row], m[12 + row]])));
        }
        let (t, s) = (numbers("translation", &[0.0; 3])?, numbers("scale", &[1.0; 3])?);
        let q = numbers("rotation", &[0.0, 0.0, 0.0, 1.0])?;
        let [x, y, z, w] = [q[0], q[1], q[2], q[3]];
        let turn = [
            [
                1.0 - 2.0 * (y * y + z * z),
                2.0 * (x * y - w * z),
                2.0 * (x * z + w * y),
            ],
            [
                2.0 * (x * y + w * z),
                1.0 - 2.0 * (x * x + z * z),
                2.0 * (y * z - w * x),
            ],
            [
                2.0 * (x * z - w * y),
                2.0 * (y * z + w * x),
                1.0 - 2.0 * (x * x + y * y),
            ],
        ];
        let row = |i: usize| [turn[i][0] * s[0], turn[i][1] * s[1], turn[i][2] * s[2], t[i]];
        Ok(Self([row(0), row(1), row(2)]))
    }

    /// `inner`, which lies in this one.
    pub(super) fn join(&self, inner: &Self) -> Self {
        Self(self.0.map(|row| {
            let column = |k: usize| (0..3).map(|i| row[i] * inner.0[i][k]).sum::<f64>();
            [column(0), column(1), column(2), column(3) + row[3]]
        }))
    }

    fn turns(&self) -> [V3; 3] {
        self.0.map(|row| [row[0], row[1], row[2]])
    }

    /// What it places is inside out.
    pub(super) fn mirrors(&self) -> bool {
        let turns = self.turns();
        dot(turns[0], cross(turns[1], turns[2])) < 0.0
    }

    /// A position, placed.
    pub(super) fn place(&self, p: [f32; 3]) -> [f32; 3] {
        narrow(self.0.map(|row| dot([row[0], row[1], row[2]], wide(p)) + row[3]))
    }

    /// What turns normals: the cofactors of what positions turn by.
    pub(super) fn turn(&self) -> impl Fn([f32; 3]) -> [f32; 3] + use<> {
        let turns = self.turns();
        let cofactors = [
            cross(turns[1], turns[2]),
            cross(turns[2], turns[0]),
            cross(turns[0], turns[1]),
        ];
        let sign = if self.mirrors() { -1.0 } else { 1.0 };
        move |n| {
            let turned: V3 = cofactors.map(|row| sign * dot(row, wide(n)));
            narrow(unit(turned).unwrap_or_default())
        }
    }
}
