//! Follows a file of records while it is written, also when another one takes its place.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use super::file::{Identity, identity, named};
use super::kept::each_line;

/// Bytes of the end of a file that were there before it was followed, and are read.
const BACK: u64 = 256 * 1024;
/// A file that is followed. It need not be there yet.
pub struct Follower {
    path: PathBuf,
    open: Option<(BufReader<File>, Option<Identity>)>,
    begun: Vec<u8>,
    from: From,
}

/// The place at which reading begins.
#[derive(Clone, Copy)]
enum From {
    /// Near the end.
    End,
    /// At the beginning: the file took the place of another one.
    Beginning,
}

impl Follower {
    /// Follows the file of this name. Its latest records are read first.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            open: None,
            begun: Vec::new(),
            from: From::End,
        }
    }

    /// Hands every line to `take` that was written since.
    ///
    /// # Errors
    ///
    /// When the file is there and cannot be read.
    pub fn poll(&mut self, mut take: impl FnMut(&[u8])) -> std::io::Result<()> {
        if self.open.is_none() {
            self.open()?;
        }
        let Some((reader, identity)) = &mut self.open else {
            return Ok(());
        };
        each_line(reader, &mut self.begun, &mut take)?;
        let is_other = named(&self.path) != *identity;
        let is_shorter = reader.stream_position()? > reader.get_ref().metadata()?.len();
        if is_other || is_shorter {
            self.begun.clear();
            self.open = None;
            self.open()?;
            if let Some((reader, _)) = &mut self.open {
                each_line(reader, &mut self.begun, &mut take)?;
            }
        }
        Ok(())
    }

    fn open(&mut self) -> std::io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.from = From::Beginning;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if let From::End = self.from
            && length > BACK
        {
            file.seek(SeekFrom::Start(length - BACK))?;
            // In the middle of a line, which is no record without its beginning.
            self.begun.push(0);
        }
        self.from = From::Beginning;
        self.open = Some((BufReader::new(file.try_clone()?), identity(&file)));
        Ok(())
    }
}
