//! Columns of a PLY file into a model; [`kiln_formats::ply`] says which properties hold what.
//!
//! What is read otherwise than as it stands there, and what is not read at all, is noted.

use kiln_formats::Error;
use kiln_formats::ply::{Columns, MOST_DEGREE, names};
use kiln_ply::Element;

use super::{Notes, PlyError};
use kiln_gaussians::Gaussians;

/// What says nothing of how a Gaussian looks.
const MEANINGLESS: [&str; 7] = ["nx", "ny", "nz", "red", "green", "blue", "alpha"];
/// Names that are shown of properties that are not read.
const SHOWN: usize = 6;

/// The columns of rows of `vertex`, whose types in the file are those of `typed`.
///
/// # Errors
/// [`PlyError`] where they hold no Gaussians.
pub(super) fn find(vertex: &Element, typed: &Element, notes: &mut Notes) -> Result<Columns, PlyError> {
    let found = Columns::find(vertex, typed).map_err(|error| {
        let has_any = |names: &[&str]| names.iter().any(|name| vertex.property(name).is_some());
        match error {
            Error::Missing(_) if has_any(&["packed_position"]) => PlyError::Delivered("a compressed PLY file"),
            Error::Missing(_) if has_any(&names::POSITION) && !has_any(&names::SCALE) && !has_any(&names::ROTATION) => {
                PlyError::Points
            }
            other => other.into(),
        }
    })?;
    note(&found, vertex, notes);
    Ok(found)
}

/// Notes what is read otherwise, and what is not read.
fn note(columns: &Columns, vertex: &Element, notes: &mut Notes) {
    let sh_degree = columns.degree_of_file;
    if sh_degree > MOST_DEGREE {
        notes.remark(format!(
            "its harmonics are of degree {sh_degree}; those above degree {MOST_DEGREE} are left out"
        ));
    }
    if let Some(full) = columns.full_color {
        notes.remark(format!(
            "it has no f_dc_0, f_dc_1, f_dc_2: red, green and blue, 0 to {full}, are read as colours that look the same from \
             everywhere"
        ));
    }
    if let Some(full) = columns.full_opacity {
        notes.remark(format!(
            "its opacities are whole numbers, and read as 0 to {full} instead of as logits"
        ));
    }
    if columns.is_flat() {
        notes.remark(
            "it has no scale_2, as files of 2D Gaussian Splatting: its Gaussians are read as flat ones, with a third scale of a \
             thousandth of the smaller of the two",
        );
    }
    let is_read = |name: &str| columns.all().any(|property| property.name == name);
    let is_higher = |name: &str| name.starts_with(names::SH_REST_PREFIX);
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

pub(super) fn empty_model(columns: &Columns, count: usize) -> Gaussians {
    Gaussians::with_room(columns.degree(), count)
}

/// Puts the Gaussian whose bytes are `row` behind those of `model`, whatever its values are.
pub(super) fn append(columns: &Columns, row: &[u8], model: &mut Gaussians) {
    let (splat, filter) = columns.read(row);
    model.push(&splat, model.rest_coefficients(), filter);
}

/// A name as it may be shown: a file from elsewhere must not write to terminals.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(40).collect()
}
