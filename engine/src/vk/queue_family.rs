//! The families of queues that a device has, and which of them copies beside the steps.

use std::fmt;

use ash::vk;

/// One family of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QueueFamily {
    /// Queues in it.
    pub queues: u32,
    /// Draws.
    pub graphics: bool,
    /// Runs compute shaders.
    pub compute: bool,
    /// Copies.
    pub transfer: bool,
    /// Binds pages of sparse resources.
    pub sparse: bool,
    /// Does what Kiln has no use for: video, optical flow.
    pub special: bool,
}

impl QueueFamily {
    pub(super) fn of(properties: &vk::QueueFamilyProperties) -> Self {
        use vk::QueueFlags as Q;
        let flags = properties.queue_flags;
        let known = Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER | Q::SPARSE_BINDING | Q::PROTECTED;
        let computes = flags.intersects(Q::GRAPHICS | Q::COMPUTE);
        Self {
            queues: properties.queue_count,
            graphics: flags.contains(Q::GRAPHICS),
            compute: flags.contains(Q::COMPUTE),
            // Those that draw or compute copy too, and need not say so.
            transfer: computes || flags.contains(Q::TRANSFER),
            sparse: flags.contains(Q::SPARSE_BINDING),
            special: !(flags & !known).is_empty(),
        }
    }

    /// True where its queues only copy.
    #[must_use]
    pub const fn only_copies(&self) -> bool {
        self.queues > 0 && self.transfer && !self.graphics && !self.compute
    }
}

impl fmt::Display for QueueFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x", self.queues)?;
        let words = [
            (self.graphics, " graphics"),
            (self.compute, " compute"),
            (self.transfer, " transfer"),
            (self.sparse, " sparse"),
            (self.special, " special"),
        ];
        words
            .iter()
            .filter(|(has, _)| *has)
            .try_for_each(|(_, word)| f.write_str(word))
    }
}

/// The family whose queues copy while others compute: the first that does nothing else, else the first that neither draws
/// nor computes. None where a device has no such family.
#[must_use]
pub fn upload_family(families: &[QueueFamily]) -> Option<u32> {
    let first = |fits: &dyn Fn(&QueueFamily) -> bool| families.iter().position(fits);
    let found = first(&|family| family.only_copies() && !family.special).or_else(|| first(&QueueFamily::only_copies));
    found.and_then(|at| u32::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags as drivers give them.
    fn family(queue_count: u32, queue_flags: vk::QueueFlags) -> QueueFamily {
        QueueFamily::of(&vk::QueueFamilyProperties {
            queue_flags,
            queue_count,
            ..Default::default()
        })
    }

    #[test]
    fn flags_are_told_apart() {
        use vk::QueueFlags as Q;
        let all = family(16, Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER | Q::SPARSE_BINDING);
        assert_eq!(all.to_string(), "16 x graphics compute transfer sparse");
        assert!(!all.only_copies());
        // Vulkan lets drivers leave out what follows from computing.
        let compute = family(8, Q::COMPUTE);
        assert!(compute.transfer && !compute.only_copies());
        let copies = family(2, Q::TRANSFER | Q::SPARSE_BINDING | Q::PROTECTED);
        assert!(copies.only_copies() && !copies.special);
        let video = family(7, Q::TRANSFER | Q::VIDEO_DECODE_KHR);
        assert_eq!(video.to_string(), "7 x transfer special");
        assert!(!family(1, Q::VIDEO_DECODE_KHR).only_copies());
    }

    #[test]
    fn queues_that_only_copy_come_before_those_of_video_and_empty_families_do_not_count() {
        use vk::QueueFlags as Q;
        let compute = family(1, Q::COMPUTE);
        let video = family(1, Q::TRANSFER | Q::VIDEO_DECODE_KHR);
        let copies = family(1, Q::TRANSFER);
        assert_eq!(upload_family(&[compute, video, copies]), Some(2));
        assert_eq!(upload_family(&[compute, video]), Some(1));
        assert_eq!(upload_family(&[compute, family(0, Q::TRANSFER)]), None);
        assert_eq!(upload_family(&[]), None);
    }
}
