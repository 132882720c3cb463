//! Training images that stay in device memory: each has a place in one of a few large tensors, and steps read it there.

use super::Capacities;
use kiln_program::{Class, Span, Tag, TensorTable};

/// Where the photo of a view lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of [`ResidentImages::pages`].
    pub page: usize,
    /// First byte in it, a multiple of 16.
    pub offset: u64,
    /// Bytes there is room for.
    pub bytes: u64,
}

/// The places of all training images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResidentImages {
    /// Tensors no larger than a binding; a step is recorded once for each.
    pub pages: Vec<Span>,
    places: Vec<Place>,
}

impl ResidentImages {
    /// Adds pages of at most `page_bytes` to `table` for photos of `photo_bytes`, in order. A photo larger than that gets a
    /// page of its own, which the plan refuses.
    #[must_use]
    pub fn new(table: &mut TensorTable, photo_bytes: impl IntoIterator<Item = u64>, page_bytes: u64) -> Self {
        let mut places: Vec<Place> = Vec::new();
        let mut sizes: Vec<u64> = Vec::new();
        for bytes in photo_bytes {
            let bytes = Capacities::whole_units(bytes);
            let page = match sizes.last_mut() {
                Some(size) if *size + bytes <= page_bytes => {
                    *size += bytes;
                    sizes.len() - 1
                }
                _ => {
                    sizes.push(bytes);
                    sizes.len() - 1
                }
            };
            let offset = sizes.get(page).map_or(0, |size| size - bytes);
            places.push(Place { page, offset, bytes });
        }
        let page = |(index, bytes)| table.add(format!("images/resident[{index}]"), Class::Images, Tag::Images, bytes);
        Self {
            pages: sizes.into_iter().enumerate().map(page).collect(),
            places,
        }
    }

    /// The place of training view `index`; none when images are not resident.
    #[must_use]
    pub fn place(&self, index: usize) -> Option<Place> {
        self.places.get(index).copied()
    }

    /// Bytes of all pages.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.pages.iter().map(|page| page.bytes).sum()
    }

    /// The bytes of a place.
    #[must_use]
    pub fn view(&self, place: Place) -> Option<Span> {
        let page = self.pages.get(place.page)?;
        Some(page.slice(place.offset, place.bytes))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn photos_fill_pages_in_order_and_never_overlap() {
        let mut table = TensorTable::default();
        let sizes = [100, 48, 60, 16, 300, 1, 100];
        let images = ResidentImages::new(&mut table, sizes, 240);
        let places: Vec<_> = (0..7).map(|i| images.place(i).unwrap()).collect();
        let pages: Vec<_> = places.iter().map(|p| (p.page, p.offset)).collect();
        let expected = [(0, 0), (0, 112), (0, 160), (0, 224), (1, 0), (2, 0), (2, 16)];
        assert_eq!(pages, expected);
        assert!(
            places
                .iter()
                .zip(sizes)
                .all(|(p, size)| p.bytes >= size && p.bytes % 16 == 0)
        );
        let bytes: Vec<_> = images.pages.iter().map(|page| page.bytes).collect();
        assert_eq!(bytes, [240, 304, 128]);
        let view = images.view(places[2]).unwrap();
        assert_eq!(
            (view.tensor, view.offset, view.bytes),
            (images.pages[0].tensor, 160, 64)
        );
        assert_eq!(images.place(7), None);
        assert_eq!(table.tensors().len(), 3);
    }
}
