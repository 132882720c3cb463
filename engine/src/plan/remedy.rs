//! Changes with which a run fits that was refused, for people.

use std::fmt;

use kiln_gpu::memory::{Budget, GIB, MIB};

/// A change with which the run fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The flags, or what else is to be done.
    pub what: String,
    /// Device bytes of the plan with it.
    pub bytes: u64,
}

/// Changes that fit, each alone, cheapest in quality first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedies(pub Vec<Remedy>);

impl fmt::Display for Remedies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = &self.0[..] else {
            return f.write_str("no setting makes it fit: it needs a device with more memory");
        };
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        let lead = if others.is_empty() {
            "this fits"
        } else {
            "each of these fits, cheapest in quality first"
        };
        write!(f, "{lead}: {} ({:.1} MiB)", first.what, mib(first.bytes))?;
        for Remedy { what, bytes } in others {
            write!(f, ", {what} ({:.1} MiB)", mib(*bytes))?;
        }
        Ok(())
    }
}

impl Remedies {
    /// What gives a plan of `needed_bytes` more room under `budget`: a larger cap, or less in other hands. Neither changes the run.
    #[must_use]
    pub fn of_room(needed_bytes: u64, budget: &Budget) -> Self {
        let mut remedies = Self::default();
        let cap = || {
            // Rounded up to what people write.
            let tenths = (needed_bytes * 10).div_ceil(GIB);
            format!("`--set memory.cap_gib={}.{}`", tenths / 10, tenths % 10)
        };
        if budget.profile_bytes.is_some_and(|bytes| bytes < needed_bytes) {
            match budget.device_bytes {
                Some(bytes) if bytes < needed_bytes => {}
                Some(_) => remedies.add(cap(), needed_bytes),
                None => remedies.add(format!("{} on a card that has it", cap()), needed_bytes),
            }
        } else if needed_bytes <= budget.without_others() {
            remedies.add("ending other programs that use the device".to_owned(), needed_bytes);
        }
        remedies
    }

    /// The same where photos on the device, `images_bytes`, leave too little for the rest.
    #[must_use]
    pub fn of_photos(images_bytes: u64, other_bytes: u64, budget: &Budget) -> Self {
        let mut remedies = Self::default();
        remedies.add("`--set dataset.residency=host`".to_owned(), other_bytes);
        remedies.0.extend(Self::of_room(images_bytes + other_bytes, budget).0);
        remedies
    }

    /// The same behind another remedy, in a sentence that goes on; empty where there is none.
    #[must_use]
    pub fn behind(&self) -> String {
        if self.0.is_empty() {
            String::new()
        } else {
            format!("; {self}")
        }
    }

    pub(super) fn add(&mut self, what: String, bytes: u64) {
        self.0.push(Remedy { what, bytes });
    }
}
