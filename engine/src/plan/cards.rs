//! Bandwidth and arithmetic of cards that people have, by the name that a driver gives.
//!
//! Figures are those of the makers' data sheets: GB/s of device memory, and TFLOPS of f32 at boost clock. Where a maker counts
//! two instructions issued at once (AMD from RDNA 3 on) half is written down, which is what shaders reach.

/// What a card is made of.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Card {
    /// What is looked for in a device's name.
    pub name: &'static str,
    /// Bandwidth of its memory, GB/s.
    pub gb_per_s: f64,
    /// f32 operations, 10^12 a second.
    pub tflops: f64,
}

const fn card(name: &'static str, gb_per_s: f64, tflops: f64) -> Card {
    Card { name, gb_per_s, tflops }
}

const CARDS: &[Card] = &[
    card("RTX 2060", 336.0, 6.5),
    card("RTX 2060 SUPER", 448.0, 7.2),
    card("RTX 2070", 448.0, 7.5),
    card("RTX 2070 SUPER", 448.0, 9.1),
    card("RTX 2080", 448.0, 10.1),
    card("RTX 2080 SUPER", 496.0, 11.2),
    card("RTX 2080 Ti", 616.0, 13.4),
    card("RTX 3050", 224.0, 9.1),
    card("RTX 3060", 360.0, 12.7),
    card("RTX 3060 Ti", 448.0, 16.2),
    card("RTX 3070", 448.0, 20.3),
    card("RTX 3070 Ti", 608.0, 21.7),
    card("RTX 3080", 760.0, 29.8),
    card("RTX 3080 Ti", 912.0, 34.1),
    card("RTX 3090", 936.0, 35.6),
    card("RTX 3090 Ti", 1008.0, 40.0),
    card("RTX 4060", 272.0, 15.1),
    card("RTX 4060 Ti", 288.0, 22.1),
    card("RTX 4070", 504.0, 29.1),
    card("RTX 4070 SUPER", 504.0, 35.5),
    card("RTX 4070 Ti", 504.0, 40.1),
    card("RTX 4070 Ti SUPER", 672.0, 44.1),
    card("RTX 4080", 717.0, 48.7),
    card("RTX 4080 SUPER", 736.0, 52.2),
    card("RTX 4090", 1008.0, 82.6),
    card("RTX 5060", 448.0, 19.2),
    card("RTX 5060 Ti", 448.0, 23.7),
    card("RTX 5070", 672.0, 30.9),
    card("RTX 5070 Ti", 896.0, 43.9),
    card("RTX 5080", 960.0, 56.3),
    card("RTX 5090", 1792.0, 104.8),
    card("RTX A4000", 448.0, 19.2),
    card("RTX A5000", 768.0, 27.8),
    card("RTX A6000", 768.0, 38.7),
    card("RTX 6000 Ada", 960.0, 91.1),
    card("Tesla T4", 320.0, 8.1),
    card("V100", 900.0, 15.7),
    card("NVIDIA A10", 600.0, 31.2),
    card("NVIDIA A40", 696.0, 37.4),
    card("A100", 1555.0, 19.5),
    card("NVIDIA L4", 300.0, 30.3),
    card("NVIDIA L40", 864.0, 90.5),
    card("NVIDIA L40S", 864.0, 91.6),
    card("H100 PCIe", 2039.0, 51.2),
    card("H100", 3350.0, 66.9),
    card("H200", 4800.0, 66.9),
    card("RX 6600", 224.0, 8.9),
    card("RX 6600 XT", 256.0, 10.6),
    card("RX 6700 XT", 384.0, 13.2),
    card("RX 6800", 512.0, 16.2),
    card("RX 6800 XT", 512.0, 20.7),
    card("RX 6900 XT", 512.0, 23.0),
    card("RX 6950 XT", 576.0, 23.7),
    card("RX 7600", 288.0, 10.9),
    card("RX 7700 XT", 432.0, 17.6),
    card("RX 7800 XT", 624.0, 18.7),
    card("RX 7900 XT", 800.0, 25.8),
    card("RX 7900 XTX", 960.0, 30.7),
    card("RX 9060 XT", 322.0, 12.8),
    card("RX 9070", 645.0, 18.1),
    card("RX 9070 XT", 645.0, 24.3),
    card("A580", 512.0, 12.3),
    card("A750", 512.0, 17.2),
    card("A770", 560.0, 19.7),
    card("B570", 380.0, 11.5),
    card("B580", 456.0, 13.7),
];

impl Card {
    /// The card that the model of rates was made from.
    pub(super) const REFERENCE: Self = card("H200", 4800.0, 66.9);

    /// The card of a device with this name; none of those that are not known, such as cards of laptops, which bear the names
    /// of faster ones.
    #[must_use]
    pub fn named(device: &str) -> Option<Self> {
        if device.contains("Laptop") || device.contains("Max-Q") || device.contains("Mobile") {
            return None;
        }
        let is_it = |card: &&Self| {
            device.match_indices(card.name).any(|(at, name)| {
                let rest = device.get(at + name.len()..).unwrap_or_default();
                !rest.starts_with(|next: char| next.is_alphanumeric())
            })
        };
        CARDS.iter().filter(is_it).max_by_key(|card| card.name.len()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_a_driver_says_counts() {
        for (device, name) in [
            ("NVIDIA GeForce RTX 4070", Some("RTX 4070")),
            ("NVIDIA GeForce RTX 4070 Ti SUPER", Some("RTX 4070 Ti SUPER")),
            ("NVIDIA H200", Some("H200")),
            ("NVIDIA H100 80GB HBM3", Some("H100")),
            ("NVIDIA A100-SXM4-80GB", Some("A100")),
            ("NVIDIA L40S", Some("NVIDIA L40S")),
            ("AMD Radeon RX 7800 XT (RADV NAVI32)", Some("RX 7800 XT")),
            ("AMD Radeon RX 7900 XTX", Some("RX 7900 XTX")),
            ("Intel(R) Arc(tm) A770 Graphics (DG2)", Some("A770")),
            ("NVIDIA GeForce RTX 4070 Laptop GPU", None),
            ("llvmpipe (LLVM 15.0.6, 256 bits)", None),
            ("NVIDIA GeForce RTX 40705", None),
        ] {
            assert_eq!(Card::named(device).map(|card| card.name), name, "{device}");
        }
    }

    #[test]
    fn no_card_is_there_twice() {
        for (at, card) in CARDS.iter().enumerate() {
            assert!(
                CARDS.iter().skip(at + 1).all(|other| other.name != card.name),
                "{card:?}"
            );
            assert_eq!(Card::named(card.name), Some(*card));
        }
    }
}
