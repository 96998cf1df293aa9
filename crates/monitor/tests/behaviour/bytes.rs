//! Sessions survive being written down, and nothing else is taken for one.

use referee_monitor::{BadSession, Verdict};

use crate::support::{AUTH, kind, monitor, s, send};

#[test]
fn a_session_is_a_small_value() {
    assert!(size_of::<referee_monitor::Session>() <= 32);
    assert!(size_of::<referee_monitor::Violation>() <= 16);
}

#[test]
fn a_saved_session_goes_on_where_it_was() {
    let monitor = monitor(AUTH, "client");
    let mut session = monitor.session();
    let mut seen = vec![monitor.save(&session)];
    let run: [(&str, &str, &[_]); 4] = [
        ("client", "Auth", &[s("bob"), s("x")]),
        ("server", "Succ", &[s("tökén")]),
        ("client", "Get", &[s("/"), s("tökén")]),
        ("server", "Res", &[s("")]),
    ];
    for (from, label, values) in run {
        assert_eq!(send(&monitor, &mut session, from, label, values), Verdict::Forward);
        let bytes = monitor.save(&session);
        let mut restored = monitor.restore(&bytes).unwrap();
        assert_eq!(monitor.save(&restored), bytes);
        if label == "Res" {
            assert!(bytes.len() < 64);
            let _ = kind(send(&monitor, &mut restored.clone(), "client", "Rvk", &[s("token")]));
            assert_eq!(send(&monitor, &mut restored, "client", "Rvk", &[s("tökén")]), Verdict::Forward);
        }
        seen.push(bytes);
    }
    let other = crate::support::monitor(AUTH, "server");
    for bytes in &seen {
        assert_eq!(other.restore(bytes).unwrap_err(), BadSession::OtherMonitor);
        for length in 0..bytes.len() {
            assert!(monitor.restore(&bytes[..length]).is_err());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(monitor.restore(&longer).unwrap_err(), BadSession::Malformed);
        // Whatever one byte is changed to: an error or another session, never a panic.
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Ok(session) = monitor.restore(&changed) {
                    assert_eq!(monitor.save(&session), changed);
                }
            }
        }
    }
}
