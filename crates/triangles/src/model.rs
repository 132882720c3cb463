//! A whole model, and its file.

use std::io::{BufRead, Write};

use kiln_mesh::Mesh;
use kiln_mesh::ply::{self, Values};
use kiln_ply::Header;

use crate::Error;

/// Degree-0 spherical harmonic, 1 / (2 sqrt(pi)).
const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Highest degree of spherical harmonics.
const MOST_DEGREE: u32 = 3;
/// Names of a vertex's values in files, as splats have them: harmonics of degree 0, the others, the weight.
const DC: &str = "f_dc_";
const REST: &str = "f_rest_";
const WEIGHT: &str = "opacity";
/// How comments with the model's own numbers begin.
const FLOOR: &str = "kiln opacity_floor ";
const SIGMA: &str = "kiln sigma ";

/// Triangles with shared vertices, each of which has an opacity and colours by direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Degree of the spherical harmonics, 0 to 3.
    pub degree: u32,
    /// Places of the vertices, scene units.
    pub positions: Vec<[f32; 3]>,
    /// Their weights: logits of opacity above the floor.
    pub weights: Vec<f32>,
    /// Their harmonics of degree 0.
    pub sh0: Vec<[f32; 3]>,
    /// The others: `(degree + 1)^2 - 1` coefficients per vertex, red, green and blue each.
    pub sh_rest: Vec<f32>,
    /// Vertices of the triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Least opacity of a vertex.
    pub floor: f32,
    /// Window exponent.
    pub sigma: f32,
}

/// Whether a file's property of vertices is one of a model's.
#[must_use]
pub fn is_value(name: &str) -> bool {
    name == WEIGHT || name.starts_with(DC) || name.starts_with(REST)
}

/// Coefficients per vertex and channel beyond degree 0.
const fn rest(degree: u32) -> usize {
    ((degree + 1) * (degree + 1)) as usize - 1
}

impl Model {
    /// The mesh that it is from all sides on average: opaque triangles, each vertex in the colour of degree 0,
    /// `0.5 + C0 sh0` between 0 and 1, encoded as photos are. Vertices and triangles keep their numbers.
    ///
    /// # Errors
    /// [`Error::Mesh`] for positions or colours that are not finite, indices out of range, another number of colours.
    pub fn mesh(&self) -> Result<Mesh, Error> {
        let color = |sh0: &[f32; 3]| sh0.map(|x| (0.5 + SH_C0 * f64::from(x)).clamp(0.0, 1.0) as f32);
        let mesh = Mesh::new(self.positions.clone(), self.triangles.clone())?;
        Ok(mesh.with_colors(self.sh0.iter().map(color).collect())?)
    }

    /// Leaves the vertices and triangles of an event.
    pub fn keep(&mut self, vertices: &[u32], triangles: Vec<[u32; 3]>) {
        crate::rows::take(&mut self.positions, 1, vertices);
        crate::rows::take(&mut self.weights, 1, vertices);
        crate::rows::take(&mut self.sh0, 1, vertices);
        crate::rows::take(&mut self.sh_rest, 3 * rest(self.degree), vertices);
        self.triangles = triangles;
    }

    /// Adds the vertices of a split.
    pub fn add(&mut self, ends: &[[u32; 2]], triangles: Vec<[u32; 3]>) {
        append(&mut self.positions, ends);
        append(&mut self.sh0, ends);
        crate::rows::append_means(&mut self.sh_rest, 3 * rest(self.degree), ends);
        crate::opacity::append_means(&mut self.weights, ends, self.floor);
        self.triangles = triangles;
    }

    /// Writes the model as a PLY file: a mesh with colours for every program, and beside these the weights and harmonics by
    /// the names that splats have for them, channel by channel.
    ///
    /// # Errors
    /// See [`Model::mesh`]; those of the output.
    pub fn write(&self, comments: &[String], out: &mut dyn Write) -> Result<(), Error> {
        let rest = rest(self.degree);
        let names = (0..3).map(|k| format!("{DC}{k}"));
        let names = names.chain((0..3 * rest).map(|k| format!("{REST}{k}")));
        let own = [format!("{FLOOR}{}", self.floor), format!("{SIGMA}{}", self.sigma)];
        let mut more = Values {
            names: names.chain([WEIGHT.to_owned()]).collect(),
            values: Vec::with_capacity(self.positions.len() * (4 + 3 * rest)),
            comments: comments.iter().cloned().chain(own).collect(),
        };
        let mut others = self.sh_rest.chunks_exact((3 * rest).max(1));
        for (sh0, &weight) in self.sh0.iter().zip(&self.weights) {
            more.values.extend(sh0);
            let others = if rest > 0 {
                others.next().unwrap_or_default()
            } else {
                &[]
            };
            more.values
                .extend((0..3).flat_map(|channel| others.iter().skip(channel).step_by(3)));
            more.values.push(weight);
        }
        Ok(ply::write_with(&self.mesh()?, &more, out)?)
    }

    /// Whether the header of a PLY file, of which these are the first bytes, is that of a model.
    #[must_use]
    pub fn is_header_of_one(bytes: &[u8]) -> bool {
        let header = Header::parse(bytes).ok().flatten();
        header.is_some_and(|(header, _)| {
            let says = |begin: &str| header.comments.iter().any(|comment| comment.starts_with(begin));
            let has_faces = header.elements.iter().any(|element| element.name == "face");
            has_faces && says(FLOOR) && says(SIGMA)
        })
    }

    /// Reads what [`Model::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Mesh`] for what is no mesh; [`Error::NoModel`] for meshes that are no model.
    pub fn read(input: impl BufRead) -> Result<Self, Error> {
        let (mesh, values) = ply::read_with(input, is_value, None)?;
        Self::of(&mesh, &values)
    }

    /// The model of a mesh with values that [`is_value`] named.
    ///
    /// # Errors
    /// [`Error::NoModel`].
    pub fn of(mesh: &Mesh, values: &Values) -> Result<Self, Error> {
        let width = values.names.len();
        let missing = |what: String| Error::NoModel { what };
        let at = |name: String| {
            let place = values.names.iter().position(|found| *found == name);
            place.ok_or_else(|| missing(format!("no `{name}`")))
        };
        let number = |begin: &str| -> Result<f32, Error> {
            let found = values.comments.iter().find_map(|comment| comment.strip_prefix(begin));
            let number = found.and_then(|number| number.trim().parse().ok());
            let is_share = |number: &f32| (0.0..=1.0).contains(number);
            number
                .filter(is_share)
                .ok_or_else(|| missing(format!("no comment `{begin}X`")))
        };
        let others = values.names.iter().filter(|name| name.starts_with(REST)).count();
        let degree = (0..=MOST_DEGREE)
            .find(|&degree| 3 * rest(degree) == others)
            .ok_or_else(|| missing(format!("{others} properties `{REST}N`, which are 0, 9, 24 or 45")))?;
        let rest = rest(degree);
        let (mut dc, mut rests) = ([0; 3], Vec::with_capacity(3 * rest));
        for (k, dc) in dc.iter_mut().enumerate() {
            *dc = at(format!("{DC}{k}"))?;
        }
        for (coefficient, channel) in (0..rest).flat_map(|k| (0..3).map(move |channel| (k, channel))) {
            rests.push(at(format!("{REST}{}", channel * rest + coefficient))?);
        }
        let weight = at(WEIGHT.to_owned())?;
        let rows = || values.values.chunks_exact(width);
        Ok(Self {
            degree,
            positions: mesh.positions().to_vec(),
            weights: rows().map(|row| row[weight]).collect(),
            sh0: rows().map(|row| dc.map(|k| row[k])).collect(),
            sh_rest: rows().flat_map(|row| rests.iter().map(|&k| row[k])).collect(),
            triangles: mesh.triangles().to_vec(),
            floor: number(FLOOR)?,
            sigma: number(SIGMA)?,
        })
    }
}

/// Appends the mean of two rows of three for each new vertex.
fn append(rows: &mut Vec<[f32; 3]>, ends: &[[u32; 2]]) {
    rows.reserve_exact(ends.len());
    for ends in ends {
        let [a, b] = ends.map(|end| rows[end as usize]);
        rows.push([0, 1, 2].map(|k| 0.5 * a[k] + 0.5 * b[k]));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::soups::{Soup, uniform};

    fn model(degree: u32) -> Model {
        let soup = Soup::random(20, 12, 1);
        let count = 20 * 3 * rest(degree) as u32;
        Model {
            degree,
            sh0: (0..20)
                .map(|v| [0, 1, 2].map(|k| 4.0 * uniform(5, 3 * v + k) - 2.0))
                .collect(),
            sh_rest: (0..count).map(|k| uniform(6, k) - 0.5).collect(),
            positions: soup.positions,
            weights: soup.weights,
            triangles: soup.triangles,
            floor: 0.337,
            sigma: 0.15,
        }
    }

    #[test]
    fn files_bring_back_every_bit() {
        for degree in 0..4 {
            let model = model(degree);
            let mut bytes = Vec::new();
            model.write(&["of a test".to_owned()], &mut bytes).unwrap();
            assert_eq!(Model::read(&bytes[..]).unwrap(), model);
            assert!(Model::is_header_of_one(&bytes));
            // For others it is a mesh.
            let mesh = ply::read(&bytes[..]).unwrap();
            assert_eq!(mesh.triangles(), model.triangles);
            let (written, read) = (model.mesh().unwrap(), mesh.colors().unwrap());
            for (a, b) in written.colors().unwrap().iter().flatten().zip(read.iter().flatten()) {
                assert!((a - b).abs() < 0.5001 / 255.0);
            }
        }
    }

    #[test]
    fn other_files_are_named() {
        let model = model(1);
        let mut bytes = Vec::new();
        model.write(&[], &mut bytes).unwrap();
        let header = bytes.windows(10).position(|w| w == b"end_header").unwrap();
        let said = |from: &str, to: &str| {
            let text = String::from_utf8(bytes[..header].to_vec()).unwrap();
            let mut changed = text.replace(from, to).into_bytes();
            changed.extend(&bytes[header..]);
            Model::read(&changed[..]).unwrap_err().to_string()
        };
        assert!(said("f_dc_1", "other").contains("no `f_dc_1`"));
        assert!(said("f_rest_8", "f_rest_9").contains("no `f_rest_8`"));
        assert!(said("f_rest_8", "other").contains("8 properties"));
        assert!(said("float opacity", "float other").contains("no `opacity`"));
        assert!(said("kiln sigma 0.15", "").contains("kiln sigma X"));
        assert!(said("opacity_floor 0.337", "opacity_floor NaN").contains("opacity_floor X"));
        let mut plain = Vec::new();
        ply::write(&model.mesh().unwrap(), &[], &mut plain).unwrap();
        assert!(Model::read(&plain[..]).unwrap_err().to_string().contains("no `f_dc_0`"));
        assert!(!Model::is_header_of_one(&plain) && !Model::is_header_of_one(b"ply\n"));
    }

    #[test]
    fn colors_are_those_of_degree_0() {
        let mut model = model(0);
        model.sh0[0] = [0.0, 1.0, -1.0];
        model.sh0[1] = [9.0, -9.0, 0.5];
        let mesh = model.mesh().unwrap();
        let colors = mesh.colors().unwrap();
        assert_eq!(colors[0], [0.5, 0.782_094_8, 0.217_905_21]);
        assert_eq!(colors[1][..2], [1.0, 0.0]);
        model.sh0.pop();
        assert!(model.mesh().is_err());
    }

    #[test]
    fn events_change_every_list() {
        let mut model = model(2);
        let before = model.clone();
        model.add(&[[3, 7]], before.triangles.clone());
        assert_eq!((model.positions.len(), model.sh_rest.len()), (21, 21 * 24));
        let mean = |a: f32, b: f32, m: f32| (0.5 * (a + b) - m).abs() < 1e-6;
        for k in 0..3 {
            assert!(mean(
                before.positions[3][k],
                before.positions[7][k],
                model.positions[20][k]
            ));
            assert!(mean(before.sh0[3][k], before.sh0[7][k], model.sh0[20][k]));
        }
        assert!((0..24).all(|k| mean(before.sh_rest[72 + k], before.sh_rest[168 + k], model.sh_rest[480 + k])));
        let opacity = |model: &Model, v: usize| crate::opacity::of(model.weights[v], model.floor);
        assert!((opacity(&model, 20) - 0.5 * (opacity(&before, 3) + opacity(&before, 7))).abs() < 1e-6);
        model.keep(&[7, 20], vec![]);
        assert_eq!((model.positions[0], model.weights.len()), (before.positions[7], 2));
        assert_eq!(model.sh_rest[..24], before.sh_rest[168..192]);
    }
}
