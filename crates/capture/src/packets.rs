//! Packets of a capture, as its bytes come: pcap and pcapng, and what of them is TCP.

use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{Block, Linktype, nom};

use crate::reassembly::Segment;

/// The longest block or packet that is read.
const MAX_BLOCK: usize = 16 << 20;
/// How many interfaces a section may have.
const MAX_INTERFACES: usize = 4096;
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const NANOSECONDS: i64 = 1_000_000_000;

/// A segment, and who sent it to whom.
#[derive(Debug)]
pub struct TcpPacket<'a> {
    /// The sender's address.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
    /// What was sent.
    pub segment: Segment<'a>,
}

/// Why the rest of a capture cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureError {
    /// It begins neither like pcap nor like pcapng.
    NoCapture,
    /// Something in it is not as it should be.
    Damaged,
}

/// Reads packets, however a capture is cut.
#[derive(Debug, Default)]
pub struct PacketReader {
    pending: Vec<u8>,
    format: Format,
    number: u64,
    /// Packets that are no TCP, are fragments, or have headers that were cut.
    pub(crate) skipped: Skipped,
}

/// How many packets were not looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Fragments of IP packets: what they carry is missing from its connection.
    pub fragments: u64,
    /// Packets of links or protocols that are not known, or cut before the end of their headers.
    pub unknown: u64,
}

#[derive(Debug, Default)]
enum Format {
    #[default]
    Unknown,
    Pcap {
        is_big_endian: bool,
        link: Linktype,
        /// Nanoseconds in a unit of the fraction.
        unit: i64,
    },
    PcapNg {
        is_big_endian: bool,
        interfaces: Vec<Interface>,
    },
    Broken,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    resolution: u64,
    offset: i64,
}

/// A packet as the file has it: when, on what link, and its bytes.
type Raw<'a> = Option<(i64, Linktype, &'a [u8])>;

impl PacketReader {
    /// Takes the next bytes and gives the segments of TCP in them.
    ///
    /// # Errors
    /// If what comes is no capture. Nothing more is read then.
    pub fn take(&mut self, bytes: &[u8], give: &mut dyn FnMut(TcpPacket<'_>)) -> Result<(), CaptureError> {
        if matches!(self.format, Format::Broken) {
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        loop {
            match self.next(rest) {
                Ok(Some((packet, after))) => {
                    rest = after;
                    if let Some((time, link, data)) = packet {
                        let at = (time, self.number);
                        self.number += 1;
                        self.packet(link, data, at, give);
                    }
                }
                Ok(None) if rest.len() <= MAX_BLOCK => break,
                Ok(None) => return self.fail(CaptureError::Damaged),
                Err(error) => return self.fail(error),
            }
        }
        self.pending = rest.to_vec();
        Ok(())
    }

    /// Whether the capture ends in the middle of a packet.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        !self.pending.is_empty()
    }

    fn fail(&mut self, error: CaptureError) -> Result<(), CaptureError> {
        self.format = Format::Broken;
        Err(error)
    }

    /// The next packet, or something that is none, and what follows it; `None` if more has to come.
    fn next<'a>(&mut self, rest: &'a [u8]) -> Result<Option<(Raw<'a>, &'a [u8])>, CaptureError> {
        match &mut self.format {
            Format::Broken => Ok(None),
            Format::Unknown => self.header(rest),
            Format::Pcap { is_big_endian, link, unit } => {
                let parse = match is_big_endian {
                    true => pcap_parser::parse_pcap_frame_be,
                    false => pcap_parser::parse_pcap_frame,
                };
                Ok(whole(parse(rest))?.map(|(after, frame)| {
                    let time = i64::from(frame.ts_sec) * NANOSECONDS + i64::from(frame.ts_usec) * *unit;
                    (Some((time, *link, frame.data)), after)
                }))
            }
            Format::PcapNg { is_big_endian, interfaces } => {
                let parse = match is_big_endian {
                    // A section may have another order of bytes than the one before.
                    _ if rest.starts_with(&SECTION_HEADER) => match section_is_big_endian(rest) {
                        Some(true) => pcap_parser::parse_block_be,
                        _ => pcap_parser::parse_block_le,
                    },
                    true => pcap_parser::parse_block_be,
                    false => pcap_parser::parse_block_le,
                };
                if rest.starts_with(&SECTION_HEADER) && rest.len() < 12 {
                    return Ok(None);
                }
                let Some((after, block)) = whole(parse(rest))? else { return Ok(None) };
                let packet = match block {
                    Block::SectionHeader(section) => {
                        *is_big_endian = section.big_endian();
                        interfaces.clear();
                        None
                    }
                    Block::InterfaceDescription(interface) if interfaces.len() < MAX_INTERFACES => {
                        let resolution = interface.ts_resolution().ok_or(CaptureError::Damaged)?;
                        let (link, offset) = (interface.linktype, interface.ts_offset());
                        interfaces.push(Interface { link, resolution, offset });
                        None
                    }
                    Block::EnhancedPacket(packet) => {
                        let interface = interfaces.get(packet.if_id as usize).ok_or(CaptureError::Damaged)?;
                        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                        let length = packet.packet_data().len();
                        Some((
                            interface.time(ticks),
                            interface.link,
                            packet.data.get(..length).unwrap_or_default(),
                        ))
                    }
                    // Without a time.
                    Block::SimplePacket(packet) => {
                        let link = interfaces.first().ok_or(CaptureError::Damaged)?.link;
                        let length = packet.packet_data().len();
                        Some((0, link, packet.data.get(..length).unwrap_or_default()))
                    }
                    _ => None,
                };
                Ok(Some((packet, after)))
            }
        }
    }

    fn header<'a>(&mut self, rest: &'a [u8]) -> Result<Option<(Raw<'a>, &'a [u8])>, CaptureError> {
        if rest.len() < 4 {
            return Ok(None);
        }
        if rest.starts_with(&SECTION_HEADER) {
            self.format = Format::PcapNg { is_big_endian: false, interfaces: Vec::new() };
            return Ok(Some((None, rest)));
        }
        let Some((after, header)) =
            whole(pcap_parser::parse_pcap_header(rest)).map_err(|_| CaptureError::NoCapture)?
        else {
            return Ok(None);
        };
        if header.is_modified_format() {
            return Err(CaptureError::NoCapture);
        }
        let unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
        self.format = Format::Pcap { is_big_endian: header.is_bigendian(), link: header.network, unit };
        Ok(Some((None, after)))
    }

    fn packet(&mut self, link: Linktype, data: &[u8], at: (i64, u64), give: &mut dyn FnMut(TcpPacket<'_>)) {
        let Some(packet) = sliced(link, data) else {
            self.skipped.unknown += 1;
            return;
        };
        let (from, to, fragment) = match &packet.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let addresses = (IpAddr::V4(header.source_addr()), IpAddr::V4(header.destination_addr()));
                (addresses.0, addresses.1, header.is_fragmenting_payload())
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let addresses = (IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()));
                (addresses.0, addresses.1, ip.is_payload_fragmented())
            }
            _ => {
                self.skipped.unknown += 1;
                return;
            }
        };
        if fragment {
            self.skipped.fragments += 1;
            return;
        }
        let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
            self.skipped.unknown += 1;
            return;
        };
        let segment = Segment {
            sequence: tcp.sequence_number(),
            acknowledges: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            bytes: tcp.payload(),
            at,
        };
        let (from, to) =
            (SocketAddr::new(from, tcp.source_port()), SocketAddr::new(to, tcp.destination_port()));
        give(TcpPacket { from, to, segment });
    }
}

impl Interface {
    fn time(&self, ticks: u64) -> i64 {
        let resolution = u128::from(self.resolution.max(1));
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / resolution;
        let offset = i128::from(self.offset) * i128::from(NANOSECONDS);
        i64::try_from(i128::try_from(nanoseconds).unwrap_or(i128::MAX).saturating_add(offset)).unwrap_or(0)
    }
}

/// The layers of a packet, by the kind of link.
fn sliced(link: Linktype, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    /// Headers before the IP packet.
    const NULL: usize = 4;
    const SLL: usize = 16;
    const SLL2: usize = 20;
    let ip = |data| LaxSlicedPacket::from_ip(data).ok();
    match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => ip(data),
        Linktype::NULL | Linktype::LOOP => ip(data.get(NULL..)?),
        Linktype::LINUX_SLL => ip(data.get(SLL..)?),
        Linktype::LINUX_SLL2 => ip(data.get(SLL2..)?),
        _ => None,
    }
}

/// Which order of bytes the section that begins here has, by its magic number.
fn section_is_big_endian(rest: &[u8]) -> Option<bool> {
    match rest.get(8..12)? {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(true),
        _ => Some(false),
    }
}

/// What was parsed and what follows; `None` if more has to come.
fn whole<T, E>(parsed: nom::IResult<&[u8], T, E>) -> Result<Option<(&[u8], T)>, CaptureError> {
    match parsed {
        Ok((after, value)) => Ok(Some((after, value))),
        Err(nom::Err::Incomplete(_)) => Ok(None),
        Err(_) => Err(CaptureError::Damaged),
    }
}
