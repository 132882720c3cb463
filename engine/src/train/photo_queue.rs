//! Photos that come to the device by a queue of their own, while the step before computes.
//!
//! The device has two places for photos, which steps take in turns. The copy for a step is submitted just before it. It
//! waits for the last step that read its place, the one before the last, and the step waits for the copy: so the host
//! submits as it does otherwise, and photos and steps overlap by themselves. A step that is done again has its photo
//! brought again, because others came to its place since; its slot of the host's ring still holds it. Evaluations bring
//! their photos on the queue of the steps, with no step in flight.

use super::{TrainError, Trainer};
use crate::config::{Profile, Residency, UploadQueue};
use crate::memory::{Gpu, MemoryError};
use crate::step::StepTensors;
use crate::vk::{Caps, Device, Ticket, UploadCopies, UploadPath};

/// By which queue photos come to a device under `profile`.
///
/// # Errors
/// [`TrainError::NoDevice`] when `device.upload_queue` asks for what the device does not have.
pub(super) fn path(profile: &Profile, caps: &Caps) -> Result<UploadPath, TrainError> {
    if profile.dataset.residency == Residency::Device {
        return Ok(UploadPath::WithSteps);
    }
    if profile.debug.upload_queue_alias {
        return Ok(UploadPath::Alias);
    }
    match (profile.device.upload_queue, caps.upload_family()) {
        (UploadQueue::Off, _) | (UploadQueue::Auto, None) => Ok(UploadPath::WithSteps),
        (UploadQueue::Auto | UploadQueue::Own, Some(family)) => Ok(UploadPath::Own(family)),
        (UploadQueue::Own, None) => Err(TrainError::NoDevice(format!(
            "`device.upload_queue` is own but `{}` has no queues that only copy; it can do: off, auto",
            caps.name
        ))),
    }
}

/// Refuses a device that has queues that only copy and cannot share blocks with them, where they are asked for.
///
/// # Errors
/// [`TrainError::NoDevice`].
pub(super) fn check(profile: &Profile, device: &Device) -> Result<(), TrainError> {
    let is_asked = path(profile, device.caps())?.is_apart() && profile.device.upload_queue == UploadQueue::Own;
    match is_asked && !device.uploads().is_apart() {
        true => Err(TrainError::NoDevice(format!(
            "`device.upload_queue` is own but `{}` wants other sizes for memory that two queues share; it can do: off, auto",
            device.caps().name
        ))),
        false => Ok(()),
    }
}

/// `profile` for plans on `device`: `device.upload_queue` is what it came to there, off or own.
#[must_use]
pub fn settled(profile: &Profile, device: &Device) -> Profile {
    let mut settled = profile.clone();
    settled.device.upload_queue = match device.uploads().is_apart() {
        true => UploadQueue::Own,
        false => UploadQueue::Off,
    };
    settled
}

/// True when a plan has two places for photos. Where it is up to a device that nobody asked, it has one.
pub(super) fn is_planned(profile: &Profile) -> bool {
    profile.device.upload_queue == UploadQueue::Own && profile.dataset.residency != Residency::Device
}

/// The copies, one for each slot of the ring, and who read what they brought.
pub(super) struct PhotoQueue {
    copies: UploadCopies,
    /// For each place, the last step that reads it.
    readers: Vec<Ticket>,
}

impl PhotoQueue {
    /// Records the copies; none where photos take no turns.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub(super) fn new(gpu: &Gpu, tensors: &StepTensors) -> Result<Option<Self>, MemoryError> {
        let (places, rings) = (&tensors.in_turns, &tensors.rings);
        if places.is_empty() {
            return Ok(None);
        }
        let slots = u64::from(tensors.capacities.slots);
        let ring = |slot: u64, bytes| rings.images.slice(slot * rings.images_stride, bytes);
        let copies: Vec<_> = std::iter::zip(0..slots, places.iter().cycle())
            .map(|(slot, place)| (ring(slot, place.bytes), *place))
            .collect();
        Ok(Some(Self {
            copies: gpu.compile_copies("photo", &copies)?,
            readers: vec![gpu.queue().last(); places.len()],
        }))
    }
}

impl Trainer {
    /// Where steps have their photos from, in a word: `step`, `own`, `alias` or `none`.
    #[must_use]
    pub fn uploads(&self) -> &'static str {
        match self.gpu.device().uploads() {
            _ if self.is_resident() => "none",
            UploadPath::WithSteps => "step",
            UploadPath::Own(_) => "own",
            UploadPath::Alias => "alias",
        }
    }

    /// Page of the photo in ring slot `slot`.
    pub(super) fn page_of(&self, slot: u32) -> usize {
        (slot as usize).checked_rem(self.tensors.in_turns.len()).unwrap_or(0)
    }

    /// Has the photo in ring slot `slot` brought to `page`, for the step that is submitted next; does nothing where steps
    /// bring theirs or have them on the device.
    pub(super) fn bring_photo(&mut self, slot: u32, page: usize) -> Result<(), TrainError> {
        let Some(photos) = &mut self.programs.photo_queue else {
            return Ok(());
        };
        // With no step in flight, others may have been at the places: an evaluation, or a step in bands. There is little to
        // wait for then.
        let last = self.gpu.queue().last();
        if self.in_flight.iter().all(Option::is_none) {
            photos.readers.fill(last);
        }
        let after = photos.readers.get(page).copied().unwrap_or(last);
        self.gpu.queue_mut().submit_copy(&photos.copies, slot, after)?;
        Ok(())
    }

    /// Notes that the step of `ticket` reads the photo in `page`.
    pub(super) fn read_photo(&mut self, page: usize, ticket: Ticket) {
        let photos = self.programs.photo_queue.as_mut();
        if let Some(reader) = photos.and_then(|photos| photos.readers.get_mut(page)) {
            *reader = ticket;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::{Inputs, resolve};
    use crate::vk::QueueFamily;

    fn profile(alter: impl Fn(&mut Profile)) -> Profile {
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            ..Inputs::default()
        };
        let mut profile = resolve(&inputs).unwrap();
        alter(&mut profile);
        profile
    }

    /// A device with a family that computes and, perhaps, one that only copies.
    fn card(copies: bool) -> Caps {
        let mut caps = Caps::default();
        caps.name = "Some card".to_owned();
        let family = |compute| QueueFamily {
            queues: 1,
            compute,
            transfer: true,
            ..QueueFamily::default()
        };
        caps.queue_families = [true, false].map(family).into();
        caps.queue_families.truncate(1 + usize::from(copies));
        caps
    }

    #[test]
    fn photos_have_a_queue_where_it_is_asked_for_and_there() {
        let of = |asked: UploadQueue, copies| path(&profile(|p| p.device.upload_queue = asked), &card(copies));
        assert_eq!(profile(|_| ()).device.upload_queue, UploadQueue::Off);
        assert_eq!(of(UploadQueue::Off, true).unwrap(), UploadPath::WithSteps);
        assert_eq!(of(UploadQueue::Auto, true).unwrap(), UploadPath::Own(1));
        assert_eq!(of(UploadQueue::Auto, false).unwrap(), UploadPath::WithSteps);
        assert_eq!(of(UploadQueue::Own, true).unwrap(), UploadPath::Own(1));
        assert_eq!(
            of(UploadQueue::Own, false).unwrap_err().to_string(),
            "`device.upload_queue` is own but `Some card` has no queues that only copy; it can do: off, auto"
        );
        let alias = profile(|p| p.debug.upload_queue_alias = true);
        assert_eq!(path(&alias, &card(true)).unwrap(), UploadPath::Alias);
    }

    #[test]
    fn photos_that_stay_on_the_device_need_no_queue_and_no_second_place() {
        let resident = profile(|p| {
            p.dataset.residency = Residency::Device;
            p.device.upload_queue = UploadQueue::Own;
        });
        for copies in [false, true] {
            assert_eq!(path(&resident, &card(copies)).unwrap(), UploadPath::WithSteps);
        }
        assert!(!is_planned(&resident));
        let own = profile(|p| p.device.upload_queue = UploadQueue::Own);
        let auto = profile(|p| p.device.upload_queue = UploadQueue::Auto);
        assert!(is_planned(&own) && !is_planned(&auto));
    }
}
