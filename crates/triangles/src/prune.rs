//! Pruning: removes triangles that are faint, huge or unimportant, and vertices without a triangle.

use crate::schedule::PruneRule;
use crate::triangles::renamed;
use crate::{Error, Triangles};

/// What is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Vertices that stay, by their old numbers, ascending; a vertex's new number is its place here. Each has a triangle.
    pub vertices: Vec<u32>,
    /// Triangles that stay, by their old numbers, ascending.
    pub kept: Vec<u32>,
    /// Their vertices, by new numbers.
    pub triangles: Vec<[u32; 3]>,
}

impl Triangles<'_> {
    /// Whether a rule lets a triangle stay.
    fn stays(&self, triangle: usize, rule: &PruneRule) -> bool {
        let unimportant = rule.importance.is_some_and(|least| self.importance[triangle] <= least);
        let huge = self.sizes_px[triangle] > rule.size_px;
        let [a, b, c] = self.triangles[triangle];
        let is_sound = a != b && b != c && c != a;
        is_sound && !unimportant && !huge && self.opacity(self.triangles[triangle]) > f64::from(rule.opacity)
    }

    /// Deletes the triangles that `rule` names, those with two equal vertices, and vertices that are in no triangle then.
    ///
    /// # Errors
    /// [`Error::NoneLeft`].
    pub fn prune(&self, rule: &PruneRule) -> Result<Pruned, Error> {
        let kept: Vec<u32> = (0..self.triangles.len())
            .filter(|&triangle| self.stays(triangle, rule))
            .map(|triangle| triangle as u32)
            .collect();
        if kept.is_empty() {
            return Err(Error::NoneLeft {
                triangles: self.triangles.len(),
            });
        }
        let mut triangles: Vec<[u32; 3]> = kept.iter().map(|&old| self.triangles[old as usize]).collect();
        Ok(Pruned {
            vertices: renamed(self.positions.len(), &mut triangles),
            kept,
            triangles,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::soups::Soup;

    const ALL: PruneRule = PruneRule {
        opacity: -1.0,
        size_px: f32::INFINITY,
        importance: None,
    };

    #[test]
    fn each_rule_takes_its_own() {
        let mut soup = Soup::strip(6);
        soup.opacities(&[0.9, 0.9, 0.9, 0.9, 0.9, 0.2, 0.9, 0.9]);
        soup.importance[0] = 0.1;
        soup.sizes_px[1] = 2000.0;
        let kept = |rule: &PruneRule| soup.read().prune(rule).unwrap().kept;
        assert_eq!(kept(&ALL), [0, 1, 2, 3, 4, 5]);
        // Vertex 5 is in triangles 3, 4 and 5: the least opacity counts.
        let (opacity, size_px, importance) = (0.235, 1400.0, Some(0.235));
        assert_eq!(kept(&PruneRule { opacity, ..ALL }), [0, 1, 2]);
        assert_eq!(kept(&PruneRule { size_px, ..ALL }), [0, 2, 3, 4, 5]);
        assert_eq!(kept(&PruneRule { importance, ..ALL }), [1, 2, 3, 4, 5]);
        // At the threshold they go.
        let importance = Some(0.1);
        assert_eq!(kept(&PruneRule { importance, ..ALL }), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_left_is_whole() {
        for seed in 0..20 {
            let soup = Soup::random(40, 60, seed);
            let rule = PruneRule {
                opacity: 0.2,
                size_px: 40.0,
                importance: Some(0.3),
            };
            let Ok(pruned) = soup.read().prune(&rule) else {
                continue;
            };
            let mut used = vec![false; pruned.vertices.len()];
            for (new, &old) in pruned.triangles.iter().zip(&pruned.kept) {
                assert_eq!(new.map(|v| pruned.vertices[v as usize]), soup.triangles[old as usize]);
                new.iter().for_each(|&vertex| used[vertex as usize] = true);
            }
            assert!(used.iter().all(|&used| used), "a vertex is left alone");
            assert!(pruned.vertices.is_sorted() && pruned.kept.is_sorted());
        }
    }

    #[test]
    fn nothing_left_is_an_error() {
        let soup = Soup::strip(3);
        let error = soup.read().prune(&PruneRule { opacity: 1.0, ..ALL }).unwrap_err();
        assert!(error.to_string().contains("none of 3 triangles"), "{error}");
    }
}
