//! Mutations of inputs that are chosen from a corpus, each with the same likelihood: for builds without instrumentation of Referee's
//! crates, in which libFuzzer sees no difference between inputs and would mutate only the smallest.

use std::sync::OnceLock;

static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();

/// The inputs in the folders that `FUZZ_CORPUS` names, separated by colons.
fn corpus() -> Vec<Vec<u8>> {
    let folders = std::env::var("FUZZ_CORPUS").unwrap_or_default();
    let entries = folders.split(':').filter_map(|folder| std::fs::read_dir(folder).ok());
    let mut files: Vec<_> = entries.flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// One of libFuzzer's mutations of the first `size` bytes of `data`; with `FUZZ_CORPUS`, of another input one time in three, so that
/// three mutations are made of one on average.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let corpus = CORPUS.get_or_init(corpus);
    let mut size = size;
    let mixed = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    if (mixed % 3 == 0 || size == 0) && !corpus.is_empty() {
        let chosen = &corpus[(mixed / 3) as usize % corpus.len()];
        size = chosen.len().min(max_size);
        data[..size].copy_from_slice(&chosen[..size]);
    }
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
}
