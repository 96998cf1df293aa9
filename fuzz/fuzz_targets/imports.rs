//! Any tree of files in memory, read from its first: hostile module names, cycles, files that are links to others, and files that are too
//! large. No panic and no hang; each file is read once; nothing outside the roots is asked for; every place lies in the file that it names.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| referee_fuzz::imports(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    referee_fuzz::mutate(data, size, max_size, seed)
});
