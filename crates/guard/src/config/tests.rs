//! Configurations that are read, and what is said of those that are not.

use super::*;

const SMALLEST: &str =
    "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:25\"\nprotocol = \"a.scr\"\n";

fn read(text: &str) -> Result<Config, Vec<Problem>> {
    Config::read(text, &|name| (name == "PORT").then(|| "\"2525".to_owned()))
}

fn complaint(text: &str) -> (String, String) {
    let problems = read(text).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    (problems[0].message.clone(), text[problems[0].span.clone()].to_owned())
}

#[test]
fn the_smallest_configuration_has_defaults() {
    let config = read(SMALLEST).unwrap();
    let listener = config.listeners[0].get_ref();
    assert_eq!(listener.policy, PolicyName::Halt);
    assert_eq!(listener.limits.message, Size(1 << 20));
    assert_eq!(listener.limits.idle, Time::seconds(300));
}

#[test]
fn variables_are_values_and_never_syntax() {
    let text = SMALLEST.replace("a.scr", "x${PORT}y$${z}");
    assert_eq!(read(&text).unwrap().listeners[0].get_ref().protocol.get_ref(), "x\"2525y${z}");
}

#[test]
fn problems_have_their_place() {
    let missing = SMALLEST.replace("a.scr", "${NOWHERE}");
    assert_eq!(
        complaint(&missing),
        ("the environment variable `NOWHERE` is not set".to_owned(), "\"${NOWHERE}\"".to_owned())
    );
    let (message, place) = complaint(&format!("{SMALLEST}polcy = \"halt\"\n"));
    assert!(message.contains("polcy"), "{message}");
    assert_eq!(place, "polcy");
    let (message, place) = complaint(&format!("{SMALLEST}limits.message = \"1 furlong\"\n"));
    assert!(message.contains("64KiB"), "{message}");
    assert_eq!(place, "\"1 furlong\"");
    let (message, place) = complaint(&SMALLEST.replace("127.0.0.1:25", "nowhere"));
    assert!(message.contains("no address"), "{message}");
    assert_eq!(place, "\"nowhere\"");
    assert!(complaint("threads = 1\nlistener = []\n").0.contains("nothing to guard"));
    assert!(complaint("").0.contains("nothing to guard"));
    // What is not TOML at all is shown with its line.
    let problems = read("[[listener]\nlisten = 127.0.0.1:2525\n").unwrap_err();
    assert!(problems.iter().all(|problem| !problem.span.is_empty()), "{problems:?}");
    // No names of the program's own.
    for (key, value) in
        [("codec", "\"text\""), ("close-message", "\"bye\""), ("limits", "7"), ("tls", "true")]
    {
        let (message, place) = complaint(&format!("{SMALLEST}{key} = {value}\n"));
        assert!(message.contains("a table") && !message.contains("struct"), "{message}");
        assert_eq!(place, value);
    }
}

#[test]
fn networks_contain_what_they_should() {
    let network = |text: &str| Network::try_from(text.to_owned()).unwrap();
    let contains = |net: &str, ip: &str| network(net).contains(ip.parse().unwrap());
    assert!(contains("10.0.0.0/8", "10.200.3.4") && !contains("10.0.0.0/8", "11.0.0.1"));
    assert!(contains("0.0.0.0/0", "1.2.3.4") && !contains("0.0.0.0/0", "::1"));
    assert!(contains("::1", "::1") && !contains("::1", "::2"));
    assert!(contains("127.0.0.1", "::ffff:127.0.0.1"));
    assert!(Network::try_from("10.0.0.0/33".to_owned()).is_err());
}

#[test]
fn the_schema_names_every_key() {
    let schema = Config::schema().to_string();
    for key in ["listener", "protocol", "proxy-out", "rotate-at", "connections-per-source"] {
        assert!(schema.contains(key), "{key}");
    }
}
