//! Writes the records of a zip archive.

/// The metadata of a member.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) name: Vec<u8>,
    /// The Unix mode: kind and permissions.
    pub(super) mode: u32,
    /// Seconds since 1970.
    pub(super) modified: i64,
    /// The zip number of its compression method.
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Offset of its local record.
    pub(super) offset: u64,
    /// Whether its sizes may not fit into 32 bits.
    pub(super) is_large: bool,
}

pub(super) const LOCAL: u32 = 0x0403_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
pub(super) const END: u32 = 0x0605_4b50;
pub(super) const END64: u32 = 0x0606_4b50;
pub(super) const LOCATOR64: u32 = 0x0706_4b50;
/// The extra field for 64-bit sizes.
pub(super) const SIZES64: u16 = 0x0001;
/// The extra field for seconds since 1970.
pub(super) const UNIX_TIME: u16 = 0x5455;
/// Flag of a name in UTF-8.
const UTF8: u16 = 1 << 11;
/// Written on Unix, to version 4.5 of the format.
const MADE_BY: u16 = (3 << 8) + 45;

impl Record {
    /// Returns the local record, which precedes the bytes of the member.
    pub(super) fn local(&self) -> Vec<u8> {
        let mut extra = self.time();
        if self.is_large {
            put16(&mut extra, SIZES64);
            put16(&mut extra, 16);
            put64(&mut extra, self.size);
            put64(&mut extra, self.compressed);
        }
        let mut bytes = Vec::with_capacity(30 + self.name.len() + extra.len());
        put32(&mut bytes, LOCAL);
        self.put_common(&mut bytes, self.is_large, &extra);
        bytes.extend_from_slice(&self.name);
        bytes.extend_from_slice(&extra);
        bytes
    }

    /// Returns the record for the central directory.
    pub(super) fn central(&self) -> Vec<u8> {
        let mut extra = self.time();
        let is_far = self.offset >= u64::from(u32::MAX);
        if self.is_large || is_far {
            put16(&mut extra, SIZES64);
            put16(
                &mut extra,
                if self.is_large { 16 } else { 0 } + if is_far { 8 } else { 0 },
            );
            if self.is_large {
                put64(&mut extra, self.size);
                put64(&mut extra, self.compressed);
            }
            if is_far {
                put64(&mut extra, self.offset);
            }
        }
        let mut bytes = Vec::with_capacity(46 + self.name.len() + extra.len());
        put32(&mut bytes, CENTRAL);
        put16(&mut bytes, MADE_BY);
        self.put_common(&mut bytes, self.is_large, &extra);
        // No comment, the first disk, no internal attributes.
        bytes.extend_from_slice(&[0; 6]);
        let is_directory = self.name.ends_with(b"/");
        put32(
            &mut bytes,
            (self.mode << 16) | if is_directory { 0x10 } else { 0 },
        );
        put32(&mut bytes, low32(self.offset));
        bytes.extend_from_slice(&self.name);
        bytes.extend_from_slice(&extra);
        bytes
    }

    fn put_common(&self, bytes: &mut Vec<u8>, is_large: bool, extra: &[u8]) {
        let needed = match (self.method, is_large) {
            (super::coder::ZSTD, _) => 63,
            (_, true) => 45,
            _ => 20,
        };
        put16(bytes, needed);
        let is_text = std::str::from_utf8(&self.name).is_ok() && !self.name.is_ascii();
        put16(bytes, if is_text { UTF8 } else { 0 });
        put16(bytes, self.method);
        put32(bytes, dos_time(self.modified));
        put32(bytes, self.crc);
        let of = |size| if is_large { u32::MAX } else { low32(size) };
        put32(bytes, of(self.compressed));
        put32(bytes, of(self.size));
        put16(bytes, low16(self.name.len()));
        put16(bytes, low16(extra.len()));
    }

    fn time(&self) -> Vec<u8> {
        let bounds = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let seconds = self.modified.clamp(*bounds.start(), *bounds.end());
        let mut extra = Vec::with_capacity(32);
        put16(&mut extra, UNIX_TIME);
        put16(&mut extra, 5);
        extra.push(1);
        extra.extend_from_slice(&i32::try_from(seconds).unwrap_or(0).to_le_bytes());
        extra
    }
}

/// Returns the end of an archive: `entries` entries, with a central directory of `size` bytes at `offset`.
pub(super) fn end(entries: u64, offset: u64, size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let is_large = entries >= u64::from(u16::MAX) || offset.max(size) >= u64::from(u32::MAX);
    if is_large {
        put32(&mut bytes, END64);
        put64(&mut bytes, 44);
        put16(&mut bytes, MADE_BY);
        put16(&mut bytes, 45);
        put64(&mut bytes, 0);
        put64(&mut bytes, entries);
        put64(&mut bytes, entries);
        put64(&mut bytes, size);
        put64(&mut bytes, offset);
        put32(&mut bytes, LOCATOR64);
        put32(&mut bytes, 0);
        put64(&mut bytes, offset + size);
        put32(&mut bytes, 1);
    }
    let count = u16::try_from(entries).unwrap_or(u16::MAX);
    put32(&mut bytes, END);
    put32(&mut bytes, 0);
    put16(&mut bytes, count);
    put16(&mut bytes, count);
    put32(&mut bytes, low32(size));
    put32(&mut bytes, low32(offset));
    put16(&mut bytes, 0);
    bytes
}

/// Returns a DOS timestamp: the date in the high 16 bits, the time in steps of two seconds in the low ones.
fn dos_time(seconds: i64) -> u32 {
    const FIRST: i64 = 315_532_800; // 1980-01-01
    const LAST: i64 = 4_354_819_198; // 2107-12-31 23:59:58
    let seconds = seconds.clamp(FIRST, LAST);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that a leap day is the last day of its year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let date = ((year - 1980) << 9) | (month << 5) | day;
    let time = ((second / 3_600) << 11) | ((second / 60 % 60) << 5) | (second % 60 / 2);
    u32::try_from((date << 16) | time).unwrap_or(0)
}

/// Returns a number, or all ones if it does not fit and another field holds it.
fn low32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn low16(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn put16(bytes: &mut Vec<u8>, number: u16) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put64(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_converted_to_dos_format() {
        let check = |seconds: i64, [year, month, day, hour, minute, second]: [u32; 6]| {
            let date = ((year - 1980) << 9) | (month << 5) | day;
            let time = (hour << 11) | (minute << 5) | (second / 2);
            assert_eq!(dos_time(seconds), (date << 16) | time, "{seconds}");
        };
        check(0, [1980, 1, 1, 0, 0, 0]);
        check(951_782_400, [2000, 2, 29, 0, 0, 0]);
        check(1_709_251_199, [2024, 2, 29, 23, 59, 58]);
        check(1_709_251_200, [2024, 3, 1, 0, 0, 0]);
        check(1_735_689_599, [2024, 12, 31, 23, 59, 58]);
        check(i64::MAX, [2107, 12, 31, 23, 59, 58]);
    }
}
