//! Checksums of the columns by blocks of 4 KiB, under a tree of checksums whose root stands in the
//! frame's header. So what is read can be checked when it is first touched, and only that.
//!
//! Level 0 has one hash a block of data, level 1 one a block of level 0, and so on until a level
//! fits in one block; the root is that block's hash. The levels stand one after the other.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes a block.
pub(crate) const BLOCK: usize = 4096;
/// Bytes a hash.
const HASH: usize = 8;

/// Builds the levels over some data, and the root.
pub(crate) fn build(data: &[u8]) -> (Vec<u8>, u64) {
    let mut tree = Vec::new();
    let mut level = hashes(data);
    loop {
        tree.extend_from_slice(&level);
        if level.len() <= BLOCK {
            return (tree, xxh3_64(&level));
        }
        level = hashes(&level);
    }
}

fn hashes(data: &[u8]) -> Vec<u8> {
    data.chunks(BLOCK)
        .flat_map(|block| xxh3_64(block).to_le_bytes())
        .collect()
}

/// Where the levels of a tree stand in it, for data of a length.
fn levels(data_len: usize) -> Vec<Range<usize>> {
    let mut levels = Vec::new();
    let mut start = 0;
    let mut below = data_len;
    loop {
        let len = below.div_ceil(BLOCK) * HASH;
        levels.push(start..start + len);
        if len <= BLOCK {
            return levels;
        }
        start += len;
        below = len;
    }
}

/// Bytes of a tree over data of a length.
pub(crate) fn tree_len(data_len: usize) -> usize {
    levels(data_len).last().map_or(0, |top| top.end)
}

/// Remembers which blocks were found right.
#[derive(Debug)]
pub(crate) struct Checked {
    data: Bits,
    levels: Vec<(Range<usize>, Bits)>,
}

#[derive(Debug)]
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new(bits: usize) -> Self {
        Self((0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn is_set(&self, bit: usize) -> bool {
        // Relaxed: a bit only ever says that immutable bytes were found right.
        self.0
            .get(bit / 64)
            .is_some_and(|word| word.load(Ordering::Relaxed) >> (bit % 64) & 1 == 1)
    }

    fn count(&self) -> u64 {
        self.0
            .iter()
            .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()))
            .sum()
    }

    fn set(&self, bit: usize) {
        if let Some(word) = self.0.get(bit / 64) {
            word.fetch_or(1 << (bit % 64), Ordering::Relaxed);
        }
    }
}

impl Checked {
    pub(crate) fn new(data_len: usize) -> Self {
        let levels = levels(data_len)
            .into_iter()
            .map(|level| {
                let blocks = level.len().div_ceil(BLOCK);
                (level, Bits::new(blocks))
            })
            .collect();
        Self {
            data: Bits::new(data_len.div_ceil(BLOCK)),
            levels,
        }
    }

    /// Bytes of data and tree that were checked so far.
    pub(crate) fn bytes(&self) -> u64 {
        let levels = self.levels.iter().map(|(_, bits)| bits.count());
        (self.data.count() + levels.sum::<u64>()) * u64::try_from(BLOCK).unwrap_or(0)
    }

    /// Whether the blocks that hold a range of the data are right.
    #[inline]
    pub(crate) fn check(&self, data: &[u8], tree: &[u8], root: u64, range: Range<usize>) -> bool {
        let first = range.start / BLOCK;
        let last = range.end.saturating_sub(1) / BLOCK;
        (first..=last)
            .all(|block| self.data.is_set(block) || self.check_block(data, tree, root, block))
    }

    /// Checks a block of data against the tree, and what of the tree is not checked yet from the
    /// root down.
    #[cold]
    fn check_block(&self, data: &[u8], tree: &[u8], root: u64, block: usize) -> bool {
        let mut path = vec![block];
        for _ in &self.levels {
            path.push(path.last().map_or(0, |number| number / (BLOCK / HASH)));
        }
        // path[n + 1] is the block of level n that holds the hash of block path[n] of level n - 1.
        let mut wanted = root;
        for (number, (level, bits)) in self.levels.iter().enumerate().rev() {
            let (Some(&of_level), Some(&below)) = (path.get(number + 1), path.get(number)) else {
                return false;
            };
            let Some(bytes) = tree
                .get(level.clone())
                .and_then(|level| block_of(level, of_level))
            else {
                return false;
            };
            if !bits.is_set(of_level) {
                if xxh3_64(bytes) != wanted {
                    return false;
                }
                bits.set(of_level);
            }
            let at = below % (BLOCK / HASH) * HASH;
            let Some(hash) = bytes
                .get(at..at + HASH)
                .and_then(|hash| hash.try_into().ok())
            else {
                return false;
            };
            wanted = u64::from_le_bytes(hash);
        }
        let right = block_of(data, block).is_some_and(|bytes| xxh3_64(bytes) == wanted);
        if right {
            self.data.set(block);
        }
        right
    }
}

fn block_of(data: &[u8], block: usize) -> Option<&[u8]> {
    let start = block.checked_mul(BLOCK)?;
    data.get(start..data.len().min(start + BLOCK))
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Checked, build, tree_len};

    #[test]
    fn every_changed_byte_is_noticed_where_it_is_touched_and_nowhere_else() {
        for len in [1, BLOCK, BLOCK + 1, 3 * BLOCK, 600 * BLOCK + 5] {
            let data: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let (tree, root) = build(&data);
            assert_eq!(tree.len(), tree_len(len));
            assert!(Checked::new(len).check(&data, &tree, root, 0..len));
            for at in [0, len / 2, len - 1] {
                let mut bad = data.clone();
                bad[at] ^= 1;
                let checked = Checked::new(len);
                assert!(!checked.check(&bad, &tree, root, at..at + 1));
                let far = (at + len / 2) % len;
                assert_eq!(
                    checked.check(&bad, &tree, root, far..far + 1),
                    far / BLOCK != at / BLOCK
                );
            }
            for at in (0..tree.len()).step_by(97) {
                let mut bad = tree.clone();
                bad[at] ^= 0x80;
                assert!(
                    !Checked::new(len).check(&data, &bad, root, 0..len),
                    "{len} {at}"
                );
            }
            assert!(!Checked::new(len).check(&data, &tree, root ^ 1, 0..1));
        }
    }
}
