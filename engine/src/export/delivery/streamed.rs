//! Streamed SOG: a folder of chunks in levels of detail. [`kiln_formats::sog`] owns levels and layout.

use std::path::Path;

use kiln_formats::sog::write_streamed;

use super::super::{PlyComments, RenderMode};
use super::source::Source;
use super::{DeliveryError, folder};

/// Writes the folder, and gives the Gaussians of each level.
pub(super) fn write(path: &Path, source: &mut Source<'_>, comments: PlyComments) -> Result<Vec<u64>, DeliveryError> {
    let antialiased = comments.render_mode == Some(RenderMode::Mip);
    let tree = source.tree()?;
    let stop = source.stop();
    folder::write(path, stop, |files| {
        let mut leaves = source.leaves(&tree, files.root()).map_err(|error| files.fail(error))?;
        // both closures may keep an error
        let files = std::cell::RefCell::new(files);
        write_streamed(
            &tree,
            leaves.sh_degree(),
            antialiased,
            &mut |leaf| {
                files.borrow_mut().check()?;
                leaves.read(leaf).map_err(|error| files.borrow_mut().fail(error))
            },
            &mut |name, bytes| files.borrow_mut().put(name, bytes),
        )
    })
}
