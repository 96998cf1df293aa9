//! Interning is a bijection: whatever the names, a number leads back to its name and a name to its number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use referee_theory::Vocabulary;

fuzz_target!(|text: &str| {
    let mut vocabulary = Vocabulary::new();
    // A protocol has at most 65,535 roles, which the parsers enforce.
    for name in text.lines().take(65_535) {
        let role = vocabulary.add_role(name);
        assert_eq!(vocabulary.role_name(role), name);
        assert_eq!(vocabulary.find_role(name), Some(role));
        let message = vocabulary.add_plain_message(name);
        assert_eq!(vocabulary.label_of(message), name);
        assert_eq!(vocabulary.find_label(name), Some(vocabulary.label(message)));
        assert_eq!(vocabulary.add_plain_message(name), message);
    }
});
