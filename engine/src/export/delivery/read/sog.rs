//! SOG, archives and folders; [`kiln_formats::sog`] knows what is in them.

use std::io::{BufRead, Read, Seek};
use std::path::Path;

use kiln_formats::sog::{Archive, INDEX, META, Meta, Model, read_archive_of, read_files, read_streamed};
use kiln_formats::{Error, Opacity};

use super::super::super::{PlyComments, PlyError, RenderMode};
use kiln_gaussians::Gaussians;

/// Most bytes of an image.
const MOST_IMAGE: u64 = 1 << 30;
/// Most bytes of a description.
const MOST_TEXT: u64 = 1 << 26;

/// Reads an archive.
pub(super) fn read(file: impl Read + Seek) -> Result<(Gaussians, PlyComments), PlyError> {
    read_archive_of(file).map(model).map_err(problem)
}

/// Reads the description in an archive.
pub(super) fn check(file: impl Read + Seek) -> Result<(), PlyError> {
    let meta = Archive::open(file).and_then(|mut archive| archive.file(META));
    meta.and_then(|text| Meta::parse(&text)).map(|_| ()).map_err(problem)
}

/// Reads the `meta.json` of a folder and the images beside it; of a `lod-meta.json` the finest level.
pub(super) fn read_folder(mut file: impl BufRead, path: &Path) -> Result<(Gaussians, PlyComments), PlyError> {
    let mut text = Vec::new();
    file.by_ref()
        .take(MOST_TEXT)
        .read_to_end(&mut text)
        .map_err(PlyError::Io)?;
    let get = &mut |name: &str| beside(path, name);
    let read = match path.file_name() == Some(INDEX.as_ref()) {
        true => read_streamed(&text, get),
        false => read_files(&text, get),
    };
    read.map(model).map_err(problem)
}

/// A file beside another, or in a folder beside it.
fn beside(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = kiln_files::read_inside(folder, name, MOST_IMAGE);
    read.map_err(|e| Error::Damaged(format!("{name:?}, which it names, cannot be read ({e})")))
}

fn problem(error: Error) -> PlyError {
    match error {
        Error::Io(e) => PlyError::Io(e),
        other => other.into(),
    }
}

fn model(found: Model) -> (Gaussians, PlyComments) {
    let comments = PlyComments {
        // files of writers that know of no such filter look like those of others
        render_mode: (found.antialiased == Some(true)).then_some(RenderMode::Mip),
        ..PlyComments::default()
    };
    let model = Gaussians {
        sh_degree: found.sh_degree,
        filter_3d: vec![0.0; found.means.len()],
        means: found.means,
        quats: found.quats,
        log_scales: found.log_scales,
        logit_opacities: found
            .opacities
            .into_iter()
            .map(|steps| Opacity::Steps(steps).logit())
            .collect(),
        sh0: found.sh0,
        sh_rest: found.sh_rest,
    };
    (model, comments)
}
