//! Any text read by the bare parser of the language that its first byte chooses, without corrections or printing: fast
//! enough for very many executions. See `referee_fuzz::bare`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| referee_fuzz::bare(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    referee_fuzz::mutate(data, size, max_size, seed)
});
