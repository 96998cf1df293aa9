//! Any text read as `hml`: see `referee_fuzz::read`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| referee_fuzz::read(data, referee_syntax::Language::Hml));
