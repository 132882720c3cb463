//! PLY of splats as trainers write it: a row of named numbers each.
//!
//! Owns the published [`names`], what other writers have in their place, and what comments say. Properties are found by name, in any
//! order and of any number type. Where rows come from, and what is said of a file whose properties are not all read, is for the
//! caller to know.

mod comments;
pub mod names;

use std::array::from_fn;

use kiln_ply::{Element, Property, Scalar};

pub use comments::{ITERATION, KERNEL_SIZE, RENDER_MODE, Said};

use crate::{Error, Opacity, REST_MAX, SH_C0, Splat, rest_count};

/// Highest degree that is read.
pub const MOST_DEGREE: u32 = 3;
/// Highest degree whose lower coefficients are read.
const MOST_DEGREE_KNOWN: u32 = 8;
/// Colours of files without harmonics.
const RGB: [&str; 3] = ["red", "green", "blue"];
/// Logarithm of the third scale of flat splats, beside the smaller of the others: a thousandth of it.
const FLAT: f32 = -6.907_755;

/// The properties of a splat's attributes.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Of the file; what comes out has at most [`MOST_DEGREE`].
    pub degree_of_file: u32,
    position: [Property; 3],
    sh0: [Property; 3],
    /// What a colour of 1 is stored as, where colours stand in the place of coefficients.
    pub full_color: Option<f32>,
    /// In the order of [`Splat::rest`].
    rest: Vec<Property>,
    opacity: Property,
    /// What an opacity of 1 is stored as, where it is no logit.
    pub full_opacity: Option<f32>,
    /// Two of flat splats, or three.
    scale: Vec<Property>,
    rotation: [Property; 4],
    filter: Option<Property>,
}

impl Columns {
    /// The columns of rows of `vertex`, whose types in the file are those of `typed`.
    ///
    /// # Errors
    /// [`Error::RestCount`], and [`Error::Missing`] with all names that are not there.
    pub fn find(vertex: &Element, typed: &Element) -> Result<Self, Error> {
        let full = |name: &str| typed.property(name).and_then(full);
        let column = |name: &str| vertex.property(name).cloned();
        let (degree_of_file, rest) = rest(vertex)?;
        let is_flat = column(names::SCALE[2]).is_none();
        let has_color = rest.is_empty() && names::SH0.iter().any(|name| column(name).is_none());
        let rgb = columns(RGB, column).filter(|_| has_color);
        let found = || {
            Some(Self {
                degree_of_file,
                position: columns(names::POSITION, column)?,
                full_color: rgb.as_ref().map(|_| full(RGB[0]).unwrap_or(1.0)),
                sh0: rgb.or_else(|| columns(names::SH0, column))?,
                rest,
                full_opacity: full(names::OPACITY),
                opacity: column(names::OPACITY)?,
                scale: names::SCALE[..if is_flat { 2 } else { 3 }]
                    .iter()
                    .map(|name| column(name))
                    .collect::<Option<_>>()?,
                rotation: columns(names::ROTATION, column)?,
                filter: column(names::FILTER_3D),
            })
        };
        found().ok_or_else(|| {
            let fixed = [
                &names::POSITION[..],
                &names::SH0,
                &[names::OPACITY],
                &names::SCALE,
                &names::ROTATION,
            ];
            let mut missing = fixed.concat();
            missing.retain(|name| column(name).is_none());
            Error::Missing(missing.join(", "))
        })
    }

    /// SH degree, 0 to 3.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.degree_of_file.min(MOST_DEGREE)
    }

    /// Splats have two scales, as those of 2D Gaussian Splatting.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.scale.len() < 3
    }

    /// The file has a 3D filter beside the splats.
    #[must_use]
    pub const fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Every property that is read.
    pub fn all(&self) -> impl Iterator<Item = &Property> {
        self.position
            .iter()
            .chain(&self.sh0)
            .chain(&self.rest)
            .chain([&self.opacity])
            .chain(&self.scale)
            .chain(&self.rotation)
            .chain(&self.filter)
    }

    /// The splat of a row, whatever its values are, and the standard deviation of its 3D filter, 0 where there is none.
    #[must_use]
    pub fn read(&self, row: &[u8]) -> (Splat, f32) {
        let color = values(&self.sh0, row);
        let opacity = self.opacity.read(row);
        let mut rest = [[0.0; 3]; REST_MAX];
        for (value, property) in rest.as_flattened_mut().iter_mut().zip(&self.rest) {
            *value = property.read(row);
        }
        let splat = Splat {
            mean: values(&self.position, row),
            quat: values(&self.rotation, row),
            log_scale: match &self.scale[..] {
                [a, b, c] => [a, b, c].map(|scale| scale.read(row)),
                pair => {
                    let [a, b] = from_fn(|at| pair.get(at).map_or(f32::NAN, |scale| scale.read(row)));
                    let smaller = if a.is_nan() || b.is_nan() { f32::NAN } else { a.min(b) };
                    [a, b, smaller + FLAT]
                }
            },
            opacity: Opacity::Logit(match self.full_opacity {
                None => opacity,
                // 0 and 1 become infinite.
                Some(full) => f64::from(opacity / (full - opacity).max(0.0)).ln() as f32,
            }),
            sh0: match self.full_color {
                None => color,
                Some(full) => color.map(|value| ((f64::from(value / full) - 0.5) / SH_C0) as f32),
            },
            rest,
        };
        (splat, self.filter.as_ref().map_or(0.0, |filter| filter.read(row)))
    }
}

/// The degree of the file, and the properties of coefficients up to [`MOST_DEGREE`].
fn rest(vertex: &Element) -> Result<(u32, Vec<Property>), Error> {
    let is_rest = |property: &&Property| property.name.starts_with(names::SH_REST_PREFIX);
    let values = vertex.properties.iter().filter(is_rest).count();
    let degree = (0..=MOST_DEGREE_KNOWN).find(|&degree| names::rest_values(degree) == values);
    let degree = degree.ok_or(Error::RestCount(values))?;
    // Files have channel after channel.
    let (of_file, kept) = (values / 3, rest_count(degree.min(MOST_DEGREE)));
    let places = (0..kept).flat_map(|coefficient| (0..3).map(move |channel| channel * of_file + coefficient));
    let found = places.map(|place| vertex.property(&format!("{}{place}", names::SH_REST_PREFIX)).cloned());
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

fn columns<const N: usize>(names: [&str; N], find: impl Fn(&str) -> Option<Property>) -> Option<[Property; N]> {
    let found: Option<Vec<Property>> = names.into_iter().map(find).collect();
    found?.try_into().ok()
}

fn values<const N: usize>(properties: &[Property; N], row: &[u8]) -> [f32; N] {
    from_fn(|at| properties[at].read(row))
}
