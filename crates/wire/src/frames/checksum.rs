//! Checksums of frames. A frame with a wrong one is malformed: its receiver would throw it away, or take it for another.

/// How a checksum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// All bytes added up.
    Sum8,
    /// All bytes, exclusive or.
    Xor8,
    /// The Internet's (RFC 1071): one's complement of the sum of 16-bit words, in network order.
    Inet,
    /// CRC-16/ARC's polynomial with all bits set at first: Modbus.
    Crc16Modbus,
    /// CRC-16/CCITT with all bits set at first.
    Crc16Ccitt,
    /// CRC-32 (IEEE 802.3): Ethernet, gzip.
    Crc32,
    /// CRC-32C (Castagnoli): iSCSI, Kafka.
    Crc32c,
}

/// The names in tables.
const NAMES: [(&str, Checksum); 7] = [
    ("sum8", Checksum::Sum8),
    ("xor8", Checksum::Xor8),
    ("inet", Checksum::Inet),
    ("crc16-modbus", Checksum::Crc16Modbus),
    ("crc16-ccitt", Checksum::Crc16Ccitt),
    ("crc32", Checksum::Crc32),
    ("crc32c", Checksum::Crc32c),
];

impl Checksum {
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(other, _)| *other == name).map(|(_, checksum)| *checksum)
    }

    /// How many bytes it has.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Sum8 | Self::Xor8 => 1,
            Self::Inet | Self::Crc16Modbus | Self::Crc16Ccitt => 2,
            Self::Crc32 | Self::Crc32c => 4,
        }
    }

    /// The checksum of `bytes`.
    pub(crate) fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Sum8 => u32::from(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte))),
            Self::Xor8 => u32::from(bytes.iter().fold(0_u8, |sum, byte| sum ^ byte)),
            Self::Inet => {
                let mut sum = 0_u32;
                for pair in bytes.chunks(2) {
                    let word = u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
                    sum += word;
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                !sum & 0xffff
            }
            Self::Crc16Modbus => reflected(bytes, 0xa001, 0xffff),
            Self::Crc16Ccitt => bytes.iter().fold(0xffff, |crc, byte| {
                (0..8).fold(crc ^ u32::from(*byte) << 8, |crc, _| {
                    let shifted = crc << 1 & 0xffff;
                    if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
                })
            }),
            Self::Crc32 => !reflected(bytes, 0xedb8_8320, u32::MAX),
            Self::Crc32c => !reflected(bytes, 0x82f6_3b78, u32::MAX),
        }
    }
}

fn reflected(bytes: &[u8], polynomial: u32, first: u32) -> u32 {
    bytes.iter().fold(first, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| {
                if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ polynomial }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::Checksum;

    #[test]
    fn the_check_values_of_the_catalogue() {
        let check = |name: &str| Checksum::named(name).map(|checksum| checksum.of(b"123456789"));
        assert_eq!(check("crc32"), Some(0xcbf4_3926));
        assert_eq!(check("crc32c"), Some(0xe306_9283));
        assert_eq!(check("crc16-modbus"), Some(0x4b37));
        assert_eq!(check("crc16-ccitt"), Some(0x29b1));
        assert_eq!(check("sum8"), Some(0xdd));
        assert_eq!(check("xor8"), Some(0x31));
        // RFC 1071, 3.
        assert_eq!(Checksum::Inet.of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2 & 0xffff);
    }
}
