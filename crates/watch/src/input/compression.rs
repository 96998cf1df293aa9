//! Compressed inputs, told by their first bytes.
//!
//! Both decoders are Rust, which spares every user a C compiler and the workspace its only foreign code.
//! zlib-rs behind flate2 takes a quarter of the time of gzip. ruzstd gives 0.7 GB/s where C gives
//! 1.9, so that decompressing an event costs about as much as judging it; another thread can do that.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 128 * 1024;
/// What `zstd --long=27` needs, and no more: a hostile frame must not make us allocate gigabytes.
const MAX_WINDOW: u64 = 128 << 20;

/// What `reader` holds, decompressed if it is compressed, and whether it was.
pub(crate) fn open(mut reader: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut head = Vec::with_capacity(4);
    while head.len() < 4 {
        let mut rest = [0; 4];
        match reader.read(&mut rest[head.len()..]) {
            Ok(0) => break,
            Ok(length) => {
                let from = head.len();
                head.extend_from_slice(&rest[from..from + length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let (gzip, zstd) = (head.starts_with(&GZIP), is_zstd(&head));
    let whole = Cursor::new(head).chain(reader);
    Ok(if gzip {
        (Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole))), true)
    } else if zstd {
        (Box::new(Zstd::new(BufReader::with_capacity(BUFFER, whole))), true)
    } else {
        (Box::new(whole), false)
    })
}

/// Whether what begins with `head` is compressed.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(&GZIP) || is_zstd(head)
}

/// Whether these are the first bytes of a zstd frame, be it one that holds no data.
fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&ZSTD) || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// All frames of a zstd stream.
struct Zstd<R> {
    reader: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: io::BufRead> Zstd<R> {
    fn new(reader: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { reader, decoder, in_frame: false }
    }

    /// Goes to the next frame with data; whether there is one.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.reader.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.reader) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.reader).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }

    /// Compares what was decoded with the checksum of its frame, if it has one.
    fn verify(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(written), Some(computed)) if written != computed => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a zstd frame is wrong"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        loop {
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self.decoder.decode_blocks(&mut self.reader, UptoBlocks(1));
                decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
            let length = self.decoder.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            self.verify()?;
            self.in_frame = false;
        }
    }
}
