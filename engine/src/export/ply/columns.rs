//! Which properties of a PLY file hold what of a Gaussian: the published names, and what other writers have in their place.
//!
//! Properties are found by name, in any order and of any number type. What is read otherwise than as it stands there, and what is not
//! read at all, is noted.

use std::array::from_fn;

use kiln_formats::Error;
use kiln_ply::{Element, Property, Scalar};

use super::{Notes, PlyError};
use crate::gaussians::{Gaussians, init::SH_C0, layout::sh_coefficients, ply_names};
use crate::math::Real;

/// Highest degree that is read.
const MOST_DEGREE: u32 = 3;
/// Highest degree whose lower coefficients are read.
const MOST_DEGREE_KNOWN: u32 = 8;
/// Colours of files without harmonics.
const RGB: [&str; 3] = ["red", "green", "blue"];
/// What says nothing of how a Gaussian looks.
const MEANINGLESS: [&str; 7] = ["nx", "ny", "nz", "red", "green", "blue", "alpha"];
/// Logarithm of the third scale of flat Gaussians, beside the smaller of the others.
const FLAT: f32 = -6.907_755;
/// Names that are shown of properties that are not read.
const SHOWN: usize = 6;

/// How a colour is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Color {
    /// Coefficients of degree 0.
    Harmonic,
    /// From 0 to this.
    Share(f32),
}

/// The properties of a Gaussian's attributes.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) sh_degree: u32,
    pub(super) position: [Property; 3],
    pub(super) sh0: [Property; 3],
    color: Color,
    /// In the engine's order.
    pub(super) rest: Vec<Property>,
    pub(super) opacity: Property,
    /// What an opacity of 1 is stored as, where it is no logit.
    full_opacity: Option<f32>,
    /// Two, or three.
    pub(super) scale: Vec<Property>,
    pub(super) rotation: [Property; 4],
    pub(super) filter: Option<Property>,
}

impl Columns {
    /// The columns of rows of `vertex`, whose types in the file are those of `typed`.
    ///
    /// # Errors
    /// [`PlyError`] where they hold no Gaussians.
    pub(super) fn find(vertex: &Element, typed: &Element, notes: &mut Notes) -> Result<Self, PlyError> {
        let full = |name: &str| typed.property(name).and_then(full);
        let column = |name: &str| vertex.property(name).cloned();
        let has_rgb = RGB.iter().all(|name| column(name).is_some());
        let harmonic = columns(ply_names::SH0, column);
        let is_flat = column(ply_names::SCALE[2]).is_none();
        let fixed = [
            &ply_names::POSITION[..],
            &ply_names::SH0,
            &[ply_names::OPACITY],
            &ply_names::SCALE,
            &ply_names::ROTATION,
        ];
        let names = fixed.concat();
        let missing: Vec<&str> = names.into_iter().filter(|name| column(name).is_none()).collect();
        let has_any = |names: &[&str]| names.iter().any(|name| column(name).is_some());
        let lacking = || {
            if has_any(&["packed_position"]) {
                PlyError::Delivered("a compressed PLY file")
            } else if has_any(&ply_names::POSITION) && !has_any(&ply_names::SCALE) && !has_any(&ply_names::ROTATION) {
                PlyError::Points
            } else {
                Error::Missing(missing.join(", ")).into()
            }
        };
        let (sh_degree, rest) = rest(vertex)?;
        let (sh0, color) = match harmonic {
            Some(sh0) => (sh0, Color::Harmonic),
            None if has_rgb && rest.is_empty() => {
                let rgb = columns(RGB, column).ok_or_else(lacking)?;
                let color = Color::Share(full(RGB[0]).unwrap_or(1.0));
                (rgb, color)
            }
            None => return Err(lacking()),
        };
        let opacity = column(ply_names::OPACITY).ok_or_else(lacking)?;
        let scales = if is_flat {
            &ply_names::SCALE[..2]
        } else {
            &ply_names::SCALE[..]
        };
        let found = Self {
            sh_degree: sh_degree.min(MOST_DEGREE),
            position: columns(ply_names::POSITION, column).ok_or_else(lacking)?,
            sh0,
            color,
            rest,
            full_opacity: full(ply_names::OPACITY),
            opacity,
            scale: scales
                .iter()
                .map(|name| column(name))
                .collect::<Option<_>>()
                .ok_or_else(lacking)?,
            rotation: columns(ply_names::ROTATION, column).ok_or_else(lacking)?,
            filter: column(ply_names::FILTER_3D),
        };
        found.note(vertex, sh_degree, notes);
        Ok(found)
    }

    /// Notes what is read otherwise, and what is not read.
    fn note(&self, vertex: &Element, sh_degree: u32, notes: &mut Notes) {
        if sh_degree > MOST_DEGREE {
            notes.remark(format!(
                "its harmonics are of degree {sh_degree}; those above degree {MOST_DEGREE} are left out"
            ));
        }
        if let Color::Share(full) = self.color {
            notes.remark(format!(
                "it has no f_dc_0, f_dc_1, f_dc_2: red, green and blue, 0 to {full}, are read as colours that look the same from \
                 everywhere"
            ));
        }
        if let Some(full) = self.full_opacity {
            notes.remark(format!(
                "its opacities are whole numbers, and read as 0 to {full} instead of as logits"
            ));
        }
        if self.scale.len() < 3 {
            notes.remark(
                "it has no scale_2, as files of 2D Gaussian Splatting: its Gaussians are read as flat ones, with a third scale of a \
                 thousandth of the smaller of the two",
            );
        }
        let is_read = |name: &str| self.all().any(|property| property.name == name);
        let is_higher = |name: &str| name.starts_with(ply_names::SH_REST_PREFIX);
        let others = vertex.properties.iter().map(|property| property.name.as_str());
        let others: Vec<&str> = others
            .filter(|name| !is_read(name) && !is_higher(name) && !MEANINGLESS.contains(name))
            .collect();
        if !others.is_empty() {
            let more = match others.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown: Vec<String> = others.iter().take(SHOWN).map(|name| plain(name)).collect();
            notes.remark(format!(
                "its properties {}{more} are not known, and not read",
                shown.join(", ")
            ));
        }
    }

    /// Every property that is read.
    pub(super) fn all(&self) -> impl Iterator<Item = &Property> {
        self.position
            .iter()
            .chain(&self.sh0)
            .chain(&self.rest)
            .chain([&self.opacity])
            .chain(&self.scale)
            .chain(&self.rotation)
            .chain(&self.filter)
    }

    pub(super) fn empty_model(&self, count: usize) -> Gaussians {
        Gaussians::with_room(self.sh_degree, count)
    }

    /// Puts the Gaussian whose bytes are `row` behind those of `model`, whatever its values are.
    pub(super) fn append(&self, row: &[u8], model: &mut Gaussians) {
        model.means.push(values(&self.position, row));
        let color = values(&self.sh0, row);
        model.sh0.push(match self.color {
            Color::Harmonic => color,
            Color::Share(full) => color.map(|value| ((f64::from(value / full) - 0.5) / SH_C0) as f32),
        });
        model
            .sh_rest
            .extend(self.rest.iter().map(|property| property.read(row)));
        let opacity = self.opacity.read(row);
        model.logit_opacities.push(match self.full_opacity {
            None => opacity,
            // 0 and 1 become infinite here, and the nearest that are not when they are looked at.
            Some(full) => Real::ln(opacity / (full - opacity).max(0.0)),
        });
        model.log_scales.push(match &self.scale[..] {
            [a, b, c] => [a, b, c].map(|scale| scale.read(row)),
            pair => {
                let of = |at: usize| pair.get(at).map_or(f32::NAN, |scale| scale.read(row));
                let [a, b] = [of(0), of(1)];
                [
                    a,
                    b,
                    if a.is_nan() || b.is_nan() {
                        f32::NAN
                    } else {
                        a.min(b) + FLAT
                    },
                ]
            }
        });
        model.quats.push(values(&self.rotation, row));
        model
            .filter_3d
            .push(self.filter.as_ref().map_or(0.0, |filter| filter.read(row)));
    }
}

/// The degree of the file, and the properties of coefficients up to [`MOST_DEGREE`] in the engine's order.
fn rest(vertex: &Element) -> Result<(u32, Vec<Property>), PlyError> {
    let is_rest = |property: &&Property| property.name.starts_with(ply_names::SH_REST_PREFIX);
    let values = vertex.properties.iter().filter(is_rest).count();
    let degree = (0..=MOST_DEGREE_KNOWN).find(|&degree| ply_names::rest_values(degree) == values);
    let degree = degree.ok_or(Error::RestCount(values))?;
    let (of_file, kept) = (values / 3, sh_coefficients(degree.min(MOST_DEGREE)) - 1);
    let places = (0..kept).flat_map(|coefficient| (0..3).map(move |channel| channel * of_file + coefficient));
    let found = places.map(|place| {
        vertex
            .property(&format!("{}{place}", ply_names::SH_REST_PREFIX))
            .cloned()
    });
    let found = found.collect::<Option<_>>().ok_or(Error::RestCount(values))?;
    Ok((degree, found))
}

/// What 1 is stored as in a type of whole numbers.
const fn full(property: &Property) -> Option<f32> {
    match property.scalar {
        Scalar::U8 => Some(255.0),
        Scalar::U16 => Some(65_535.0),
        _ => None,
    }
}

/// A name as it may be shown: a file from elsewhere must not write to terminals.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn columns<const N: usize>(names: [&str; N], find: impl Fn(&str) -> Option<Property>) -> Option<[Property; N]> {
    let found: Option<Vec<Property>> = names.into_iter().map(find).collect();
    found?.try_into().ok()
}

fn values<const N: usize>(properties: &[Property; N], row: &[u8]) -> [f32; N] {
    from_fn(|at| properties[at].read(row))
}
